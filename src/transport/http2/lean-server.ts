/** The gRPC port by our own HTTP/2: answers ShouldRateLimit itself, and has grpc-js answer everything else. */

import { createServer, type Server, type Socket } from 'node:net';
import type { FaultLog } from '../answer';
import type { GrpcServer, GrpcServerOptions } from '../grpc-server';
import { KnownRequests } from '../known-requests';
import { Bridge } from './bridge';
import { ByteBudget } from './byte-budget';
import { Connection } from './connection';
import { Loopback } from './loopback';
import { RateLimitCall, type RateLimitCallParts } from './rate-limit-call';
import { refuseLarge, refuseOtherHttp } from './refusal';

/** Connections at once: Envoy opens one for each of its threads. */
export const CONNECTIONS_MAX = 16_384;

/** What a connection that reads too slowly may leave waiting in this process before it is not read from either. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** How long a peer may take to say that it speaks HTTP/2, and to take what waits for it. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const STALL_TIMEOUT_MS = 30_000;

/** How often connections are looked at for that. */
const WATCH_MS = 1000;

/** How exactly a caller's deadline is kept; only while callers wait. */
const DEADLINE_STEP_MS = 5;

/** TCP asks a silent peer after so long whether it is there. */
const KEEP_ALIVE_MS = 60_000;

/** How long a drain waits for a peer to say that it knows. */
const DRAIN_ANSWER_MS = 1000;

/** How long the last words of a connection may take. */
const LAST_WORDS_MS = 1000;

export interface LeanServerOptions extends GrpcServerOptions {
  /** Serves what this server does not. It has no port of its own. */
  readonly grpc: GrpcServer;
  readonly log: FaultLog;
}

export class LeanServer {
  private readonly server: Server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }, (socket) => {
    this.accept(socket);
  });
  private readonly peers = new Set<Peer>();
  private readonly writing: Peer[] = [];
  private deadlineTimer: NodeJS.Timeout | undefined;
  private watchTimer: NodeJS.Timeout | undefined;
  private onEmpty: (() => void) | undefined;
  private readonly callParts: RateLimitCallParts;
  private readonly loopback: Loopback;

  constructor(private readonly options: LeanServerOptions) {
    this.server.maxConnections = CONNECTIONS_MAX;
    this.loopback = new Loopback(options.grpc.inject);
    this.callParts = {
      answerCall: options.answerCall,
      requests: new KnownRequests(),
      budget: new ByteBudget(),
      nowMs,
      onAnswer: (seconds) => {
        options.onCall({ grpcMethod: 'ShouldRateLimit', seconds });
      },
    };
  }

  /** Listens; port 0 takes a free one. Rejects if the address can't be bound. */
  async start({ host, port }: { readonly host: string; readonly port: number }): Promise<{ port: number }> {
    await this.loopback.start();
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject);
        const address = this.server.address();
        resolve({ port: typeof address === 'object' && address !== null ? address.port : port });
      });
    });
  }

  /**
   * Turns the health off, takes no new connections, tells each peer to open no more streams, and resolves when all
   * have their answers; after `timeoutMs` it cuts off what is left.
   */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    this.options.health.startDrain();
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
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
    await Promise.all([closed, this.options.grpc.drain({ timeoutMs })]);
  }

  private accept(socket: Socket): void {
    const bridge = new Bridge(() => this.loopback.dial());
    const connection: Connection = new Connection({
      nowMs,
      onFault: (error) => {
        this.options.log.error({ err: error }, 'a gRPC connection failed');
      },
      onOutput: () => {
        this.scheduleWrite(peer);
      },
      open: (_connection, stream, head) => {
        if (head.kind === 'too_large') return refuseLarge(connection, stream);
        if (head.kind === 'no_grpc') return refuseOtherHttp(connection, stream, head);
        if (head.kind !== 'rate_limit') return bridge.open(connection, stream, head);
        const call = new RateLimitCall(this.callParts, { connection, stream, timeoutMs: head.timeoutMs });
        if (call.deadlineMs !== undefined) this.watchDeadlines();
        return call;
      },
    });
    const peer: Peer = { socket, connection, bridge, acceptedMs: nowMs(), isWriting: false, writtenBytes: 0, writtenMs: nowMs() };
    this.peers.add(peer);
    this.watch();
    socket.on('data', (chunk: Buffer) => {
      connection.push(chunk);
    });
    socket.on('drain', () => {
      socket.resume();
    });
    // A peer that has said everything still gets its answers.
    socket.on('end', () => {
      if (connection.load === 0) this.drop(peer);
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
      this.write(peer);
    }
  }

  private write(peer: Peer): void {
    const { socket, connection } = peer;
    const output = connection.takeOutput();
    if (socket.destroyed || socket.writableEnded) return;
    if (connection.isClosed) {
      this.sayLast(peer, output);
      return;
    }
    if (output.length > 0 && !socket.write(output) && socket.writableLength > WAITING_BYTES_MAX) socket.pause();
    this.endIfDrained(peer);
  }

  private endIfDrained(peer: Peer): void {
    const { socket, connection } = peer;
    const isFinished = connection.load === 0 && (socket.readableEnded || connection.isDrained);
    if (isFinished && !peer.isWriting && !socket.writableEnded) this.sayLast(peer, Buffer.alloc(0));
  }

  private sayLast({ socket, connection }: Peer, output: Buffer): void {
    connection.close();
    socket.end(output);
    setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
  }

  private drop(peer: Peer): void {
    peer.connection.close();
    peer.bridge.close();
    peer.socket.destroy();
    this.peers.delete(peer);
    if (this.peers.size === 0) {
      clearInterval(this.watchTimer);
      this.watchTimer = undefined;
      this.onEmpty?.();
    }
  }

  private watch(): void {
    this.watchTimer ??= setInterval(() => {
      const now = nowMs();
      for (const peer of [...this.peers]) if (isStuck(peer, now)) this.drop(peer);
    }, WATCH_MS).unref();
  }

  /** Looks through the open streams: a list of those that wait would keep each call for longer than it lives. */
  private watchDeadlines(): void {
    this.deadlineTimer ??= setTimeout(() => {
      this.deadlineTimer = undefined;
      const now = nowMs();
      let isWaiting = false;
      for (const { connection } of this.peers) if (connection.endLate(now)) isWaiting = true;
      if (isWaiting) this.watchDeadlines();
    }, DEADLINE_STEP_MS);
  }
}

/** A connection and what belongs to it. */
interface Peer {
  readonly socket: Socket;
  readonly connection: Connection;
  readonly bridge: Bridge;
  readonly acceptedMs: number;
  isWriting: boolean;
  /** What the socket had written when it last did, and when that was. */
  writtenBytes: number;
  writtenMs: number;
}

function isStuck(peer: Peer, now: number): boolean {
  const { socket, connection, acceptedMs } = peer;
  const written = socket.bytesWritten - socket.writableLength;
  if (socket.writableLength === 0 || written !== peer.writtenBytes) {
    peer.writtenBytes = written;
    peer.writtenMs = now;
  }
  return (
    (!connection.hasSettings && now - acceptedMs > HANDSHAKE_TIMEOUT_MS) ||
    now - peer.writtenMs > STALL_TIMEOUT_MS ||
    (connection.isBlocked && now - connection.progressMs > STALL_TIMEOUT_MS)
  );
}

function nowMs(): number {
  return performance.now();
}
