/** Decodes a DiscoveryResponse, with at most one resource beyond the bound. */

import { Reader, type Type } from 'protobufjs';
import { decode, skipValue, tagOf } from './fields';
import type { WireDiscoveryResponse } from './wire';

export const RESOURCES_MAX = 4096;

/** Keeps RESOURCES_MAX + 1 resources, enough to detect the excess: 2 million empty ones fit into 4 MiB. */
export function responseDecoder(type: Type): (bytes: Uint8Array) => WireDiscoveryResponse {
  const resourcesTag = tagOf(type, 'resources');
  return (bytes) => decode(type, withoutSurplus(bytes, resourcesTag));
}

function withoutSurplus(bytes: Uint8Array, resourcesTag: number): Uint8Array {
  const reader = Reader.create(bytes);
  const kept: Uint8Array[] = [];
  let resources = 0;
  let start = 0;
  while (reader.pos < reader.len) {
    const at = reader.pos;
    const tag = reader.uint32();
    skipValue(reader, tag);
    if (tag !== resourcesTag) continue;
    resources += 1;
    if (resources <= RESOURCES_MAX + 1) continue;
    if (at > start) kept.push(bytes.subarray(start, at));
    start = reader.pos;
  }
  return start === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(start)]);
}
