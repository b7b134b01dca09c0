/** A connection to a statsd server over TCP or UDP: sends lines, and reports when they left the process. */

import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { toLine, toPackets, type TaggedLine } from './statsd-lines';

export interface StatsdAddress {
  readonly protocol: 'tcp' | 'udp';
  readonly host: string;
  readonly port: number;
}

export interface StatsdConnection {
  readonly isOpen: boolean;
  /** Resolves when the lines have left this process. Rejects after STEP_TIMEOUT_MS; the connection is then closed. */
  send(lines: readonly TaggedLine[]): Promise<void>;
  close(): void;
}

/** Timeout of each step (DNS lookup, connect, send), in milliseconds. */
export const STEP_TIMEOUT_MS = 1_000;

/** Size of a datagram that no network fragments, and of a TCP write. */
const DATAGRAM_BYTES_MAX = 1_432;
const WRITE_BYTES_MAX = 8_192;

/** The part that depends on the protocol. */
interface Wire {
  readonly bytesMax: number;
  readonly isOpen: boolean;
  /** Calls back when the packet has left the process, or with the error. */
  write(packet: string, done: (error?: Error | null) => void): void;
  /** Drops what was not sent. */
  close(): void;
}

export async function openStatsd({ protocol, host, port }: StatsdAddress): Promise<StatsdConnection> {
  return new WireConnection(protocol === 'udp' ? await openUdp(host, port) : await openTcp(host, port));
}

async function openUdp(host: string, port: number): Promise<Wire> {
  // Resolves the name once, while a UDP socket would do it for each datagram.
  const { address, family } = await inTime(lookup(host, { verbatim: false }), () => undefined);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4').unref();
  let isOpen = true;
  // Errors of a send reach its callback; others, such as a refused port, are not errors of a datagram.
  socket.on('error', () => undefined);
  return {
    bytesMax: DATAGRAM_BYTES_MAX,
    get isOpen() {
      return isOpen;
    },
    write: (packet, done) => {
      socket.send(packet, port, address, done);
    },
    close: () => {
      isOpen = false;
      socket.close();
    },
  };
}

async function openTcp(host: string, port: number): Promise<Wire> {
  const socket = connect({ host, port });
  socket.unref();
  const connected = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.on('error', reject);
  });
  await inTime(connected, () => {
    socket.destroy();
  });
  // The server never sends data; `resume` lets the socket see its end.
  socket.resume();
  return {
    bytesMax: WRITE_BYTES_MAX,
    get isOpen() {
      return !socket.destroyed;
    },
    write: (packet, done) => {
      socket.write(`${packet}\n`, done);
    },
    close: () => {
      socket.destroy();
    },
  };
}

class WireConnection implements StatsdConnection {
  private isClosed = false;

  constructor(private readonly wire: Wire) {}

  get isOpen(): boolean {
    return !this.isClosed && this.wire.isOpen;
  }

  async send(lines: readonly TaggedLine[]): Promise<void> {
    const packets = toPackets(lines.map(toLine), this.wire.bytesMax);
    await inTime(Promise.all(packets.map((packet) => this.sendPacket(packet))), () => {
      this.close();
    });
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.wire.close();
  }

  private sendPacket(packet: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.wire.write(packet, (error) => {
        if (error === undefined || error === null) resolve();
        else reject(error);
      });
    });
  }
}

/** Rejects after STEP_TIMEOUT_MS, and calls `giveUp`. */
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
