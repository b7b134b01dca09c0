/** Loads the messages of xDS and its method from proto/. */

import * as path from 'node:path';
import type { MethodDefinition } from '@grpc/grpc-js';
import { Root, type Type } from 'protobufjs';
import { PACKAGE_ROOT } from '../../../lib/package-root';
import { configDecoder, type DecodeConfig } from './decode-config';
import { responseDecoder } from './decode-response';
import { decode } from './fields';
import type { WireDiscoveryRequest, WireDiscoveryResponse } from './wire';

// The same path from src/ and from dist/.
const PROTO_DIR = path.join(PACKAGE_ROOT, 'proto');

const PROTO_FILES = ['envoy/service/discovery/v3/ads.proto', 'ratelimit/config/ratelimit/v3/rls_conf.proto'];

export const RATE_LIMIT_CONFIG_TYPE = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';

export interface XdsProto {
  readonly stream: MethodDefinition<WireDiscoveryRequest, WireDiscoveryResponse>;
  readonly decodeConfig: DecodeConfig;
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
      responseDeserialize: responseDecoder(response),
    },
    decodeConfig: configDecoder({ config, descriptor }),
  };
}

function encode(type: Type, message: object): Buffer {
  return Buffer.from(type.encode(type.fromObject(message as Record<string, unknown>)).finish());
}
