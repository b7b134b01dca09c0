/** A valid record reads back as it was written, and an invalid value is refused with its field. */

import { fieldOf, keyOf, parseField, RECORD_BOUNDS } from '../../../src/state/control/control-record';
import { checkNotEnded, fromText, readRecord, toJson, toText } from '../../../src/state/control/read-record';

const OVERRIDE = {
  kind: 'override',
  domain: 'shop',
  id: 'black-friday.1',
  entries: [{ key: 'merchant', value: 'müller' }, { key: 'endpoint' }],
  limit: { name: 'per-merchant', requests_per_unit: 300, unit: 'minute', unit_multiplier: 2, burst: 10 },
  until: '2030-01-31T12:00:00.000Z',
  reason: 'contract 17',
  author: 'ann',
  created_at: '2026-01-31T12:00:00.000Z',
};

const VALID = [
  OVERRIDE,
  { kind: 'tenant', domain: 'shop', tenant: 'a/b c', plan: 'free' },
  { kind: 'plan', domain: 'shop', plan: 'free', limits: [{ requests_per_unit: 0, unit: 'day' }] },
  { kind: 'block', domain: 'shop', id: 'b', entries: [{ key: 'ip', value: '' }] },
  { kind: 'pass', domain: 'shop', id: 'p', entries: [{ key: 'ip', value: '::1' }], until: '2030-01-31T12:00:00.000Z' },
  { kind: 'rollout', domain: 'shop', rule: 'path_/payment.client', percent: 0, stopped: true },
  { kind: 'rollout', domain: 'shop', rule: 'plan/free', by: 'client', percent: 33.33, stop_if: { denied_above: '0.5%', for: '90s' } },
  { ...OVERRIDE, candidate: true, rollout: { by: 'client', percent: 10, stop_if: { denied_above: '2%', for: '5m' } } },
];

test.each(VALID)('$kind: it is read, and written as it was', (json) => {
  const record = readRecord(json);
  expect(toJson(record)).toEqual(json);
  expect(fromText(toText(record))).toEqual(record);
  const { kind, ...key } = keyOf(record);
  expect(kind).toBe(json.kind);
  expect(parseField(fieldOf(key))).toEqual(key);
});

const block = (parts: object) => ({ kind: 'block', domain: 'd', id: 'x', entries: [{ key: 'k' }], ...parts });
const limited = (limit: object) => ({ ...block({ kind: 'override' }), limit: { requests_per_unit: 1, unit: 'second', ...limit } });

const rollout = (parts: object) => ({ kind: 'rollout', domain: 'd', rule: 'k', percent: 10, ...parts });

test.each([
  ['rule', rollout({ rule: undefined })],
  ['percent', rollout({ percent: 101 })],
  ['percent', rollout({ percent: 0.125 })],
  ['percent', rollout({ percent: '10' })],
  ['until', rollout({ until: '2030-01-31T12:00:00Z' })],
  ['stop_if.denied_above', rollout({ stop_if: { denied_above: '0%', for: '5m' } })],
  ['stop_if.for', rollout({ stop_if: { denied_above: '2%', for: '25h' } })],
  ['rollout', { ...OVERRIDE, rollout: { by: 'k', percent: 10 } }],
  ['rollout.by', { ...OVERRIDE, candidate: true, rollout: { percent: 10 } }],
  ['record', []],
  ['record', 'text'],
  ['kind', block({ kind: 'ban' })],
  ['limit', block({ limit: {} })],
  ['domain', block({ domain: '' })],
  ['domain', block({ domain: 'é'.repeat(RECORD_BOUNDS.domainBytes / 2 + 1) })],
  ['id', block({ id: undefined })],
  ['id', block({ id: 'a b' })],
  ['id', block({ id: 'x'.repeat(65) })],
  ['entries', block({ entries: [] })],
  ['entries', block({ entries: Array.from({ length: 17 }, (_, i) => ({ key: `k${i}` })) })],
  ['entries[0].key', block({ entries: [{ value: 'v' }] })],
  ['entries[0].key', block({ entries: [{ key: 'x'.repeat(257) }] })],
  ['entries[0].value', block({ entries: [{ key: 'k', value: 'x'.repeat(1025) }] })],
  ['entries[0].value', block({ entries: [{ key: 'k', value: 3 }] })],
  ['entries[0].value', block({ entries: [{ key: 'k', value: '\ud800' }] })],
  ['entries[0].wert', block({ entries: [{ key: 'k', wert: 'v' }] })],
  ['entries[1]', block({ entries: [{ key: 'k' }, { key: 'k' }] })],
  ['until', block({ until: 'tomorrow' })],
  ['until', block({ until: 1_900_000_000 })],
  ['until', block({ until: '2030-13-31T12:00:00Z' })],
  ['reason', block({ reason: 'x'.repeat(201) })],
  ['author', block({ author: 'x'.repeat(65) })],
  ['created_at', block({ created_at: 'x' })],
  ['limit', { ...block({ kind: 'override' }) }],
  ['limit.requests_per_unit', limited({ requests_per_unit: -1 })],
  ['limit.requests_per_unit', limited({ requests_per_unit: 2 ** 53 })],
  ['limit.requests_per_unit', limited({ requests_per_unit: '5' })],
  ['limit.unit', limited({ unit: 'fortnight' })],
  ['limit.unit_multiplier', limited({ unit_multiplier: 0 })],
  ['limit.unit_multiplier', limited({ unit_multiplier: 2 ** 32 })],
  ['limit.unit_multiplier', limited({ unit: 'year', unit_multiplier: 101 })],
  ['limit.burst', limited({ burst: 1.5 })],
  ['limit.algorithm', limited({ algorithm: 'x' })],
  ['tenant', { kind: 'tenant', domain: 'd', plan: 'p' }],
  ['plan', { kind: 'tenant', domain: 'd', tenant: 't' }],
  ['limits', { kind: 'plan', domain: 'd', plan: 'p', limits: [] }],
  ['limits[0]', { kind: 'plan', domain: 'd', plan: 'p', limits: [5] }],
])('%s is refused: %j', (field, json) => {
  expect(() => readRecord(json)).toThrow(expect.objectContaining({ field }) as Error);
});

test('a record that has ended is refused', () => {
  const record = readRecord(OVERRIDE);
  expect(() => {
    checkNotEnded(record, record.untilMs!);
  }).toThrow('until must be in the future');
  expect(() => {
    checkNotEnded(record, record.untilMs! - 1);
  }).not.toThrow();
});

test('a text that is not a record is refused', () => {
  expect(() => fromText('{')).toThrow('record is not JSON');
});
