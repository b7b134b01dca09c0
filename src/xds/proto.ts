/** The messages of xDS and the method that carries them, from proto/. */

import * as path from 'node:path';
import type { MethodDefinition } from '@grpc/grpc-js';
import { Reader, Root, type Type } from 'protobufjs';
import type { WireConfigDescriptor, WireDiscoveryRequest, WireDiscoveryResponse, WireRateLimitConfig } from './wire';

// The same from src/ and from dist/.
const PROTO_DIR = path.join(__dirname, '..', '..', 'proto');

/** Bytes that are decoded in a step: so many take a millisecond or two. */
const STEP_BYTES = 8 * 1024;

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
    decodeConfig: (bytes) => decodeInSteps(config, bytes),
  };
}

function encode(type: Type, message: object): Buffer {
  return Buffer.from(type.encode(type.fromObject(message as Record<string, unknown>)).finish());
}

/** Enums stay numbers, absent fields absent. */
function decode(type: Type, bytes: Uint8Array): object {
  return type.toObject(type.decode(bytes));
}

/** A message that is cut between two of its fields is two messages, which together say what it says. */
function* decodeInSteps(type: Type, bytes: Uint8Array): Generator<undefined, WireRateLimitConfig> {
  let whole: WireRateLimitConfig = {};
  const descriptors: WireConfigDescriptor[] = [];
  for (const piece of piecesOf(bytes)) {
    const part: WireRateLimitConfig = decode(type, piece);
    whole = { ...whole, ...part };
    for (const descriptor of part.descriptors ?? []) descriptors.push(descriptor);
    yield;
  }
  return { ...whole, descriptors };
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  const reader = Reader.create(bytes);
  let start = 0;
  while (reader.pos < reader.len) {
    reader.skipType(reader.uint32() & 7);
    if (reader.pos - start < STEP_BYTES) continue;
    yield bytes.subarray(start, reader.pos);
    start = reader.pos;
  }
  yield bytes.subarray(start);
}
