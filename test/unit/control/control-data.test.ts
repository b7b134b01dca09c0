/** The index of control data selects the records that a search of all records selects. */

import { ControlData } from '../../../src/state/control/control-data';
import {
  fieldOf,
  keyOf,
  type ControlRecord,
  type RecordKey,
  type SelectorRecord,
  type StoredRecord,
  isSelector,
} from '../../../src/state/control/control-record';
import { atOnce } from '../../../src/lib/slices';
import type { Entry } from '../../../src/domain/descriptor/descriptor';
import type { Selection } from '../../../src/domain/rule/control-view';
import { randomFrom, seeded, type Random } from '../../support/random/random';

const LIMIT = { requestsPerUnit: 5, unit: 'minute' } as const;

const put = (data: ControlData, record: ControlRecord, version: number) => {
  data.apply({ key: keyOf(record), record, version });
};

function textOf(key: RecordKey): string {
  return `${key.kind} ${fieldOf(key)}`;
}

/** The naive model: a map, and a look at all of it. */
class Model {
  readonly records = new Map<string, StoredRecord>();

  apply(key: RecordKey, stored: StoredRecord | undefined): void {
    if (stored === undefined) this.records.delete(textOf(key));
    else this.records.set(textOf(key), stored);
  }

  expire(nowUs: number): void {
    for (const [text, { record }] of this.records)
      if (record.untilMs !== undefined && record.untilMs * 1_000 <= nowUs) this.records.delete(text);
  }

  planOf(domain: string, tenant: string): string | undefined {
    const stored = this.records.get(textOf({ kind: 'tenant', domain, name: tenant }));
    return stored?.record.kind === 'tenant' ? stored.record.plan : undefined;
  }

  /** The ids of the block, of the pass, and of the overrides in order. */
  select(domain: string, entries: readonly Entry[]) {
    const found = [...this.records.values()].flatMap(({ record, version }) => {
      if (!isSelector(record) || record.domain !== domain) return [];
      const isSelected = record.entries.every(({ key, value }) =>
        entries.some((entry) => entry.key === key && (value === undefined || entry.value === value)),
      );
      return isSelected ? [{ record, version }] : [];
    });
    const values = ({ entries: of }: SelectorRecord) => of.filter(({ value }) => value !== undefined).length;
    const ends = found
      .map(({ record }) => record)
      .sort((a, b) => (b.untilMs ?? Infinity) - (a.untilMs ?? Infinity) || (a.id < b.id ? -1 : 1));
    const overrides = found
      .filter(({ record }) => record.kind === 'override')
      .sort(
        (a, b) =>
          b.record.entries.length - a.record.entries.length ||
          values(b.record) - values(a.record) ||
          b.version - a.version ||
          (a.record.id < b.record.id ? -1 : 1),
      );
    const first = (kind: string) => ends.find((record) => record.kind === kind)?.id;
    return { block: first('block'), pass: first('pass'), overrides: overrides.map(({ record }) => record.id) };
  }
}

function idsOf(selection: Selection | undefined) {
  return { block: selection?.block?.id, pass: selection?.pass?.id, overrides: selection?.overrides.map(({ id }) => id) ?? [] };
}

const DOMAINS = ['d', 'é'];
const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)]!;

function randomEntries(random: Random): Entry[] {
  return Array.from({ length: 1 + random(4) }, () => ({ key: pick(random, ['a', 'b', 'c']), value: pick(random, ['1', '2', '3']) }));
}

function randomRecord(random: Random, nowMs: number): ControlRecord {
  const domain = pick(random, DOMAINS);
  const until = random(3) === 0 ? { untilMs: nowMs + random(50) } : {};
  const kind = pick(random, ['tenant', 'plan', 'override', 'block', 'pass', 'rollout'] as const);
  if (kind === 'tenant') return { kind, domain, ...until, tenant: `t${random(30)}`, plan: pick(random, ['free', 'gold', 'grün']) };
  if (kind === 'plan')
    return { kind, domain, ...until, plan: pick(random, ['free', 'gold']), limits: [{ ...LIMIT, requestsPerUnit: random(9) }] };
  if (kind === 'rollout') return { kind, domain, rule: `r${random(5)}`, by: 'a', percent: random(101) };
  const entries = randomEntries(random)
    .filter(({ key }, i, all) => all.findIndex((other) => other.key === key) === i)
    .map(({ key, value }) => (random(3) === 0 ? { key } : { key, value }));
  const selector = { domain, ...until, id: `i${random(12)}`, entries };
  return kind === 'override' ? { kind, ...selector, limit: LIMIT } : { kind, ...selector };
}

