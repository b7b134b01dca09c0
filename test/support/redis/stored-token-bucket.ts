/** A token bucket as Redis holds it, for a test to read: `used rest at_us`. */

import { RESP_TYPES } from '@redis/client';
import { TEN_PER_SECOND } from '../decisions/groups';
import type { TestClient } from './redis-store';

const TIME_BYTES = 7;
const LENGTHS: readonly number[] = [12, 14];

/** `null` if there is no such key, and the text itself of one that holds a text. */
export async function storedTokenBucket(client: TestClient, key: string, { windowUs } = TEN_PER_SECOND): Promise<string | null> {
  const value = await client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get(key);
  if (value === null) return null;
  if (!LENGTHS.includes(value.length)) return value.toString();
  const atUs = wholeOf(value.subarray(0, TIME_BYTES));
  const level = wholeOf(value.subarray(TIME_BYTES));
  const used = Math.ceil(level / windowUs);
  return `${used} ${used * windowUs - level} ${atUs}`;
}

function wholeOf(bytes: Buffer): number {
  return Number(`0x${bytes.toString('hex')}`);
}
