/** The lean transport's server: the gRPC port on Weir's own HTTP/2 (`TRANSPORT=lean`). */

import type { Socket } from 'node:net';
import { monotonicNowMs } from '../../../lib/clock';
import type { FailureKind, FaultLog } from '../answer';
import { UNMEASURED, type ConnectionMeasure, type EndReason } from '../port/connection-measure';
import { DEFAULT_RULES, type ConnectionRules } from '../port/connection-rules';
import { GrpcListener, type GrpcAddress } from '../port/grpc-listener';
import type { GrpcServerOptions } from '../grpc/grpc-server';
import { makeGrpcServices, type GrpcServices } from '../grpc/grpc-services';
import { RequestCache } from '../messages/request-cache';
import { TurnQueue } from '../turn-queue';
import { ByteBudget } from '../byte-budget';
import { Connection } from './connection/connection';
import { ErrorCode, type ConnectionError } from './frames/errors';
import { GatheredCalls } from './calls/gathered-calls';
import { LEAN_BOUNDS, type LeanBounds } from './socket/lean-bounds';
import { openMethodCall, type MethodCallParts } from './calls/method-call';
import { Peer } from './socket/peer';
import { PeerWatch } from './socket/peer-watch';
import { ReadTurns } from '../../../lib/read-turns';
import { RateLimitCall, type RateLimitCallParts } from './calls/rate-limit-call';
import { refuseLarge, refuseOtherHttp } from './calls/refusal';

/** Precision of callers' deadlines. */
const DEADLINE_STEP_MS = 5;

/** Bounds the timer, because a caller's deadline may be years away. */
const DEADLINE_LOOK_MS_MAX = 60_000;

/** How long a drain waits for a peer's answer to the PING. */
const DRAIN_ANSWER_MS = 1000;

export interface LeanServerOptions extends GrpcServerOptions {
  readonly log: FaultLog;
  /** Called for each answer that could not be sent after it was decided. */
  readonly onFailure?: (kind: FailureKind) => void;
  readonly bounds?: Partial<LeanBounds>;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export class LeanServer {
  private readonly listener: GrpcListener;
  private readonly peers = new Set<Peer>();
  private readonly writing: Peer[] = [];
  private isTurnEndScheduled = false;
  private onTurnEnd: (() => void) | undefined;
  private deadlineTimer: NodeJS.Timeout | undefined;
  /** When to check the open streams for passed deadlines. */
  private lookMs = Infinity;
  private watchTimer: NodeJS.Timeout | undefined;
  private onEmpty: (() => void) | undefined;
  private readonly turns: ReadTurns<Peer>;
  private readonly calls: GatheredCalls;
  private readonly callParts: RateLimitCallParts;
  private readonly services: GrpcServices;
  private readonly methodParts: MethodCallParts;
  private readonly bounds: LeanBounds;
  private readonly waiting: ByteBudget;
  private readonly rules: ConnectionRules;
  private readonly measure: ConnectionMeasure;
  private readonly nowMs: () => number;
  /** Read once for each batch of input, because reading the clock costs as much as a lookup. */
  private readMs = 0;

  constructor(private readonly options: LeanServerOptions) {
    this.bounds = { ...LEAN_BOUNDS, ...options.bounds };
    this.waiting = new ByteBudget(this.bounds.waitingBytesMax);
    this.rules = options.rules ?? DEFAULT_RULES;
    this.measure = options.measure ?? UNMEASURED;
    this.nowMs = options.nowMs ?? monotonicNowMs;
    this.listener = new GrpcListener({
      measure: this.measure,
      tls: options.tls,
      connectionsMax: this.bounds.connectionsMax,
      handshakeTimeoutMs: this.bounds.handshakeTimeoutMs,
      // A peer that closed its side still gets its answers.
      allowHalfOpen: true,
      gate: options.gate,
      onSocket: (socket) => {
        this.accept(socket);
      },
    });
    this.turns = new ReadTurns<Peer>({
      nowMs: this.nowMs,
      read: (peer, chunk, share, nowMs) => {
        this.readMs = nowMs;
        peer.read(chunk, share);
        this.calls.send();
      },
      schedule: (act) => {
        this.onTurnEnd = act;
        this.scheduleTurnEnd();
      },
    });
    const requests = new RequestCache();
    this.services = makeGrpcServices({ ...options, requests });
    this.calls = new GatheredCalls(options.answerCalls, this.nowMs);
    const common = {
      budget: new ByteBudget(this.bounds.unfinishedBytesMax),
      readMs: () => this.readMs,
      onFault: (error: unknown) => {
        options.log.error({ err: error }, 'an answer could not be sent');
        options.onFailure?.('fault');
      },
    };
    this.methodParts = { ...common, methods: this.services.methods, turns: new TurnQueue() };
    this.callParts = {
      ...common,
      calls: this.calls,
      requests,
      tracer: options.tracer,
      onAnswer: (seconds) => {
        options.onCall({ grpcMethod: 'ShouldRateLimit', seconds });
      },
    };
  }

  /** Listens; port 0 selects a free port, and a unix socket has port 0. Rejects if the address cannot be bound. */
  start(address: GrpcAddress): Promise<{ port: number }> {
    return this.listener.listen(address);
  }

  /**
   * Turns the health off, accepts no connections, sends each peer a GOAWAY, and resolves when all streams
   * are answered; after `timeoutMs` it closes the rest.
   */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    this.options.health.startDrain();
    const closed = this.listener.close();
    this.services.endWatches();
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
    this.listener.cut();
    await closed;
  }

