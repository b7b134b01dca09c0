/** The messages of xDS and the method that carries them, from proto/. */

import * as path from 'node:path';
import type { MethodDefinition } from '@grpc/grpc-js';
import { Reader, Root, type Type } from 'protobufjs';
import type { WireConfigDescriptor, WireDiscoveryRequest, WireDiscoveryResponse, WireRateLimitConfig } from './wire';

// The same from src/ and from dist/.
const PROTO_DIR = path.join(__dirname, '..', '..', 'proto');

/** Bytes that are decoded in a step: so many take a millisecond or two. */
const STEP_BYTES = 8 * 1024;

/** More than any configuration may have; within a step, protobufjs has a bound of its own. */
const LEVELS_MAX = 100;

/** Of the wire types, that of messages. */
const LENGTH_DELIMITED = 2;

const PROTO_FILES = ['envoy/service/discovery/v3/ads.proto', 'ratelimit/config/ratelimit/v3/rls_conf.proto'];

export const RATE_LIMIT_CONFIG_TYPE = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';

export interface XdsProto {
  readonly stream: MethodDefinition<WireDiscoveryRequest, WireDiscoveryResponse>;
  /** In steps, as it may be long. Throws on bytes that are no such message. */
  readonly decodeConfig: (bytes: Uint8Array) => Generator<undefined, WireRateLimitConfig>;
}

/** Reads proto/ synchronously; for start-up. Throws if a file is missing or wrong. */
export function loadXdsProto(): XdsProto {
  const root = new Root();
  root.resolvePath = (_origin, target) => path.resolve(PROTO_DIR, target);
  root.loadSync(PROTO_FILES, { keepCase: true });
  const request = root.lookupType('envoy.service.discovery.v3.DiscoveryRequest');
  const response = root.lookupType('envoy.service.discovery.v3.DiscoveryResponse');
  const config = root.lookupType('ratelimit.config.ratelimit.v3.RateLimitConfig');
  const descriptor = root.lookupType('ratelimit.config.ratelimit.v3.RateLimitDescriptor');
  return {
    stream: {
      path: '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
      requestStream: true,
      responseStream: true,
      requestSerialize: (message) => encode(request, message),
      requestDeserialize: (bytes) => decode(request, bytes) as WireDiscoveryRequest,
      responseSerialize: (message) => encode(response, message),
      responseDeserialize: (bytes) => decode(response, bytes),
    },
    decodeConfig: (bytes) => decodeInSteps({ type: config, field: fieldOf(config), depth: 0 }, { type: descriptor, field: fieldOf(descriptor) }, bytes),
  };
}

/** The number of the field that holds descriptors. */
function fieldOf(type: Type): number {
  const { id } = type.fields.descriptors ?? {};
  if (id === undefined) throw new Error(`${type.name} has no field descriptors`);
  return id;
}

function encode(type: Type, message: object): Buffer {
  return Buffer.from(type.encode(type.fromObject(message as Record<string, unknown>)).finish());
}

/** Enums stay numbers, absent fields absent. */
function decode(type: Type, bytes: Uint8Array): object {
  return type.toObject(type.decode(bytes));
}

/** A message that holds descriptors. */
interface Holder {
  readonly type: Type;
  /** The number of the field that they are in. */
  readonly field: number;
  /** Levels above it. */
  readonly depth: number;
}

/** What it says, but for the type of the message. */
interface Held {
  readonly descriptors?: readonly WireConfigDescriptor[];
}

/**
 * A message that is cut between two of its fields is two messages, which together say what it says. So is a descriptor: the whole
 * of a configuration may lie within one.
 */
function* decodeInSteps({ type, field, depth }: Holder, descriptor: Omit<Holder, 'depth'>, bytes: Uint8Array): Generator<undefined, Held> {
  if (depth > LEVELS_MAX) throw new Error('nested too deep');
  let whole: Held = {};
  const descriptors: WireConfigDescriptor[] = [];
  let start = 0;
  const decodeUpTo = (end: number): void => {
    if (end === start) return;
    const part: Held = decode(type, bytes.subarray(start, end));
    whole = { ...whole, ...part };
    for (const each of part.descriptors ?? []) descriptors.push(each);
    start = end;
  };
  const reader = Reader.create(bytes);
  while (reader.pos < reader.len) {
    const at = reader.pos;
    const tag = reader.uint32();
    if (tag === ((field << 3) | LENGTH_DELIMITED)) {
      const length = reader.uint32();
      const from = reader.pos;
      reader.skip(length);
      if (length > STEP_BYTES) {
        decodeUpTo(at);
        descriptors.push(yield* decodeInSteps({ ...descriptor, depth: depth + 1 }, descriptor, bytes.subarray(from, reader.pos)));
        start = reader.pos;
      }
    } else {
      reader.skipType(tag & 7);
    }
    if (reader.pos - start < STEP_BYTES) continue;
    decodeUpTo(reader.pos);
    yield;
  }
  decodeUpTo(reader.pos);
  yield;
  return { ...whole, descriptors };
}
