/** The slots of a Redis Cluster: the slot of a key, and the owners of slots according to a node. */

import type { Group } from '../../../domain/bucket/take';
import { describeAddress, PORT_MAX } from './client/address';
import { readList } from './client/read-reply';
import { ReplyError } from './client/reply-error';

export const SLOTS = 16_384;

/** More nodes than a Redis Cluster is designed for. */
export const NODES_MAX = 1_000;

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** Slots of one primary, both ends included. */
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

/** CRC16 of the key's hash tag, or of the whole key without one. Keys are ASCII: a character is a byte. */
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

/** The slot of a group, whose buckets must all belong to one slot. */
export function slotOfGroup({ takes: [first] }: Group): number {
  return first === undefined ? 0 : slotOf(first.bucketKey);
}

/**
 * Parses the reply of CLUSTER SLOTS; undefined if it is invalid or empty, as from a node that has left its
 * cluster. `repliedBy` is the node's host, which replaces an unknown host in the reply.
 */
export function parseClusterSlots(reply: unknown, repliedBy: string): readonly SlotRange[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  const ranges = reply.map((entry: unknown) => parseRange(entry, repliedBy));
  const known = ranges.filter((range) => range !== undefined);
  const primaries = new Set(known.map(({ primary }) => describeAddress(primary)));
  return known.length === 0 || known.length < ranges.length || primaries.size > NODES_MAX ? undefined : known;
}

/**
 * Checks a reply of CLUSTER SLOTS and returns it unchanged.
 *
 * @throws ReplyError if it is invalid
 */
export function readSlotList(reply: unknown): readonly unknown[] {
  const list = readList(reply);
  if (list.length > SLOTS) throw new ReplyError(`it is a list of ${list.length} ranges of slots`);
  const wrong = list.findIndex((entry) => parseRange(entry, '') === undefined);
  if (wrong >= 0) throw new ReplyError(`entry ${wrong + 1} is not a range of slots`);
  return list;
}

function parseRange(entry: unknown, repliedBy: string): SlotRange | undefined {
  const [first, last, primary] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
  const [host, port, , notes] = Array.isArray(primary) ? (primary as readonly unknown[]) : [];
  if (!isSlot(first) || !isSlot(last) || first > last || !isPort(port)) return undefined;
  return { first, last, primary: { host: knownHost(host === NO_HOSTNAME ? ipOf(notes) : host, repliedBy), port } };
}

/** Placeholder for a hostname that the node should announce but does not have. */
const NO_HOSTNAME = '?';

/** Finds the IP in the metadata of a node, in which names and values alternate. */
function ipOf(notes: unknown): unknown {
  return Array.isArray(notes) ? (notes as readonly unknown[])[notes.indexOf('ip') + 1] : undefined;
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < SLOTS;
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= PORT_MAX;
}

/** A null or empty host means the host that sent the reply. */
export function knownHost(host: unknown, repliedBy: string): string {
  return typeof host === 'string' && host !== '' && host !== NO_HOSTNAME ? host : repliedBy;
}