  private accept(socket: Socket): void {
    const connection: Connection = new Connection({
      nowMs: this.nowMs,
      streamsMax: this.rules.streamsMax,
      waiting: this.waiting,
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
        const call =
          head.kind === 'rate_limit'
            ? new RateLimitCall(this.callParts, { connection, stream, head })
            : openMethodCall(this.methodParts, { connection, stream, head });
        if (call.deadlineMs !== undefined) this.watchDeadline(call.deadlineMs);
        return call;
      },
    });
    const { bounds, rules } = this;
    const watch = new PeerWatch({ socket, connection, bounds, rules, nowMs: this.nowMs(), random: Math.random() });
    const onTurn = (nowMs: number): void => {
      this.readMs = nowMs;
    };
    const onRead = (): void => {
      this.calls.send();
      // A peer that closed its side may now have all its answers.
      if (socket.readableEnded) this.scheduleWrite(peer);
    };
    const peer = new Peer({ socket, connection, watch, onTurn, onRead });
    this.peers.add(peer);
    this.watch();
    socket.on('data', (chunk: Buffer) => {
      this.turns.arrived(peer, chunk);
    });
    socket.on('drain', () => {
      peer.onDrain();
      this.turns.wait(peer);
    });
    socket.on('end', () => {
      peer.onInputEnd();
      // Answers of this turn are still sent; if nothing else is open, the connection closes then.
      this.scheduleWrite(peer);
    });
    // 'close' follows each error, and is handled.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.drop(peer);
    });
    this.scheduleWrite(peer);
    if (this.onEmpty !== undefined) connection.startDrain();
  }

  /** All output of a turn of the event loop goes out in one write for each connection. */
  private scheduleWrite(peer: Peer): void {
    if (peer.isWriting) return;
    peer.isWriting = true;
    this.writing.push(peer);
    this.scheduleTurnEnd();
  }

  private scheduleTurnEnd(): void {
    if (this.isTurnEndScheduled) return;
    this.isTurnEndScheduled = true;
    setImmediate(this.endTurn);
  }

  /** Waiting input is read first, so that its answers go out in the same write. */
  private readonly endTurn = (): void => {
    const { onTurnEnd } = this;
    this.isTurnEndScheduled = false;
    this.onTurnEnd = undefined;
    onTurnEnd?.();
    if (this.writing.length > 0) this.flush();
  };

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
      // Input that has arrived is read first: a pause of this process must not count as silence of the peer.
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
   * Checks all open streams when the earliest deadline has passed. A list of waiting calls would keep each of them in memory for
   * longer than it lives, and almost all are answered long before their deadline.
   */
  private watchDeadline(deadlineMs: number): void {
    if (deadlineMs >= this.lookMs - DEADLINE_STEP_MS) return;
    clearTimeout(this.deadlineTimer);
    const nowMs = this.nowMs();
    const waitMs = Math.min(Math.max(DEADLINE_STEP_MS, deadlineMs - nowMs), DEADLINE_LOOK_MS_MAX);
    this.lookMs = nowMs + waitMs;
    this.deadlineTimer = setTimeout(() => {
      this.endLate();
    }, waitMs);
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
