/** The two messages as protobufjs reads and writes them, text of requests as bytes: what the hand-made codec is held against. */

import * as path from 'node:path';
import { Root, type Type } from 'protobufjs';
import type { WireRequest, WireResponse } from '../../../../src/server/transport/messages/wire';

const PROTO_DIR = path.join(__dirname, '..', '..', '..', '..', 'proto');

const BYTE_FIELDS: readonly (readonly [type: string, field: string])[] = [
  ['envoy.service.ratelimit.v3.RateLimitRequest', 'domain'],
  ['envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry', 'key'],
  ['envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry', 'value'],
];

function load(): { request: Type; response: Type } {
  const root = new Root();
  root.resolvePath = (_origin, target) => path.resolve(PROTO_DIR, target);
  root.loadSync('envoy/service/ratelimit/v3/rls.proto', { keepCase: true });
  for (const [type, field] of BYTE_FIELDS) root.lookupType(type).fields[field]!.type = 'bytes';
  root.resolveAll();
  return {
    request: root.lookupType('envoy.service.ratelimit.v3.RateLimitRequest'),
    response: root.lookupType('envoy.service.ratelimit.v3.RateLimitResponse'),
  };
}

const { request: requestType, response: responseType } = load();

interface Decoded extends Omit<WireRequest, 'domain' | 'descriptors'> {
  domain?: Buffer;
  descriptors?: { entries?: { key?: Buffer; value?: Buffer }[] }[];
}

/** @throws Error if the bytes are no message */
export function decodeByProtobufjs(bytes: Buffer): WireRequest {
  const { domain, descriptors = [], ...rest } = requestType.toObject(requestType.decode(bytes), { longs: String }) as Decoded;
  return {
    ...rest,
    domain: text(domain),
    descriptors: descriptors.map(({ entries = [], ...others }) => ({
      ...others,
      entries: entries.map(({ key, value }) => ({ key: text(key), value: text(value) })),
    })),
  };
}

export function encodeByProtobufjs(request: WireRequest): Buffer {
  const bytes = {
    ...request,
    domain: Buffer.from(request.domain ?? '', 'latin1'),
    descriptors: (request.descriptors ?? []).map(({ entries = [], ...others }) => ({
      ...others,
      entries: entries.map(({ key = '', value = '' }) => ({ key: Buffer.from(key, 'latin1'), value: Buffer.from(value, 'latin1') })),
    })),
  };
  return Buffer.from(requestType.encode(requestType.fromObject(bytes)).finish());
}

export function encodeResponseByProtobufjs(response: WireResponse): Buffer {
  return Buffer.from(responseType.encode(responseType.fromObject(response)).finish());
}

function text(bytes: Buffer | undefined): string {
  return bytes === undefined ? '' : bytes.toString('latin1');
}
