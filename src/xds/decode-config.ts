/** Reads the bytes of a RateLimitConfig in steps, between which other things can be done, and within bounds. */

import { Reader, type Type } from 'protobufjs';
import { METADATA_BYTES_MAX } from '../config/metadata';
import { decode, skipValue, tagOf } from './fields';
import type { WireConfigDescriptor, WireRateLimitConfig } from './wire';

/** Descriptors of all resources of a response, whatever they say: more than 4 MiB, gRPC's own bound, hold of any use. */
export const CONFIG_DESCRIPTORS_MAX = 500_000;

/**
 * Bytes of what a descriptor says besides the descriptors in it, each by itself: it is read at a stretch. Of metadata, so many are more than
 * METADATA_BYTES_MAX as JSON: a number of one digit is 11 bytes here, and 2 there.
 */
export const FIELD_BYTES_MAX = 6 * METADATA_BYTES_MAX;

/** Bytes that are decoded in a step: so many take a millisecond or two. */
const STEP_BYTES = 8 * 1024;

/** More than any configuration may have; within a step, protobufjs has a bound of its own. */
const LEVELS_MAX = 100;

/** The descriptors that a response may still hold. */
export interface Allowance {
  descriptors: number;
}

/** Throws BoundError, or anything else on bytes that are no such message. */
export type DecodeConfig = (bytes: Uint8Array, allowance: Allowance) => Generator<undefined, WireRateLimitConfig>;

/** What it says is for people. */
export class BoundError extends Error {}

export function configDecoder({ config, descriptor }: { readonly config: Type; readonly descriptor: Type }): DecodeConfig {
  const root: Holder = { type: config, tag: tagOf(config, 'descriptors'), depth: 0 };
  const below: Below = { type: descriptor, tag: tagOf(descriptor, 'descriptors') };
  return (bytes, allowance) => decodeInSteps(root, bytes, { below, allowance });
}

/** A message that holds descriptors. */
interface Holder {
  readonly type: Type;
  /** Of the field that they are in. */
  readonly tag: number;
  /** Levels above it. */
  readonly depth: number;
}

type Below = Omit<Holder, 'depth'>;

/** What it says, but for the type of the message. */
interface Held {
  readonly descriptors?: readonly WireConfigDescriptor[];
}

interface Decoding {
  /** What the descriptors in it are. */
  readonly below: Below;
  readonly allowance: Allowance;
}

/**
 * A message that is cut between two of its fields is two messages, which together say what it says. So is a descriptor: the whole
 * of a configuration may lie within one.
 */
function* decodeInSteps({ type, tag: descriptorsTag, depth }: Holder, bytes: Uint8Array, decoding: Decoding): Generator<undefined, Held> {
  if (depth > LEVELS_MAX) throw new Error('nested too deep');
  let whole: Held = {};
  const descriptors: WireConfigDescriptor[] = [];
  let start = 0;
  const decodeUpTo = (end: number): void => {
    if (end === start) return;
    const part: Held = decode(type, bytes.subarray(start, end));
    spend(decoding.allowance, countOf(part));
    whole = { ...whole, ...part };
    for (const each of part.descriptors ?? []) descriptors.push(each);
    start = end;
  };
  const reader = Reader.create(bytes);
  while (reader.pos < reader.len) {
    const at = reader.pos;
    const tag = reader.uint32();
    const from = skipValue(reader, tag);
    if (tag === descriptorsTag) {
      if (reader.pos - from > STEP_BYTES) {
        decodeUpTo(at);
        spend(decoding.allowance, 1);
        descriptors.push(yield* decodeInSteps({ ...decoding.below, depth: depth + 1 }, bytes.subarray(from, reader.pos), decoding));
        start = reader.pos;
      }
    } else {
      refuseLongField(type.fieldsById[tag >>> 3]?.name, reader.pos - from);
    }
    if (reader.pos - start < STEP_BYTES) continue;
    decodeUpTo(reader.pos);
    yield;
  }
  decodeUpTo(reader.pos);
  yield;
  return { ...whole, descriptors };
}

/** A field without a name is not read. */
function refuseLongField(name: string | undefined, bytes: number): void {
  if (name === undefined || bytes <= FIELD_BYTES_MAX) return;
  throw new BoundError(`a ${name} is ${bytes} bytes long; ${FIELD_BYTES_MAX} is the most`);
}

function countOf({ descriptors = [] }: Held): number {
  return descriptors.reduce((sum, descriptor) => sum + 1 + countOf(descriptor), 0);
}

function spend(allowance: Allowance, count: number): void {
  if (count > allowance.descriptors) throw new BoundError(`goes beyond the ${CONFIG_DESCRIPTORS_MAX} descriptors that a response may hold; send fewer`);
  allowance.descriptors -= count;
}