test('random changes and expiries: the same records decide as in a model', () => {
  const { numRuns, seed } = seeded(800);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    const data = new ControlData();
    const model = new Model();
    let nowMs = 1_000;
    for (let version = 1; version <= 60; version += 1) {
      const record = randomRecord(random, nowMs + 1);
      const key = keyOf(record);
      const isDelete = random(4) === 0;
      data.apply({ key, version, ...(!isDelete && { record }) });
      model.apply(key, isDelete ? undefined : { record, version });
      nowMs += random(5);
      while (data.expire(nowMs * 1_000));
      model.expire(nowMs * 1_000);
      for (const domain of DOMAINS.map((name) => Buffer.from(name).toString('latin1'))) {
        const entries = randomEntries(random);
        expect(idsOf(data.select(domain, entries))).toEqual(model.select(Buffer.from(domain, 'latin1').toString(), entries));
      }
      const tenant = `t${random(30)}`;
      const plan = model.planOf('é', tenant);
      expect(data.planOf('Ã©', tenant)).toBe(plan && Buffer.from(plan).toString('latin1'));
    }
    expect(data.size).toBe(model.records.size);
    for (const { record, version } of model.records.values()) expect(data.get(keyOf(record))).toEqual({ record, version });
    for (const { record } of model.records.values()) data.apply({ key: keyOf(record), version: 1_000 });
    expect(data.size).toBe(0);
    expect(data.nextExpiryUs).toBeUndefined();
  }
});

const block = (id: string, parts: Partial<SelectorRecord> = {}): ControlRecord =>
  ({ kind: 'block', domain: 'd', id, entries: [{ key: 'k', value: id }], ...parts }) as ControlRecord;
const blocked = (data: ControlData, value: string) => data.select('d', [{ key: 'k', value }])?.block?.id;

test('the version grows with each change and each expiry, and stays otherwise', () => {
  const data = new ControlData();
  const versions = [data.version];
  const record = block('a', { untilMs: 5 });
  for (const act of [
    () => {
      put(data, record, 1);
    },
    () => {
      put(data, record, 1);
    },
    () => data.expire(4_999),
    () => data.expire(5_000),
    () => {
      data.apply({ key: keyOf(record), version: 2 });
    },
  ]) {
    act();
    versions.push(data.version);
  }
  expect(versions).toEqual([0, 1, 1, 1, 2, 2]);
});

test('an older change is ignored', () => {
  const data = new ControlData();
  put(data, block('a'), 5);
  data.apply({ key: keyOf(block('a')), version: 4 });
  expect(blocked(data, 'a')).toBe('a');
  data.apply({ key: keyOf(block('a')), version: 6 });
  expect(blocked(data, 'a')).toBeUndefined();
});

test('a snapshot drops what it lacks, and keeps what the store acknowledged and lost', () => {
  const data = new ControlData();
  put(data, block('kept'), 3);
  put(data, block('deleted'), 4);
  put(data, block('lost'), 9);
  put(data, { kind: 'tenant', domain: 'd', tenant: 't', plan: 'gold' }, 8);
  data.beginSnapshot();
  put(data, block('kept'), 3);
  atOnce(data.endSnapshot(5));
  expect(['kept', 'deleted', 'lost'].map((id) => blocked(data, id))).toEqual(['kept', undefined, 'lost']);
  expect(data.planOf('d', 't')).toBe('gold');
  expect(data.lost).toBe(2);
  // Written again, it is lost no more.
  put(data, block('lost'), 10);
  expect(data.lost).toBe(1);
  atOnce(data.discardLost(7));
  expect(data.lost).toBe(1);
  atOnce(data.discardLost(8));
  expect(data.lost).toBe(0);
  expect(data.planOf('d', 't')).toBeUndefined();
});

