/** The short way to read a tenant's text reads what JSON and the checks of records read. */

import { keyOf, RECORD_BOUNDS, type TenantRecord } from '../../../src/state/control/control-record';
import { readLine, writeLine } from '../../../src/state/control/file/control-line';
import { fromText, readRecord, toText } from '../../../src/state/control/read-record';
import { readTenantText } from '../../../src/state/control/tenant-text';
import { randomFrom, seeded, type Random } from '../../support/random/random';

const NAMES = [
  'm',
  'merchant_42',
  'a/b c',
  'müller',
  'a"b',
  'back\\slash',
  'line\nfeed',
  'x'.repeat(255),
  'x'.repeat(256),
  '{}',
  'é'.repeat(128),
];
const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)]!;

function randomTenant(random: Random): TenantRecord {
  return {
    kind: 'tenant',
    domain: pick(random, NAMES),
    ...(random(4) === 0 && { untilMs: 1.9e12 + random(1e6) }),
    ...(random(2) === 0 && { reason: pick(random, ['', 'contract 17', ...NAMES]) }),
    ...(random(2) === 0 && { author: pick(random, ['ann', ...NAMES]) }),
    ...(random(2) === 0 && { createdAtMs: 1.7e12 + random(1e9) }),
    tenant: pick(random, NAMES),
    plan: pick(random, NAMES),
  };
}

/** Undefined: it is no record. */
function read(text: string): unknown {
  try {
    return readRecord(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const MARKS = ['"', '\\', ',', '{', '}', ':', ' ', '\n', 'é', '\u{d800}', '0', '9', 'Z', ''];

/** The text with one character replaced, removed or repeated. */
function changed(text: string, random: Random): string {
  const at = random(text.length);
  const until = random(3) === 0 ? at : at + 1;
  return text.slice(0, at) + pick(random, MARKS) + text.slice(until);
}

test('random tenants, and texts with a changed character: what it reads is what JSON and the checks of records make of the text', () => {
  const { numRuns, seed } = seeded(20_000);
  const random = randomFrom({ seed });
  let taken = 0;
  for (let run = 0; run < numRuns; run += 1) {
    const text = toText(randomTenant(random));
    for (const each of [text, changed(text, random)]) {
      const record = readTenantText(each);
      if (record === undefined) continue;
      taken += 1;
      expect(record).toEqual(read(each));
    }
  }
  expect(taken).toBeGreaterThan(0);
});

const TENANT: TenantRecord = { kind: 'tenant', domain: 'shop', author: 'ann', createdAtMs: 1.7e12, tenant: 'merchant_42', plan: 'gold' };

test('it reads a tenant as the service writes it, and leaves one with an end, or with too long a name', () => {
  expect(readTenantText(toText(TENANT))).toEqual(TENANT);
  expect(readTenantText(toText({ ...TENANT, untilMs: 1.9e12 }))).toBeUndefined();
  expect(fromText(toText({ ...TENANT, untilMs: 1.9e12 }))).toEqual({ ...TENANT, untilMs: 1.9e12 });
  const long = toText({ ...TENANT, tenant: 'x'.repeat(RECORD_BOUNDS.nameBytes + 1) });
  expect(readTenantText(long)).toBeUndefined();
  expect(() => fromText(long)).toThrow('tenant has 256 bytes');
});

test('a line of a control file with one tenant is read as other lines are', () => {
  const line = { version: 1.7e15, atMs: 5, changes: [{ key: keyOf(TENANT), version: 1.7e15, record: TENANT }], audit: [] };
  const two = { ...line, changes: [...line.changes, ...line.changes] };
  const withId = { ...line, id: 'a', digest: 'b' };
  for (const entry of [line, two, withId]) expect(readLine(writeLine(entry))).toEqual(entry);
});
