/** What the service refuses before it writes control data. */

import { RECORD_BOUNDS, RECORD_BYTES_MAX, type BlockRecord } from '../../../src/state/control/control-record';
import { LocalControlStore } from '../../../src/state/control/local-control-store';
import { readRecord, toText } from '../../../src/state/control/read-record';
import { instanceOn } from '../../support/control/control-harness';

const NOW_US = 1_800_000_000_000_000;

/** A block whose fields are as long as each may be, and whose text JSON makes longer still. */
function longest(entries: number): BlockRecord {
  const { keyBytes, valueBytes, reasonBytes, idChars, domainBytes } = RECORD_BOUNDS;
  return readRecord({
    kind: 'block',
    domain: '"'.repeat(domainBytes),
    id: 'i'.repeat(idChars),
    reason: '"'.repeat(reasonBytes),
    entries: Array.from({ length: entries }, (_, i) => ({ key: `${i}`.padEnd(keyBytes, '"'), value: '"'.repeat(valueBytes) })),
  }) as BlockRecord;
}

test('a record has a bound in bytes, whatever its fields may have', async () => {
  const { service, close } = instanceOn(new LocalControlStore({ nowUs: () => NOW_US }), { nowUs: () => NOW_US });
  const write = (put: BlockRecord) => service.write({ changes: [{ put }], audit: { author: 'ann', action: 'put' } });
  expect(await write(longest(3))).toMatchObject({ kind: 'written' });
  const long = longest(RECORD_BOUNDS.entries);
  expect(Buffer.byteLength(toText(long))).toBeGreaterThan(3 * RECORD_BYTES_MAX);
  await expect(write(long)).rejects.toThrow(`bytes; at most ${RECORD_BYTES_MAX} are allowed`);
  await close();
});
