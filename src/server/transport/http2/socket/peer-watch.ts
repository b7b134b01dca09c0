/** Checks a peer periodically: its handshake, whether it reads its output, whether it lives, and the age of its connection. */

import type { Socket } from 'node:net';
import type { EndReason } from '../../port/connection-measure';
import { jitteredAgeMs, type ConnectionRules } from '../../port/connection-rules';
import type { Connection } from '../connection/connection';
import type { LeanBounds } from './lean-bounds';

/** How long a peer of an aged connection may take to answer the drain PING. */
const NOTICE_ANSWER_MS = 1000;

export interface PeerWatchOptions {
  readonly socket: Pick<Socket, 'bytesRead' | 'bytesWritten' | 'writableLength' | 'isPaused' | 'readableEnded'>;
  readonly connection: Connection;
  readonly bounds: LeanBounds;
  readonly rules: ConnectionRules;
  readonly nowMs: number;
  /** From 0 to 1. */
  readonly random: number;
}

/** The measure to take about a peer. */
export type Judgement = { readonly reason: EndReason; readonly details: string; readonly isOver: boolean } | 'over' | undefined;

export class PeerWatch {
  private readonly acceptedMs: number;
  private readonly maxAgeMs: number;
  /** The bytes that the socket had written at its last progress, and the time of that. */
  private writtenBytes = 0;
  private writtenMs: number;
  /** The same for bytes read. */
  private readBytes = 0;
  private lastInputMs: number;
  /** When the keepalive PING was sent, and when the drain for age began. */
  private pingedMs: number | undefined;
  private agedMs: number | undefined;

  constructor(private readonly options: PeerWatchOptions) {
    const { nowMs, rules, random } = options;
    this.acceptedMs = this.writtenMs = this.lastInputMs = nowMs;
    this.maxAgeMs = jitteredAgeMs(rules.maxAgeMs, random);
  }

  judge(nowMs: number): Judgement {
    this.look(nowMs);
    const { connection, bounds } = this.options;
    if (!connection.hasSettings && nowMs - this.acceptedMs > bounds.handshakeTimeoutMs) {
      return { reason: 'handshake_timeout', details: `no HTTP/2 within ${bounds.handshakeTimeoutMs} ms`, isOver: true };
    }
    const waitsSinceMs = connection.isBlocked ? Math.min(this.writtenMs, connection.progressMs) : this.writtenMs;
    if (nowMs - waitsSinceMs > bounds.stallTimeoutMs)
      return { reason: 'stalled', details: `the client has not read waiting output for ${bounds.stallTimeoutMs} ms`, isOver: true };
    // A half-closed peer waits for answers, or is dead with a watch open. If it is dead, the second PING makes the socket fail.
    if (this.options.socket.readableEnded) connection.ping();
    return this.judgeSilence(nowMs) ?? this.judgeAge(nowMs);
  }

  private look(nowMs: number): void {
    const { socket } = this.options;
    const { bytesRead, bytesWritten, writableLength } = socket;
    const written = bytesWritten - writableLength;
    if (writableLength === 0 || written !== this.writtenBytes) {
      this.writtenBytes = written;
      this.writtenMs = nowMs;
    }
    // A socket that is not read, because the peer does not read its output, is judged only by that.
    if (bytesRead === this.readBytes && !socket.isPaused()) return;
    this.readBytes = bytesRead;
    this.lastInputMs = nowMs;
    this.pingedMs = undefined;
  }

  private judgeSilence(nowMs: number): Judgement {
    const { connection, rules } = this.options;
    if (this.pingedMs !== undefined) {
      if (nowMs - this.pingedMs <= rules.keepaliveTimeoutMs) return undefined;
      return {
        reason: 'keepalive',
        details: `the client was silent for ${rules.keepaliveTimeMs} ms and did not answer a PING within ${rules.keepaliveTimeoutMs} ms`,
        isOver: true,
      };
    }
    if (rules.keepaliveTimeMs === 0 || nowMs - this.lastInputMs <= rules.keepaliveTimeMs) return undefined;
    this.pingedMs = nowMs;
    connection.ping();
    return undefined;
  }

  private judgeAge(nowMs: number): Judgement {
    const { connection, rules } = this.options;
    if (this.agedMs === undefined) {
      if (rules.maxAgeMs === 0 || nowMs - this.acceptedMs <= this.maxAgeMs) return undefined;
      this.agedMs = nowMs;
      connection.startDrain();
      return { reason: 'max_age', details: `the connection reached its maximum age of about ${rules.maxAgeMs} ms`, isOver: false };
    }
    if (nowMs - this.agedMs > NOTICE_ANSWER_MS) connection.finishDrain();
    return nowMs - this.agedMs > rules.maxAgeGraceMs ? 'over' : undefined;
  }
}
