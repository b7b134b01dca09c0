/** The services in proto/ as a grpc-js client calls them. The server has its own codecs. */

import * as path from 'node:path';
import type * as grpc from '@grpc/grpc-js';
import { fromJSON, type AnyDefinition, type PackageDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { Root } from 'protobufjs';
import { PACKAGE_ROOT } from '../../../lib/package-root';
import type { WireDescriptor, WireRequest, WireResponse } from './wire';

// The path is right from src/ and from dist/.
const PROTO_DIR = path.join(PACKAGE_ROOT, 'proto');

const PROTO_FILES = [
  'envoy/service/ratelimit/v3/rls.proto',
  'grpc/health/v1/health.proto',
  'kuadrant/service/ratelimit/v1/ratelimit.proto',
  'weir/v1/reservation.proto',
];

/** Text fields of requests that may contain any bytes: a decoder that requires UTF-8 would merge distinct values, or fail. */
const BYTE_FIELDS: readonly (readonly [type: string, field: string])[] = [
  ['envoy.service.ratelimit.v3.RateLimitRequest', 'domain'],
  ['envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry', 'key'],
  ['envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry', 'value'],
  ['kuadrant.service.ratelimit.v1.ReserveRequest', 'domain'],
  ['kuadrant.service.ratelimit.v1.CommitRequest', 'domain'],
  ['weir.v1.ReserveRequest', 'domain'],
  ['weir.v1.CommitRequest', 'domain'],
  ['weir.v1.ReleaseRequest', 'domain'],
  ['weir.v1.ExtendRequest', 'domain'],
];

export interface Proto {
  readonly rateLimit: RateLimitServiceDefinition;
  readonly health: ServiceDefinition;
  /** Texts of its requests are bytes. */
  readonly reservations: ServiceDefinition;
  /** The service of Kuadrant's proxy plugin; texts of its requests are bytes. */
  readonly kuadrant: ServiceDefinition;
}

export interface RateLimitServiceDefinition {
  readonly ShouldRateLimit: Omit<grpc.MethodDefinition<WireRequest, WireResponse>, 'requestDeserialize' | 'responseSerialize'>;
}

let loaded: Proto | undefined;

/** Reads proto/ synchronously at the first call, in about 50 ms. Throws if a file is missing or invalid. */
export function loadProto(): Proto {
  loaded ??= readProto();
  return loaded;
}

function readProto(): Proto {
  const root = readProtoFiles();
  patchByteFields(root);
  // 64-bit numbers are strings of digits, enums are numbers, and absent fields stay absent.
  const definitions = fromJSON(root.toJSON(), { keepCase: true, longs: String });
  return {
    rateLimit: rateLimitService(serviceOf(definitions, 'envoy.service.ratelimit.v3.RateLimitService')),
    health: serviceOf(definitions, 'grpc.health.v1.Health'),
    reservations: serviceOf(definitions, 'weir.v1.ReservationService'),
    kuadrant: serviceOf(definitions, 'kuadrant.service.ratelimit.v1.RateLimitService'),
  };
}

function readProtoFiles(): Root {
  const root = new Root();
  root.resolvePath = (_origin, target) => path.resolve(PROTO_DIR, target);
  root.loadSync(PROTO_FILES, { keepCase: true });
  root.resolveAll();
  return root;
}

function patchByteFields(root: Root): void {
  for (const [typeName, fieldName] of BYTE_FIELDS) {
    const field = root.lookupType(typeName).fields[fieldName];
    if (field === undefined) throw new Error(`proto/ has no ${typeName}.${fieldName}`);
    field.type = 'bytes';
  }
}

function isService(definition: AnyDefinition): definition is ServiceDefinition {
  return !('format' in definition);
}

function serviceOf(definitions: PackageDefinition, name: string): ServiceDefinition {
  const definition = definitions[name];
  if (definition === undefined || !isService(definition)) throw new Error(`proto/ has no service ${name}`);
  return definition;
}

/** The request in protobufjs: bytes for the text fields. */
interface BytesRequest extends Omit<WireRequest, 'domain' | 'descriptors'> {
  readonly domain: Buffer;
  readonly descriptors: readonly BytesDescriptor[];
}

interface BytesDescriptor extends Omit<WireDescriptor, 'entries'> {
  readonly entries: readonly { readonly key: Buffer; readonly value: Buffer }[];
}

function rateLimitService(service: ServiceDefinition): RateLimitServiceDefinition {
  const method = service.ShouldRateLimit;
  if (method === undefined) throw new Error('proto/ has no method ShouldRateLimit');
  const { path: methodPath, requestStream, responseStream, responseDeserialize } = method;
  return {
    ShouldRateLimit: {
      path: methodPath,
      requestStream,
      responseStream,
      requestSerialize: (request) => method.requestSerialize(toBytesRequest(request)),
      responseDeserialize: (bytes) => responseDeserialize(bytes) as WireResponse,
    },
  };
}

function toBytesRequest({ domain = '', descriptors = [], ...rest }: WireRequest): BytesRequest {
  return { ...rest, domain: Buffer.from(domain, 'latin1'), descriptors: descriptors.map(toBytesDescriptor) };
}

function toBytesDescriptor({ entries = [], ...rest }: WireDescriptor): BytesDescriptor {
  return {
    ...rest,
    entries: entries.map(({ key = '', value = '' }) => ({ key: Buffer.from(key, 'latin1'), value: Buffer.from(value, 'latin1') })),
  };
}
