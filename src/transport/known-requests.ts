/** Requests that come again: the same bytes are read once, and are the same object from then on. */

import type { ByteString, RateLimitRequest } from '../descriptor/descriptor';
import { BadRequestError } from '../errors';
import { decodeRequest } from './codec/decode-request';
import { toRequest } from './request';

/** Bytes of a message that is remembered: nearly all of Envoy's are below. */
export const KNOWN_MESSAGE_BYTES_MAX = 1024;

/** What is remembered, in each of two generations: descriptors (each has objects and keys of its own), and bytes of messages. */
export const KNOWN_DESCRIPTORS_MAX = 8192;
export const KNOWN_BYTES_MAX = 1024 * 1024;

/** Messages that were seen once and not for long; a power of two. */
const SEEN_SLOTS = 4096;

/**
 * From the bytes of a message to its request. Who asks often enough gets the same object each time, marked as one that
 * recurs, so that what is found out about it (its rules, its keys) is found out once, and a store that is asked many equal
 * questions at once can see that they are equal.
 *
 * A message is remembered when it comes a second time within some thousand: a flood of fresh ones leaves one number each,
 * where another is overwritten. It is forgotten after a generation without it, which a flood can't shorten either.
 */
export class KnownRequests {
  private young = new Map<ByteString, RateLimitRequest>();
  private old = new Map<ByteString, RateLimitRequest>();
  private youngDescriptors = 0;
  private youngBytes = 0;
  /** Fingerprints of messages, each in the place that it names itself. */
  private readonly seen = new Int32Array(SEEN_SLOTS);

  /** Never throws: answers why there is no request. */
  read(bytes: Buffer, start = 0, end = bytes.length): RateLimitRequest | BadRequestError {
    const message = bytes.toString('latin1', start, end);
    if (message.length > KNOWN_MESSAGE_BYTES_MAX) return toRequestOrError(message);
    const known = this.young.get(message);
    if (known !== undefined) return known;
    const older = this.old.get(message);
    if (older !== undefined) return this.remember(message, older);
    const request = toRequestOrError(message);
    if (request instanceof BadRequestError || !this.wasSeen(message)) return request;
    return this.remember(message, { ...request, recurs: true });
  }

  /** Requests that are remembered. */
  get size(): number {
    return this.young.size + this.old.size;
  }

  private remember(message: ByteString, request: RateLimitRequest): RateLimitRequest {
    this.youngDescriptors += request.descriptors.length;
    this.youngBytes += message.length;
    if (this.youngDescriptors > KNOWN_DESCRIPTORS_MAX || this.youngBytes > KNOWN_BYTES_MAX) {
      this.old = this.young;
      this.young = new Map();
      this.youngDescriptors = request.descriptors.length;
      this.youngBytes = message.length;
    }
    this.young.set(message, request);
    return request;
  }

  /** Whether this message was here not long ago; from now on it was. */
  private wasSeen(message: ByteString): boolean {
    const fingerprint = fingerprintOf(message);
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

/** FNV-1a, mixed. Two messages of one fingerprint are remembered a little early, no more. */
function fingerprintOf(message: ByteString): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < message.length; i += 1) hash = Math.imul(hash ^ message.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
