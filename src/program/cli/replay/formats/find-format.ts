/** Finds the format of a log from its first line. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';
import type { LogFormat } from './log-formats';
import { AccessLogReader } from './access-log';
import { separatorOf } from './csv';
import { isObject, parseLine } from './json';

/** Undefined: the line is of no format. */
export function findFormat(text: ByteString, start: number, end: number): LogFormat | undefined {
  const json = parseLine(text, start, end);
  if (isObject(json)) {
    if (typeof json.domain === 'string' && Array.isArray(json.descriptors)) return 'decisions';
    return 'start_time' in json && !('time' in json) ? 'envoy' : 'json';
  }
  for (const form of ['envoy', 'combined'] as const)
    if (new AccessLogReader(form, []).read(text, start, end, []) === undefined) return form;
  const line = text.slice(start, end);
  return /^[^\0-\x08\x0e-\x1f{[]+$/.test(line) && line.includes(String.fromCharCode(separatorOf(line))) ? 'csv' : undefined;
}
