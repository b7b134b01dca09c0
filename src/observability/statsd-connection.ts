/** A way to statsd, over TCP or UDP, which takes some lines at a time and says when they have left. */

import { lookup } from 'node:dns/promises';
import { connect, isIPv6, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import StatsD from 'hot-shots';
import type { StatsdLine } from './statsd-differences';

export interface StatsdAddress {
  readonly protocol: 'tcp' | 'udp';
  readonly host: string;
  readonly port: number;
}

/** `tags`, as `key:value`, are for a server that knows them (dogstatsd). */
export type TaggedLine = StatsdLine & { readonly tags: readonly string[] };

export interface StatsdConnection {
  readonly isOpen: boolean;
  /** Resolves when the lines have left this process. Rejects if they have not within STEP_TIMEOUT_MS; then the connection is of no use. */
  send(lines: readonly TaggedLine[]): Promise<void>;
  close(): void;
}

/** How long finding the server, connecting and sending some lines may take, each, in milliseconds. */
export const STEP_TIMEOUT_MS = 1_000;

/** Bytes of a datagram that no network cuts in pieces, and of a write to a TCP connection. */
const DATAGRAM_BYTES_MAX = 1_432;
const WRITE_BYTES_MAX = 8_192;

/** Flushing by itself is left to us: this is as seldom as a timer can be. */
const NEVER_MS = 2 ** 31 - 1;

export async function openStatsd({ protocol, host, port }: StatsdAddress): Promise<StatsdConnection> {
  if (protocol === 'udp') {
    // Once, and not for each datagram, as a socket would.
    const { address } = await inTime(lookup(host, { verbatim: false }), () => undefined);
    return new ClientConnection({ protocol: 'udp', host: address, port, maxBufferSize: DATAGRAM_BYTES_MAX, udpSocketOptions: { type: isIPv6(address) ? 'udp6' : 'udp4' } });
  }
  const socket = connect({ host, port });
  socket.unref();
  const connected = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  await inTime(connected, () => { socket.destroy(); });
  // Nothing is ever said to us.
  socket.resume();
  return new ClientConnection({ protocol: 'stream', stream: socket, maxBufferSize: WRITE_BYTES_MAX }, socket);
}

type ClientOptions = NonNullable<ConstructorParameters<typeof StatsD>[0]>;

class ClientConnection implements StatsdConnection {
  private readonly client: InstanceType<typeof StatsD>;
  private failure: Error | undefined;
  private isClosed = false;

  /** The socket, if it is ours: the client would wait for what it has not taken. */
  constructor(options: ClientOptions, private readonly socket?: Socket) {
    this.client = new StatsD({
      ...options,
      bufferFlushInterval: NEVER_MS,
      errorHandler: (error) => {
        this.failure ??= error;
      },
      // Told by EXTRA_TAGS alone: nothing is taken from the variables that Datadog's own clients read.
      datadog: false,
      includeDataDogTags: false,
      includeDatadogTelemetry: false,
    });
  }

  get isOpen(): boolean {
    return !this.isClosed && this.socket?.destroyed !== true;
  }

  async send(lines: readonly TaggedLine[]): Promise<void> {
    for (const line of lines) this.write(line);
    await inTime(
      new Promise<void>((resolve, reject) => {
        this.client.flush((error) => {
          const failure = error ?? this.failure;
          if (failure === undefined) resolve();
          else reject(failure);
        });
      }),
      () => { this.close(); },
    );
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    // Of what it has not told it would print that it could not, so it is closed when there is no such thing any more.
    const closeClient = () => { this.client.close(() => undefined); };
    if (this.socket === undefined || this.socket.closed) closeClient();
    else this.socket.once('close', closeClient).destroy();
  }

  private write({ kind, name, value, tags }: TaggedLine): void {
    if (kind === 'counter') this.client.increment(name, value, [...tags]);
    else if (kind === 'gauge') this.client.gauge(name, value, [...tags]);
    else this.client.timing(name, value, [...tags]);
  }
}

/** Rejects after STEP_TIMEOUT_MS, and gives up. */
async function inTime<T>(what: Promise<T>, giveUp: () => void): Promise<T> {
  const over = new AbortController();
  const late = sleep(STEP_TIMEOUT_MS, undefined, { signal: over.signal, ref: false }).then(() => {
    giveUp();
    throw new Error(`no answer within ${STEP_TIMEOUT_MS} ms`);
  });
  try {
    return await Promise.race([what, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
    what.catch(() => undefined);
  }
}
