/** Requests that come again: the same bytes are read once, and are the same object from then on. */

import type { ByteString, RateLimitRequest } from '../descriptor/descriptor';
import { BadRequestError } from '../errors';
import { decodeRequest } from './codec/decode-request';
import { toRequest } from './request';

/** Bytes of a message that is remembered: nearly all of Envoy's are below. */
export const KNOWN_MESSAGE_BYTES_MAX = 1024;

/** What is remembered of all messages: descriptors (each has objects and keys of its own), and bytes. */
export const KNOWN_DESCRIPTORS_MAX = 16_384;
export const KNOWN_BYTES_MAX = 2 * 1024 * 1024;

/** A message has its place in one of the sets, named by its fingerprint, beside so many others. Powers of two. */
const SETS = 2048;
const WAYS = 8;
const SLOTS = SETS * WAYS;

/**
 * Messages that were seen once and not for long; a power of two. With more of them, what comes once in many thousand is remembered
 * as well: it is cold by the time that it comes again, and costs more to keep and to look at than to read anew.
 */
const SEEN_SLOTS = 1024;

/**
 * From the bytes of a message to its request. Who asks often enough gets the same object each time, marked as one that
 * recurs, so that what is found out about it (its rules, its keys) is found out once, and a store that is asked many equal
 * questions at once can see that they are equal.
 *
 * A message is remembered when it comes a second time within a thousand or so: a flood of fresh ones leaves one number each,
 * where another is overwritten, and is told from what is known by that number alone. Who makes room for another is one who
 * has not asked since the last time that room was made there, so a flood does not wash out who goes on asking.
 */
export class KnownRequests {
  private count = 0;
  private descriptors = 0;
  private bytes = 0;
  private readonly messages = new Array<ByteString | undefined>(SLOTS).fill(undefined);
  private readonly requests = new Array<RateLimitRequest | undefined>(SLOTS).fill(undefined);
  /** Of what is known, by its slot. They lie close together: to look through them touches no memory that has not been used for long. */
  private readonly fingerprints = new Int32Array(SLOTS);
  /** 0: nobody is in this slot. */
  private readonly messageBytes = new Uint16Array(SLOTS);
  private readonly descriptorCounts = new Uint8Array(SLOTS);
  /** 1: it was asked since `tryToFree` last looked at it. */
  private readonly marks = new Uint8Array(SLOTS);
  /** Fingerprints of messages, each in the place that it names itself. */
  private readonly seen = new Int32Array(SEEN_SLOTS);
  /** In each set, where room is made next; and the same for all of them together. */
  private readonly hands = new Uint8Array(SETS);
  private hand = 0;

  /** Never throws: answers why there is no request. */
  read(bytes: Buffer, start = 0, end = bytes.length): RateLimitRequest | BadRequestError {
    if (end - start > KNOWN_MESSAGE_BYTES_MAX) return toRequestOrError(bytes.toString('latin1', start, end));
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
    // Not the other way around: an object that begins with a spread gets a hidden class of its own each time, and all that read it slow down.
    return this.remember(message, { recurs: true, ...request }, fingerprint);
  }

  /** Requests that are remembered. */
  get size(): number {
    return this.count;
  }

  private remember(message: ByteString, request: RateLimitRequest, fingerprint: number): RateLimitRequest {
    this.descriptors += request.descriptors.length;
    this.bytes += message.length;
    // A message by itself is far below both.
    while (this.descriptors > KNOWN_DESCRIPTORS_MAX || this.bytes > KNOWN_BYTES_MAX) {
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

  /** Goes around the set, twice at most. */
  private freeSlot(fingerprint: number): number {
    const first = firstSlotOf(fingerprint);
    const set = first / WAYS;
    for (;;) {
      const way = this.hands[set] ?? 0;
      this.hands[set] = (way + 1) & (WAYS - 1);
      if (this.tryToFree(first + way)) return first + way;
    }
  }

  /** Forgets the request in a slot, unless it was asked since the last look: then it stays until the next one. Whether the slot is free now. */
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

  /** Whether a message of this fingerprint came not long ago; notes that one has come now. */
  private noteSeen(fingerprint: number): boolean {
    const slot = fingerprint & (SEEN_SLOTS - 1);
    if (this.seen[slot] === fingerprint) return true;
    this.seen[slot] = fingerprint;
    return false;
  }
}

function toRequestOrError(message: ByteString): RateLimitRequest | BadRequestError {
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
  // Not the bits that name the slot among those that were seen.
  return (fingerprint >>> 16) % SETS * WAYS;
}

/** The bytes decide, never the fingerprint alone. */
function isOf(message: ByteString | undefined, bytes: Buffer, start: number, end: number): boolean {
  if (message?.length !== end - start) return false;
  for (let i = 0; i < message.length; i += 1) if (message.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/**
 * Another one in each process, so that what nobody crafted is spread differently in each. A keyed hash it is not: who knows a
 * message can craft others that share its set, and so push it out while it is not asked for. Then it is read anew.
 */
const SEED = Math.floor(Math.random() * 2 ** 32);

/**
 * Four bytes at a time, mixed after each. Two messages of one fingerprint are remembered a little early, and have to be
 * compared, no more.
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
