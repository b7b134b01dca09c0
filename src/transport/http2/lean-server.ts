/** The gRPC port by our own HTTP/2: answers ShouldRateLimit itself, and has grpc-js answer everything else. */

import type { Socket } from 'node:net';
import { monotonicNowMs } from '../../clock';
import type { FailureKind, FaultLog } from '../answer';
import { UNMEASURED, type ConnectionMeasure, type EndReason } from '../connection-measure';
import { DEFAULT_RULES, type ConnectionRules } from '../connection-rules';
import { GrpcListener, type GrpcAddress } from '../grpc-listener';
import type { GrpcServer, GrpcServerOptions } from '../grpc-server';
import { KnownRequests } from '../known-requests';
import { Bridge } from './bridge';
import { ByteBudget } from './byte-budget';
import { Connection } from './connection';
import { ErrorCode, type ConnectionError } from './errors';
import { GatheredCalls } from './gathered-calls';
import { LEAN_BOUNDS, type LeanBounds } from './lean-bounds';
import { Loopback } from './loopback';
import { Peer } from './peer';
import { PeerWatch } from './peer-watch';
import { RateLimitCall, type RateLimitCallParts } from './rate-limit-call';
import { refuseLarge, refuseOtherHttp } from './refusal';

/** How exactly a caller's deadline is kept. */
const DEADLINE_STEP_MS = 5;

/** Callers may say that they wait for years. */
const DEADLINE_LOOK_MS_MAX = 60_000;

/** How long a drain waits for a peer to say that it knows. */
const DRAIN_ANSWER_MS = 1000;

export interface LeanServerOptions extends GrpcServerOptions {
  /** Serves what this server does not. It has no port of its own. */
  readonly grpc: GrpcServer;
  readonly log: FaultLog;
  /** Called once for each answer that failed here, after it was decided. */
  readonly onFailure?: (kind: FailureKind) => void;
  readonly bounds?: Partial<LeanBounds>;
  /** A clock that is never set. */
  readonly nowMs?: () => number;
}

export class LeanServer {
  private readonly listener: GrpcListener;
  private readonly peers = new Set<Peer>();
  private readonly writing: Peer[] = [];
  private deadlineTimer: NodeJS.Timeout | undefined;
  /** When open streams are looked through for deadlines that have come. */
  private lookMs = Infinity;
  private watchTimer: NodeJS.Timeout | undefined;
  private onEmpty: (() => void) | undefined;
  private readonly calls: GatheredCalls;
  private readonly callParts: RateLimitCallParts;
  private readonly loopback: Loopback;
  private readonly bounds: LeanBounds;
  private readonly rules: ConnectionRules;
  private readonly measure: ConnectionMeasure;
  private readonly nowMs: () => number;
  /** Read once for all that a read has brought: the clock costs as much as a lookup. */
  private readMs = 0;

  constructor(private readonly options: LeanServerOptions) {
    this.bounds = { ...LEAN_BOUNDS, ...options.bounds };
    this.rules = options.rules ?? DEFAULT_RULES;
    this.measure = options.measure ?? UNMEASURED;
    this.nowMs = options.nowMs ?? monotonicNowMs;
    this.listener = new GrpcListener({
      measure: this.measure,
      tls: options.tls,
      connectionsMax: this.bounds.connectionsMax,
      handshakeTimeoutMs: this.bounds.handshakeTimeoutMs,
      // A peer that has said everything still gets its answers.
      allowHalfOpen: true,
      onSocket: (socket) => {
        this.accept(socket);
      },
    });
    this.loopback = new Loopback(options.grpc.inject);
    this.calls = new GatheredCalls(options.answerCalls, this.nowMs);
    this.callParts = {
      calls: this.calls,
      requests: new KnownRequests(),
      budget: new ByteBudget(this.bounds.unfinishedBytesMax),
      readMs: () => this.readMs,
      onAnswer: (seconds) => {
        options.onCall({ grpcMethod: 'ShouldRateLimit', seconds });
      },
      onFault: (error) => {
        options.log.error({ err: error }, 'an answer could not be sent');
        options.onFailure?.('fault');
      },
    };
  }

  /** Listens; port 0 takes a free one, and a unix socket has 0. Rejects if the address can't be bound. */
  async start(address: GrpcAddress): Promise<{ port: number }> {
    await this.loopback.start();
    try {
      return await this.listener.listen(address);
    } catch (error) {
      this.loopback.close();
      throw error;
    }
  }

