/** The slots of a Redis Cluster: which one a key belongs to, and who has them by the words of a node. */

import type { Group } from '../bucket/take';
import { describeAddress } from './describe-address';

export const SLOTS = 16_384;

/** More nodes than Redis Cluster is made for. */
export const NODES_MAX = 1_000;

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** Slots of one primary, both ends among them. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly primary: NodeAddress;
}

const POLYNOMIAL = 0x1021;

const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
  return crc;
});

/** CRC16 of the key's hash tag, or of the whole key if it has none. Keys are ASCII: a character is a byte. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const isTagged = close > open + 1;
  const end = isTagged ? close : key.length;
  let crc = 0;
  for (let at = isTagged ? open + 1 : 0; at < end; at += 1) {
    crc = ((crc << 8) & 0xffff) ^ (CRC_TABLE[(crc >> 8) ^ (key.charCodeAt(at) & 0xff)] ?? 0);
  }
  return crc & (SLOTS - 1);
}

/** Of a group whose buckets are all of one slot. */
export function slotOfGroup({ takes: [first] }: Group): number {
  return first === undefined ? 0 : slotOf(first.bucketKey);
}

/**
 * The reply of CLUSTER SLOTS, or undefined if it is no such thing or names no slot at all: a node that has left its
 * cluster knows nothing. `asked` is the host it was asked at: a node that does not know its own address names none.
 */
export function parseClusterSlots(reply: unknown, asked: string): readonly SlotRange[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  const ranges = reply.map((entry: unknown) => parseRange(entry, asked));
  const known = ranges.filter((range) => range !== undefined);
  const primaries = new Set(known.map(({ primary }) => describeAddress(primary)));
  return known.length === 0 || known.length < ranges.length || primaries.size > NODES_MAX ? undefined : known;
}

function parseRange(entry: unknown, asked: string): SlotRange | undefined {
  const [first, last, primary] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
  const [host, port, , notes] = Array.isArray(primary) ? (primary as readonly unknown[]) : [];
  if (!isSlot(first) || !isSlot(last) || typeof port !== 'number') return undefined;
  return { first, last, primary: { host: knownHost(host === NO_HOSTNAME ? ipOf(notes) : host, asked), port } };
}

/** In place of a hostname that the cluster is to announce, and that the node does not have. */
const NO_HOSTNAME = '?';

/** Out of what is noted beside a node: names and values in turn. */
function ipOf(notes: unknown): unknown {
  return Array.isArray(notes) ? (notes as readonly unknown[])[notes.indexOf('ip') + 1] : undefined;
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < SLOTS;
}

/** A host that is null or empty is that of whoever names it. */
export function knownHost(host: unknown, asked: string): string {
  return typeof host === 'string' && host !== '' && host !== NO_HOSTNAME ? host : asked;
}
