/** The block of a penalty, as a record of control data. */

import { createHash } from 'node:crypto';
import { PENALTY_ID_START, RECORD_BOUNDS, type BlockRecord } from '../control/control-record';
import { readRecord, toText as toRecordText } from '../control/read-record';
import { toByteString, toText } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import { BLOCK_BYTES_MAX, type PenaltyBlock } from './penalties';

/** The author of blocks by penalty. */
export const PENALTY_AUTHOR = 'weir';

/**
 * Undefined if a record cannot name the entries: their bytes are not UTF-8, or there are too many or too long ones. The same rule and entries have the
 * same id, so all instances write one record.
 */
export function penaltyRecord({ domain, path, entries, penalty }: PenaltyBlock, nowMs: number): BlockRecord | undefined {
  const named = entries.map(({ key, value }) => ({ key: toText(key), ...(value !== undefined && { value: toText(value) }) }));
  if (entries.some(({ key, value = '' }) => !isText(key) || !isText(value))) return undefined;
  const { denials, withinS, blockS } = penalty;
  const digest = createHash('sha256')
    .update(JSON.stringify([path, entries]))
    .digest('hex');
  const record = {
    kind: 'block',
    domain: toText(domain),
    id: `${PENALTY_ID_START}${digest.slice(0, 24)}`,
    entries: named,
    until: new Date(nowMs + blockS * 1_000).toISOString(),
    reason: shorten(`penalty: ${denials} denials within ${withinS} s by the rule ${path.join('.')}`),
  };
  try {
    const read = readRecord(record);
    return read.kind === 'block' && Buffer.byteLength(toRecordText(read)) <= BLOCK_BYTES_MAX ? read : undefined;
  } catch {
    return undefined;
  }
}

function isText(bytes: ByteString): boolean {
  return toByteString(toText(bytes)) === bytes;
}

/** A character of the path has at most three bytes for each unit. */
function shorten(text: string): string {
  return Buffer.byteLength(text) <= RECORD_BOUNDS.reasonBytes ? text : `${text.slice(0, Math.floor(RECORD_BOUNDS.reasonBytes / 3) - 1)}…`;
}
