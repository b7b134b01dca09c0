/** The request cache: identical message bytes are decoded once and give the identical request object. */

import type { ByteString, RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import { decodeRequest } from './decode-request';
import { toRequest } from './request';

/** Maximum size of a cached message: almost all messages of Envoy are smaller. */
export const CACHED_MESSAGE_BYTES_MAX = 1024;

/** Bounds of all cached messages together: descriptors (each has its own objects and keys), and bytes. */
export const CACHED_DESCRIPTORS_MAX = 16_384;
export const CACHED_BYTES_MAX = 2 * 1024 * 1024;

/** The fingerprint of a message selects a set; each set has this many slots. Powers of two. */
const SETS = 2048;
const WAYS = 8;
const SLOTS = SETS * WAYS;

/**
 * Slots of the table of messages seen once; a power of two. More slots would also cache messages that return only after many
 * thousands of others: those are cold by then, and cost more to keep and compare than to decode again.
 */
const SEEN_SLOTS = 1024;

/**
 * Maps the bytes of a message to its request. Frequent messages get the same object each time, marked with `recurs`, so
 * that its rules and keys are computed once, and the store can fold identical requests
 * without comparing them.
 *
 * A message is cached when it comes a second time within about a thousand messages: a flood of new messages leaves only one
 * fingerprint each, which later ones overwrite. A set evicts messages that were not used since its
 * last eviction (CLOCK), so that a flood does not evict requests that keep coming.
 */
export class RequestCache {
  private count = 0;
  private descriptors = 0;
  private bytes = 0;
  private readonly messages = new Array<ByteString | undefined>(SLOTS).fill(undefined);
  private readonly requests = new Array<RateLimitRequest | undefined>(SLOTS).fill(undefined);
  /** Fingerprints of the cached messages, by slot. They are contiguous, so that a search stays in the CPU cache. */
  private readonly fingerprints = new Int32Array(SLOTS);
  /** 0: the slot is free. */
  private readonly messageBytes = new Uint16Array(SLOTS);
  private readonly descriptorCounts = new Uint8Array(SLOTS);
  /** 1: used since `tryToFree` last checked it. */
  private readonly marks = new Uint8Array(SLOTS);
  /** Fingerprints of messages seen once, in the slot that each selects. */
  private readonly seen = new Int32Array(SEEN_SLOTS);
  /** The next slot to evict, in each set; and for all sets together. */
  private readonly hands = new Uint8Array(SETS);
  private hand = 0;

  /** Never throws: returns why the message is invalid. */
  read(bytes: Buffer, start = 0, end = bytes.length): RateLimitRequest | BadRequestError {
    if (end - start > CACHED_MESSAGE_BYTES_MAX) return toRequestOrError(bytes.toString('latin1', start, end));
    const fingerprint = fingerprintOf(bytes, start, end);
    const first = firstSlotOf(fingerprint);
    for (let slot = first; slot < first + WAYS; slot += 1) {
      if (this.fingerprints[slot] !== fingerprint) continue;
      const request = this.requests[slot];
      if (request === undefined || !isOf(this.messages[slot], bytes, start, end)) continue;
      this.marks[slot] = 1;
      return request;
    }
    const message = bytes.toString('latin1', start, end);
    const request = toRequestOrError(message);
    if (request instanceof BadRequestError || !this.noteSeen(fingerprint)) return request;
    // `recurs` must come first: V8 gives an object that starts with a spread its own hidden class, which slows all readers.
    return this.remember(message, { recurs: true, ...request }, fingerprint);
  }

  /** The number of cached requests. */
  get size(): number {
    return this.count;
  }

  private remember(message: ByteString, request: RateLimitRequest, fingerprint: number): RateLimitRequest {
    this.descriptors += request.descriptors.length;
    this.bytes += message.length;
    // A single message is far below both bounds.
    while (this.descriptors > CACHED_DESCRIPTORS_MAX || this.bytes > CACHED_BYTES_MAX) {
      this.hand = (this.hand + 1) & (SLOTS - 1);
      this.tryToFree(this.hand);
    }
    const slot = this.freeSlot(fingerprint);
    this.messages[slot] = message;
    this.requests[slot] = request;
    this.fingerprints[slot] = fingerprint;
    this.messageBytes[slot] = message.length;
    this.descriptorCounts[slot] = request.descriptors.length;
    this.count += 1;
    return request;
  }

  /** Goes around the set at most twice. */
  private freeSlot(fingerprint: number): number {
    const first = firstSlotOf(fingerprint);
    const set = first / WAYS;
    for (;;) {
      const way = this.hands[set] ?? 0;
      this.hands[set] = (way + 1) & (WAYS - 1);
      if (this.tryToFree(first + way)) return first + way;
    }
  }

  /** Evicts the request in a slot, unless it was used since the last check, which only clears the mark. Returns whether the slot is free. */
  private tryToFree(slot: number): boolean {
    if (this.messageBytes[slot] === 0) return true;
    if (this.marks[slot] === 1) {
      this.marks[slot] = 0;
      return false;
    }
    this.descriptors -= this.descriptorCounts[slot] ?? 0;
    this.bytes -= this.messageBytes[slot] ?? 0;
    this.count -= 1;
    this.messages[slot] = undefined;
    this.requests[slot] = undefined;
    this.messageBytes[slot] = 0;
    return true;
  }

  /** Whether a message with this fingerprint came recently; records this one. */
  private noteSeen(fingerprint: number): boolean {
    const slot = fingerprint & (SEEN_SLOTS - 1);
    if (this.seen[slot] === fingerprint) return true;
    this.seen[slot] = fingerprint;
    return false;
  }
}

export function toRequestOrError(message: ByteString): RateLimitRequest | BadRequestError {
  const wire = decodeRequest(message);
  if (wire instanceof BadRequestError) return wire;
  try {
    return toRequest(wire);
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}

function firstSlotOf(fingerprint: number): number {
  // Other bits than those that select the slot in `seen`.
  return ((fingerprint >>> 16) % SETS) * WAYS;
}

/** Compares the bytes, because fingerprints may collide. */
function isOf(message: ByteString | undefined, bytes: Buffer, start: number, end: number): boolean {
  if (message?.length !== end - start) return false;
  for (let i = 0; i < message.length; i += 1) if (message.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/**
 * Differs between processes, so that the same messages collide in none or few of them. It is not a keyed hash: a caller who knows a
 * message can craft others in its set and evict it while it is unused. Then it is decoded again.
 */
const SEED = Math.floor(Math.random() * 2 ** 32);

/**
 * Mixes four bytes at a time. A collision only caches a message early, and costs one
 * comparison.
 */
function fingerprintOf(bytes: Buffer, start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let i = start;
  for (; i + 4 <= end; i += 4) {
    const word = (bytes[i] ?? 0) | ((bytes[i + 1] ?? 0) << 8) | ((bytes[i + 2] ?? 0) << 16) | ((bytes[i + 3] ?? 0) << 24);
    hash = Math.imul(hash ^ word, 0x2c1b3c6d);
    hash ^= hash >>> 15;
  }
  for (; i < end; i += 1) {
    hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x2c1b3c6d);
    hash ^= hash >>> 15;
  }
  return hash;
}
