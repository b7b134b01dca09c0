/** The codec of grpc.health.v1. */

import { FIELDS_MAX } from '../../../domain/descriptor/descriptor-bounds';
import { LENGTH_DELIMITED, WireReader } from './wire-reader';
import { WireWriter } from './wire-writer';

/** The tag of `HealthCheckRequest.service`, and the field numbers of the answers, from proto/. */
const SERVICE_TAG = (1 << 3) | LENGTH_DELIMITED;
const CHECK = { status: 1 } as const;
const LIST = { statuses: 1 } as const;
const MAP = { key: 1, value: 2 } as const;

/** Shared, because coding is synchronous. */
const reader = new WireReader(FIELDS_MAX);
const writer = new WireWriter();

/**
 * The service in a HealthCheckRequest, as a byte string.
 *
 * @throws MalformedError or TooManyFieldsError
 */
export function decodeHealthCheck(message: Buffer): string {
  reader.begin(message.toString('latin1'));
  let service = '';
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === SERVICE_TAG) service = reader.text();
    else reader.skip(tag);
  }
  return service;
}

/** A HealthCheckResponse with the number of a `ServingStatus`. */
export function encodeHealth(status: number): Buffer {
  writer.reset();
  writer.number(CHECK.status, status);
  return Buffer.from(writer.bytes());
}

/** A HealthListResponse in which every service has this status. */
export function encodeHealthList(services: readonly string[], status: number): Buffer {
  writer.reset();
  for (const service of services) {
    const entry = writer.begin(LIST.statuses);
    writer.text(MAP.key, service);
    const value = writer.begin(MAP.value);
    writer.number(CHECK.status, status);
    writer.end(value);
    writer.end(entry);
  }
  return Buffer.from(writer.bytes());
}
