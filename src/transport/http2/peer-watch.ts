/** Looks at a peer now and then: whether it has begun to speak HTTP/2, takes what it is sent, is there at all, and how old its connection is. */

import type { Socket } from 'node:net';
import type { EndReason } from '../connection-measure';
import { jitteredAgeMs, type ConnectionRules } from '../connection-rules';
import type { Connection } from './connection';
import type { LeanBounds } from './lean-bounds';

/** How long a peer that is asked to connect anew may take to say that it knows. */
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

/** What is to be done about a peer. */
export type Judgement = { readonly reason: EndReason; readonly details: string; readonly isOver: boolean } | 'over' | undefined;

export class PeerWatch {
  private readonly acceptedMs: number;
  private readonly maxAgeMs: number;
  /** What the socket had written when it last did, and when that was. */
  private writtenBytes = 0;
  private writtenMs: number;
  /** The same of what it has read. */
  private readBytes = 0;
  private heardMs: number;
  /** Since when the peer owes us a sign of life, or is asked to connect anew. */
  private pingedMs: number | undefined;
  private agedMs: number | undefined;

  constructor(private readonly options: PeerWatchOptions) {
    const { nowMs, rules, random } = options;
    this.acceptedMs = this.writtenMs = this.heardMs = nowMs;
    this.maxAgeMs = jitteredAgeMs(rules.maxAgeMs, random);
  }

  judge(nowMs: number): Judgement {
    this.look(nowMs);
    const { connection, bounds } = this.options;
    if (!connection.hasSettings && nowMs - this.acceptedMs > bounds.handshakeTimeoutMs) {
      return { reason: 'handshake_timeout', details: `no HTTP/2 within ${bounds.handshakeTimeoutMs} ms`, isOver: true };
    }
    const waitsSinceMs = connection.isBlocked ? Math.min(this.writtenMs, connection.progressMs) : this.writtenMs;
    if (nowMs - waitsSinceMs > bounds.stallTimeoutMs) return { reason: 'stalled', details: `it has not taken what waits for it for ${bounds.stallTimeoutMs} ms`, isOver: true };
    // It waits for answers, or is gone with a watch open, of which nothing may come for long. The second thing said to nobody is an error of the socket.
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
    // One that we do not read from, since it does not take what it asked for, is judged by that alone.
    if (bytesRead === this.readBytes && !socket.isPaused()) return;
    this.readBytes = bytesRead;
    this.heardMs = nowMs;
    this.pingedMs = undefined;
  }

  private judgeSilence(nowMs: number): Judgement {
    const { connection, rules } = this.options;
    if (this.pingedMs !== undefined) {
      if (nowMs - this.pingedMs <= rules.keepaliveTimeoutMs) return undefined;
      return { reason: 'keepalive', details: `it was silent for ${rules.keepaliveTimeMs} ms, and has not answered a ping for ${rules.keepaliveTimeoutMs} ms`, isOver: true };
    }
    if (rules.keepaliveTimeMs === 0 || nowMs - this.heardMs <= rules.keepaliveTimeMs) return undefined;
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
      return { reason: 'max_age', details: `it has come to its age of ${rules.maxAgeMs} ms, give or take`, isOver: false };
    }
    if (nowMs - this.agedMs > NOTICE_ANSWER_MS) connection.finishDrain();
    return nowMs - this.agedMs > rules.maxAgeGraceMs ? 'over' : undefined;
  }
}
