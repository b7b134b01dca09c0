/** Finds the format of a log from its first line. */

import type { LogFormat } from '../mapping/log-mapping';
import { AccessLogReader } from './access-log';
import { separatorOf } from './csv';
import { isObject, parseBytes } from './json';

/** Undefined: the line is of no format. */
export function findFormat(bytes: Buffer, start: number, end: number): LogFormat | undefined {
  const json = parseBytes(bytes, start, end);
  if (isObject(json)) {
    if (typeof json['domain'] === 'string' && Array.isArray(json['descriptors'])) return 'decisions';
    return 'start_time' in json && !('time' in json) ? 'envoy' : 'json';
  }
  for (const form of ['envoy', 'combined'] as const)
    if (new AccessLogReader(form, []).read(bytes, start, end, []) === undefined) return form;
  const line = bytes.toString('latin1', start, end);
  return /^[^\0-\x08\x0e-\x1f{[]+$/.test(line) && line.includes(String.fromCharCode(separatorOf(line))) ? 'csv' : undefined;
}
