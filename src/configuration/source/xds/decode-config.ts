/** Decodes a RateLimitConfig in steps, within bounds, so that other work can run in between. */

import { Reader, type Type } from 'protobufjs';
import { METADATA_BYTES_MAX } from '../../compile/field-types/metadata';
import { decode, skipValue, tagOf } from './fields';
import type { WireConfigDescriptor, WireRateLimitConfig } from './wire';

/** Descriptors of all resources of a response: more than useful descriptors in 4 MiB, gRPC's own bound. */
export const CONFIG_DESCRIPTORS_MAX = 500_000;

/**
 * Bytes of a single field of a descriptor, nested descriptors excluded, because a field is decoded in one step. For metadata this exceeds
 * METADATA_BYTES_MAX as JSON: a number of one digit takes 11 bytes here, and 2 there.
 */
export const FIELD_BYTES_MAX = 6 * METADATA_BYTES_MAX;

/** Bytes decoded in one step, which takes a millisecond or two. */
const STEP_BYTES = 8 * 1024;

/** More levels than a configuration may have; within a step, protobufjs has its own bound. */
const LEVELS_MAX = 100;

/** The number of descriptors that a response may still contain. */
export interface DescriptorBudget {
  descriptors: number;
}

/** Throws BoundError, or another error if the bytes are not such a message. */
export type DecodeConfig = (bytes: Uint8Array, budget: DescriptorBudget) => Generator<undefined, WireRateLimitConfig>;

/** The message is for the operator. */
export class BoundError extends Error {}

export function configDecoder({ config, descriptor }: { readonly config: Type; readonly descriptor: Type }): DecodeConfig {
  const root: Holder = { type: config, tag: tagOf(config, 'descriptors'), depth: 0 };
  const below: Below = { type: descriptor, tag: tagOf(descriptor, 'descriptors') };
  return (bytes, budget) => decodeInSteps(root, bytes, { below, budget });
}

/** A message that contains descriptors. */
interface Holder {
  readonly type: Type;
  /** Tag of the field with the descriptors. */
  readonly tag: number;
  /** Number of parents. */
  readonly depth: number;
}

type Below = Omit<Holder, 'depth'>;

/** The decoded fields, whatever the type of the message. */
interface Held {
  readonly descriptors?: readonly WireConfigDescriptor[];
}

interface Decoding {
  /** Type and tag of nested descriptors. */
  readonly below: Below;
  readonly budget: DescriptorBudget;
}

/**
 * Splits the message between fields: protobuf merges the parts to the whole. Descriptors are split too, because one
 * may contain nearly the whole configuration.
 */
function* decodeInSteps({ type, tag: descriptorsTag, depth }: Holder, bytes: Uint8Array, decoding: Decoding): Generator<undefined, Held> {
  if (depth > LEVELS_MAX) throw new Error('nested too deep');
  let whole: Held = {};
  const descriptors: WireConfigDescriptor[] = [];
  let start = 0;
  const decodeUpTo = (end: number): void => {
    if (end === start) return;
    const part: Held = decode(type, bytes.subarray(start, end));
    spend(decoding.budget, countOf(part));
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
        spend(decoding.budget, 1);
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

/** Unknown fields are skipped, so their length does not matter. */
function refuseLongField(name: string | undefined, bytes: number): void {
  if (name === undefined || bytes <= FIELD_BYTES_MAX) return;
  throw new BoundError(`a ${name} is ${bytes} bytes long; use at most ${FIELD_BYTES_MAX}`);
}

function countOf({ descriptors = [] }: Held): number {
  return descriptors.reduce((sum, descriptor) => sum + 1 + countOf(descriptor), 0);
}

function spend(budget: DescriptorBudget, count: number): void {
  if (count > budget.descriptors)
    throw new BoundError(`exceeds the ${CONFIG_DESCRIPTORS_MAX} descriptors that a response may contain; send fewer`);
  budget.descriptors -= count;
}