  /**
   * Turns the health off, takes no new connections, tells each peer to open no more streams, and resolves when all
   * have their answers; after `timeoutMs` it cuts off what is left.
   */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    this.options.health.startDrain();
    const closed = this.listener.close();
    this.options.grpc.endWatches();
    const answered = new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
    for (const { connection } of this.peers) connection.startDrain();
    const answerTimer = setTimeout(() => {
      for (const { connection } of this.peers) connection.finishDrain();
    }, DRAIN_ANSWER_MS);
    const timer = setTimeout(() => {
      for (const peer of [...this.peers]) this.drop(peer);
    }, timeoutMs);
    if (this.peers.size > 0) await answered;
    clearTimeout(timer);
    clearTimeout(answerTimer);
    clearInterval(this.watchTimer);
    clearTimeout(this.deadlineTimer);
    this.loopback.close();
    this.listener.cut();
    await Promise.all([closed, this.options.grpc.drain({ timeoutMs })]);
  }

  private accept(socket: Socket): void {
    const bridge = new Bridge({ dial: () => this.loopback.dial(), budget: this.callParts.budget });
    const connection: Connection = new Connection({
      nowMs: this.nowMs,
      streamsMax: this.rules.streamsMax,
      onFault: (error) => {
        this.options.log.error({ err: error }, 'a gRPC connection failed');
      },
      onFail: (error) => {
        this.measure.onEnd(reasonOf(error), `${error.message} (${peer.place})`);
      },
      onRefused: this.measure.onStreamRefused,
      onOutput: () => {
        this.scheduleWrite(peer);
      },
      open: (_connection, stream, head) => {
        if (head.kind === 'too_large') return refuseLarge(connection, stream);
        if (head.kind === 'no_grpc') return refuseOtherHttp(connection, stream, head);
        if (head.kind !== 'rate_limit') return bridge.open(connection, stream, head);
        const call = new RateLimitCall(this.callParts, { connection, stream, timeoutMs: head.timeoutMs });
        if (call.deadlineMs !== undefined) this.watchDeadline(call.deadlineMs);
        return call;
      },
    });
    const { bounds, rules } = this;
    const watch = new PeerWatch({ socket, connection, bounds, rules, nowMs: this.nowMs(), random: Math.random() });
    const peer = new Peer({ socket, connection, bridge, watch });
    this.peers.add(peer);
    this.watch();
    socket.on('data', (chunk: Buffer) => {
      this.readMs = this.nowMs();
      connection.push(chunk);
      this.calls.ask();
    });
    socket.on('drain', () => {
      socket.resume();
    });
    socket.on('end', () => {
      connection.endInput();
      // What it has been answered in this turn is said yet; if that is all, it is let go then.
      this.scheduleWrite(peer);
    });
    // Told by 'close', which follows.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.drop(peer);
    });
    this.scheduleWrite(peer);
    if (this.onEmpty !== undefined) connection.startDrain();
  }

  /** All that a turn of the event loop has to say goes out together, in one write for each connection. */
  private scheduleWrite(peer: Peer): void {
    if (peer.isWriting) return;
    peer.isWriting = true;
    if (this.writing.push(peer) === 1) {
      setImmediate(() => {
        this.flush();
      });
    }
  }

  private flush(): void {
    const peers = this.writing.splice(0);
    for (const peer of peers) {
      peer.isWriting = false;
      peer.write();
    }
  }

  private drop(peer: Peer): void {
    peer.close();
    this.peers.delete(peer);
    if (this.peers.size === 0) {
      clearInterval(this.watchTimer);
      this.watchTimer = undefined;
      this.onEmpty?.();
    }
  }

  private watch(): void {
    this.watchTimer ??= setInterval(() => {
      const nowMs = this.nowMs();
      // What had come by now is read first: a pause of this process is nobody's silence.
      setImmediate(() => {
        for (const peer of [...this.peers]) this.judge(peer, nowMs);
      });
    }, this.bounds.watchMs).unref();
  }

  private judge(peer: Peer, nowMs: number): void {
    const judgement = peer.watch.judge(nowMs);
    if (judgement === undefined) return;
    if (judgement !== 'over') this.measure.onEnd(judgement.reason, `${judgement.details} (${peer.place})`);
    if (judgement === 'over' || judgement.isOver) this.drop(peer);
  }

  /**
   * Looks through the open streams once the first of their deadlines has come: a list of those that wait would keep each call for
   * longer than it lives, and nearly all are answered long before.
   */
  private watchDeadline(deadlineMs: number): void {
    if (deadlineMs >= this.lookMs - DEADLINE_STEP_MS) return;
    clearTimeout(this.deadlineTimer);
    const nowMs = this.nowMs();
    const waitMs = Math.min(Math.max(DEADLINE_STEP_MS, deadlineMs - nowMs), DEADLINE_LOOK_MS_MAX);
    this.lookMs = nowMs + waitMs;
    this.deadlineTimer = setTimeout(() => { this.endLate(); }, waitMs);
  }

  private endLate(): void {
    this.lookMs = Infinity;
    const nowMs = this.nowMs();
    let nextMs = Infinity;
    for (const { connection } of this.peers) nextMs = Math.min(nextMs, connection.endLate(nowMs));
    if (nextMs < Infinity) this.watchDeadline(nextMs);
  }
}

function reasonOf({ code }: ConnectionError): EndReason {
  if (code === ErrorCode.ENHANCE_YOUR_CALM) return 'flood';
  return code === ErrorCode.INTERNAL_ERROR ? 'fault' : 'protocol_error';
}