test('a snapshot that confirms every record drops none, and one that misses a single record drops it', () => {
  const data = new ControlData();
  const records = ['a', 'b', 'c'].map((id) => block(id));
  const tenant = { kind: 'tenant', domain: 'd', tenant: 't', plan: 'gold' } as const;
  const all: readonly ControlRecord[] = [...records, tenant];
  const readAgain = (seen: readonly ControlRecord[]) => {
    data.beginSnapshot();
    for (const record of seen) put(data, record, 1);
    atOnce(data.endSnapshot(Infinity));
  };
  readAgain(all);
  expect(data.size).toBe(4);
  readAgain(all);
  expect(data.size).toBe(4);
  // Deleted while all is read, before and after it was confirmed.
  data.beginSnapshot();
  data.apply({ key: keyOf(records[0]!), version: 2 });
  for (const record of all.slice(1)) put(data, record, 1);
  data.apply({ key: keyOf(records[1]!), version: 2 });
  atOnce(data.endSnapshot(Infinity));
  expect(data.size).toBe(2);
  readAgain(records.slice(2));
  expect(data.size).toBe(1);
  expect(data.planOf('d', 't')).toBeUndefined();
});

test('an older record of the snapshot does not replace a newer one that the store lost', () => {
  const data = new ControlData();
  put(data, block('a', { reason: 'new' }), 9);
  data.beginSnapshot();
  put(data, block('a', { reason: 'old' }), 2);
  atOnce(data.endSnapshot(5));
  expect(data.get(keyOf(block('a')))?.record.reason).toBe('new');
  expect(data.lost).toBe(1);
});

test('after a snapshot that was broken off, the next one drops what only the first one saw', () => {
  const data = new ControlData();
  put(data, block('a'), 1);
  data.beginSnapshot();
  put(data, block('a'), 1);
  data.beginSnapshot();
  atOnce(data.endSnapshot(Infinity));
  expect(data.size).toBe(0);
});

test('records are spread over the entries that fewest records share', () => {
  const data = new ControlData();
  for (let i = 0; i < 1_000; i += 1)
    put(
      data,
      block(`${i}`, {
        entries: [
          { key: 'endpoint', value: '/pay' },
          { key: 'merchant', value: `${i}` },
        ],
      }),
      i + 1,
    );
  expect(
    data.crowd(
      block('x', {
        entries: [
          { key: 'endpoint', value: '/pay' },
          { key: 'merchant', value: 'x' },
        ],
      }) as SelectorRecord,
    ),
  ).toBe(0);
  expect(data.crowd(block('x', { entries: [{ key: 'endpoint', value: '/pay' }] }) as SelectorRecord)).toBe(1);
});

test('ten thousand records that end at once are expired in parts', () => {
  const data = new ControlData();
  for (let i = 0; i < 10_000; i += 1) put(data, block(`${i}`, { untilMs: 1 }), i + 1);
  expect(data.nextExpiryUs).toBe(1_000);
  expect(data.expire(1_000)).toBe(true);
  expect(data.size).toBe(9_950);
  while (data.expire(1_000));
  expect(data.size).toBe(0);
});

test('what has ended decides nothing while the rest is still being dropped: blocks, plans and tenants', () => {
  const data = new ControlData();
  for (let i = 0; i < 200; i += 1) put(data, block(`a${i}`, { untilMs: 1 }), i + 1);
  put(data, block('last', { untilMs: 2 }), 300);
  put(data, { kind: 'plan', domain: 'd', plan: 'gold', limits: [], untilMs: 2 }, 301);
  put(data, { kind: 'tenant', domain: 'd', tenant: 'é', plan: 'gold', untilMs: 2 }, 302);
  put(data, { kind: 'tenant', domain: 'd', tenant: 'stays', plan: 'gold', untilMs: 3 }, 303);
  const tenant = Buffer.from('é').toString('latin1');
  expect([data.planOf('d', tenant), data.planOf('d', 'stays'), data.planLimits('d', 'gold')]).toEqual(['gold', 'gold', []]);
  const { version } = data;
  expect(data.expire(2_000)).toBe(true);
  expect(data.version).toBeGreaterThan(version);
  expect(data.size).toBe(154);
  expect([data.planOf('d', tenant), data.planOf('d', 'stays'), data.planLimits('d', 'gold')]).toEqual([undefined, 'gold', undefined]);
  expect(data.select('d', [{ key: 'ip', value: 'last' }])).toBeUndefined();
  while (data.expire(2_000));
  expect(data.size).toBe(1);
  expect(data.planOf('d', 'stays')).toBe('gold');
});
