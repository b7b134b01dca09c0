/** The DNS of a headless service for a test: one name, and the IPv4 addresses that a test says. */
import { createSocket } from 'node:dgram';

const HEADER_BYTES = 12;
const TYPE_A = 1;
const CLASS_IN = 1;
/** Answer to a standard query, authoritative, with recursion. */
const FLAGS_ANSWER = 0x8580;
/** A pointer to the name of the question, which follows the header. */
const NAME_OF_QUESTION = 0xc000 | HEADER_BYTES;
/** Bytes of an A record: pointer, type, class, TTL, length and address. */
const RECORD_BYTES = 16;
const ADDRESS_BYTES = 4;

export interface DnsServer {
  readonly port: number;
  /** From now on; a resolver sees it when it asks again. */
  set(addresses: readonly string[]): void;
  /** Queries for addresses that it answered. */
  queries(): number;
  stop(): Promise<void>;
}

/** It answers every name alike, as long as the query has one question; queries for another type than A have no answer. */
export async function startDns({ ttlS }: { readonly ttlS: number }): Promise<DnsServer> {
  let current: readonly string[] = [];
  let queries = 0;
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const end = endOfQuestion(query);
    if (end === undefined) return;
    const isForAddresses = query.readUInt16BE(end - 4) === TYPE_A;
    if (isForAddresses) queries += 1;
    socket.send(answer(query.subarray(0, end), { addresses: isForAddresses ? current : [], ttlS }), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    port: socket.address().port,
    set: (addresses) => {
      current = [...addresses];
    },
    queries: () => queries,
    stop: () =>
      new Promise((resolve) => {
        socket.close(() => {
          resolve();
        });
      }),
  };
}

/** Where the first question ends: labels, a zero, its type and its class. */
function endOfQuestion(query: Buffer): number | undefined {
  let at = HEADER_BYTES;
  while (at < query.length && query[at] !== 0) at += 1 + query[at]!;
  const end = at + 1 + 4;
  return end <= query.length ? end : undefined;
}

function answer(question: Buffer, { addresses, ttlS }: { readonly addresses: readonly string[]; readonly ttlS: number }): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(FLAGS_ANSWER, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  // Neither authorities nor what the resolver says of itself.
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map((address) => record(address, ttlS))]);
}

function record(address: string, ttlS: number): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES);
  bytes.writeUInt16BE(NAME_OF_QUESTION, 0);
  bytes.writeUInt16BE(TYPE_A, 2);
  bytes.writeUInt16BE(CLASS_IN, 4);
  bytes.writeUInt32BE(ttlS, 6);
  bytes.writeUInt16BE(ADDRESS_BYTES, 10);
  bytes.set(address.split('.').map(Number), 12);
  return bytes;
}
