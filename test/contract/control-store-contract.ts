/** What every store of control data does, whatever it keeps them in. */

import { keyOf, RECORDS_MAX, type ControlRecord, type RecordBounds, type TenantRecord } from '../../src/state/control/control-record';
import {
  CHANGES_MAX,
  ENDED_GRACE_MS,
  WRITE_ID_MS,
  type AuditEntry,
  type AuditQuery,
  type ControlStore,
  type Position,
  type WriteOutcome,
} from '../../src/state/control/control-store';

export interface OpenedControlStore {
  readonly store: ControlStore;
  readonly setNow: (nowUs: number) => Promise<void>;
}

const START_US = 1_800_000_000_000_000;
const START_MS = START_US / 1_000;
const audit = { author: 'ann', action: 'put', reason: 'ticket 7' };

const tenant = (name: string, plan = 'gold', untilMs?: number): TenantRecord => ({
  kind: 'tenant',
  domain: 'd',
  tenant: name,
  plan,
  ...(untilMs !== undefined && { untilMs }),
});
const block: ControlRecord = { kind: 'block', domain: 'd/é', id: 'b', entries: [{ key: 'ip', value: '::1' }], reason: 'abuse' };

const penalty = (number: number, untilMs: number): ControlRecord => ({
  kind: 'block',
  domain: 'd',
  id: `penalty-${number}`,
  entries: [{ key: 'ip', value: `${number}` }],
  untilMs,
});

/** A write of 20 KB leaves the fewest writes in the log. */
const LOG_BYTES = 262_144;

/** Small ones, so that a test can fill a store, and more than a write removes at once. */
const PENALTIES = 300;
const PLANS = 450;
export const SMALL_BOUNDS: RecordBounds = {
  records: { ...RECORDS_MAX, plan: PLANS, block: 2 * PENALTIES },
  penalties: PENALTIES,
  logBytes: LOG_BYTES,
};

/** Puts records in writes of the most changes; resolves to the last outcome. */
async function putAll(
  store: ControlStore,
  { count, make, trail }: { readonly count: number; readonly make: (number: number) => ControlRecord; readonly trail?: 'penalties' },
): Promise<WriteOutcome | undefined> {
  let outcome: WriteOutcome | undefined;
  for (let at = 0; at < count; at += CHANGES_MAX) {
    const length = Math.min(CHANGES_MAX, count - at);
    const changes = Array.from({ length }, (_, i) => ({ put: make(at + i) }));
    outcome = await store.write({ changes, audit, ...(trail && { trail }) });
  }
  return outcome;
}

function versionOf(outcome: WriteOutcome): number {
  if (outcome.kind !== 'written') throw new Error(`not written: ${outcome.kind}`);
  return outcome.version;
}

async function allAudit(
  store: ControlStore,
  order: 'newest' | 'oldest',
  { limit = 2, trail }: Partial<AuditQuery> = {},
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  let after: string | undefined;
  do {
    const { entries, next } = await store.audit({ order, limit, ...(after !== undefined && { after }), ...(trail && { trail }) });
    found.push(...entries);
    after = next;
  } while (after !== undefined);
  return found;
}

export function describeControlStore(name: string, open: (nowUs: number) => Promise<OpenedControlStore>): void {
  describe(name, () => {
    let store: ControlStore;
    let setNow: OpenedControlStore['setNow'];

    beforeEach(async () => {
      ({ store, setNow } = await open(START_US));
    });

    afterEach(async () => {
      await store.close();
    });

    test('what is written is read, scanned, and in the log', async () => {
      expect(await store.changesAfter(undefined)).toMatchObject({ kind: 'empty', nowUs: START_US, discardedUpTo: 0 });
      const version = versionOf(await store.write({ changes: [{ put: tenant('t') }, { put: block }], audit }));
      expect(version).toBe(START_US);
      expect(await store.read([keyOf(block), keyOf(tenant('t')), keyOf(tenant('u'))])).toEqual([
        { record: block, version },
        { record: tenant('t'), version },
        undefined,
      ]);
      expect(await store.scan({ kind: 'block', limit: 10 })).toEqual({ records: [{ record: block, version }] });
      const answer = await store.changesAfter(undefined);
      expect(answer).toMatchObject({ kind: 'gap', common: 0, position: { version } });
      if (answer.kind !== 'gap') throw new Error('no gap');
      await store.write({ changes: [{ delete: keyOf(block) }], audit });
      expect(await store.changesAfter(answer.position)).toMatchObject({
        kind: 'changes',
        isLast: true,
        changes: [{ key: keyOf(block), version: START_US + 1 }],
        position: { epoch: answer.position.epoch, version: START_US + 1 },
      });
      expect(await store.read([keyOf(block)])).toEqual([undefined]);
      await store.close();
    });

    test('a rollout is a record like others, and a second writer of one version is refused', async () => {
      const rollout: ControlRecord = { kind: 'rollout', domain: 'd', rule: 'path_/payment.client', by: 'client', percent: 10 };
      const version = versionOf(await store.write({ changes: [{ put: rollout, expect: 'absent' }], audit }));
      expect(await store.scan({ kind: 'rollout', limit: 10 })).toEqual({ records: [{ record: rollout, version }] });
      const step = (percent: number) => store.write({ changes: [{ put: { ...rollout, percent }, expect: version }], audit });
      versionOf(await step(25));
      expect(await step(50)).toMatchObject({ kind: 'conflict', current: { record: { percent: 25 } } });
      expect((await allAudit(store, 'newest'))[0]).toMatchObject({ key: keyOf(rollout), after: { percent: 25 }, before: { percent: 10 } });
    });

    test('large writes shorten the change log, and small ones do not', async () => {
      const positions: Position[] = [];
      const write = async (of: (n: number) => ControlRecord[], writes: number): Promise<void> => {
        for (let n = 0; n < writes; n += 1) {
          await store.write({ changes: of(n).map((put) => ({ put })), audit });
          const { position } = (await store.changesAfter(undefined)) as { position: Position };
          positions.push(position);
        }
      };
      const large = (n: number): ControlRecord[] =>
        Array.from({ length: 20 }, (_, i) => ({ ...block, id: `large-${i}`, entries: [{ key: 'k', value: `${n}${'x'.repeat(1_000)}` }] }));
      await write((n) => [tenant('small', `plan-${n}`)], 60);
      expect(await store.changesAfter(positions[0])).toMatchObject({ kind: 'changes' });
      await write(large, 60);
      // Only trimmed: the follower reads everything again, and lost nothing.
      expect(await store.changesAfter(positions[60])).toMatchObject({ kind: 'gap', common: Infinity });
      expect(await store.changesAfter(positions.at(-15))).toMatchObject({ kind: 'changes' });
    });

    test('each change says what was there, and whether it changed anything', async () => {
      await store.write({ changes: [{ put: tenant('t', 'free') }], audit });
      const outcome = await store.write({ changes: [{ put: tenant('t') }, { put: tenant('u') }, { delete: keyOf(tenant('v')) }], audit });
      expect(outcome).toMatchObject({
        kind: 'written',
        isRepeated: false,
        effects: [
          { key: keyOf(tenant('t')), before: { record: tenant('t', 'free'), version: START_US }, after: tenant('t'), isChanged: true },
          { key: keyOf(tenant('u')), after: tenant('u'), isChanged: true },
          { key: keyOf(tenant('v')), isChanged: false },
        ],
      });
      const again = await store.write({ changes: [{ put: tenant('t') }], audit });
      expect(again).toMatchObject({ version: START_US + 1, effects: [{ isChanged: false }] });
    });

    test('a write whose expectation is not met changes nothing, also before it', async () => {
      const version = versionOf(await store.write({ changes: [{ put: tenant('t') }], audit }));
      const current = { record: tenant('t'), version };
      const tries = await Promise.all(
        (['absent', version + 1] as const).map((expect) =>
          store.write({ changes: [{ put: tenant('u') }, { put: tenant('t', 'free'), expect }], audit }),
        ),
      );
      expect(tries).toEqual([
        { kind: 'conflict', index: 1, current },
        { kind: 'conflict', index: 1, current },
      ]);
      expect(await store.write({ changes: [{ delete: keyOf(tenant('x')), expect: version }], audit })).toEqual({
        kind: 'conflict',
        index: 0,
      });
      expect(await store.read([keyOf(tenant('u'))])).toEqual([undefined]);
      expect(await store.write({ changes: [{ put: tenant('t', 'free'), expect: version }], audit })).toMatchObject({ kind: 'written' });
      expect(await store.write({ changes: [{ put: tenant('n'), expect: 'absent' }], audit })).toMatchObject({ kind: 'written' });
    });

    test('two writers at once: only one of them finds the version that it read', async () => {
      const version = versionOf(await store.write({ changes: [{ put: tenant('t') }], audit }));
      const outcomes = await Promise.all(
        ['a', 'b', 'c'].map((plan) => store.write({ changes: [{ put: tenant('t', plan), expect: version }], audit })),
      );
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['conflict', 'conflict', 'written']);
    });

    test('a restore writes only what the store lacks or has in an older version', async () => {
      await store.write({ changes: [{ put: tenant('t', 'new') }, { put: tenant('u', 'old') }], audit });
      const outcome = await store.write({
        changes: [
          { put: tenant('t', 'older'), expect: { restores: START_US } },
          { put: tenant('u', 'newer'), expect: { restores: START_US + 1 } },
          { put: tenant('v', 'lost'), expect: { restores: 5 } },
        ],
        audit,
      });
      expect(outcome).toMatchObject({ effects: [{ isChanged: false }, { isChanged: true }, { isChanged: true }] });
      const plans = (await store.read(['t', 'u', 'v'].map((of) => keyOf(tenant(of))))).map(
        (stored) => (stored!.record as TenantRecord).plan,
      );
      expect(plans).toEqual(['new', 'newer', 'lost']);
    });

    test('a dry run says the same, and changes nothing', async () => {
      const write = { changes: [{ put: tenant('t') }], audit, id: 'w' };
      const dry = await store.write({ ...write, dryRun: true });
      expect(await store.read([keyOf(tenant('t'))])).toEqual([undefined]);
      expect((await store.audit({ order: 'newest', limit: 5 })).entries).toEqual([]);
      expect(await store.changesAfter(undefined)).toMatchObject({ kind: 'empty' });
      expect(await store.write(write)).toEqual(dry);
    });

    test('a write with an id is made once', async () => {
      const write = { changes: [{ put: tenant('t') }], audit, id: 'w-1' };
      const version = versionOf(await store.write(write));
      await store.write({ changes: [{ delete: keyOf(tenant('t')) }], audit });
      expect(await store.write(write)).toMatchObject({ kind: 'written', isRepeated: true, version });
      expect(await store.read([keyOf(tenant('t'))])).toEqual([undefined]);
      expect(await store.write({ ...write, changes: [{ put: tenant('u') }] })).toEqual({ kind: 'id_reused' });
      expect(WRITE_ID_MS).toBe(3_600_000);
    });

    test('a write with an id that changes nothing is repeated with the version of the first reply', async () => {
      await store.write({ changes: [{ put: tenant('t') }], audit });
      const write = { changes: [], audit: { author: 'ann', action: 'credit' }, id: 'w-2' };
      const version = versionOf(await store.write(write));
      expect(version).toBe(START_US);
      expect(await store.write(write)).toMatchObject({ kind: 'written', isRepeated: true, version });
    });

    test('a record that has ended is as good as absent', async () => {
      await store.write({ changes: [{ put: tenant('t', 'gold', START_MS + 10) }], audit });
      await setNow(START_US + 10_000);
      const outcome = await store.write({ changes: [{ put: tenant('t'), expect: 'absent' }], audit });
      expect(outcome).toMatchObject({ kind: 'written', version: START_US + 10_000, effects: [{ isChanged: true }] });
      expect(await store.read([keyOf(tenant('t'))])).toEqual([{ record: tenant('t'), version: START_US + 10_000 }]);
    });

    test('records that have ended take no room', async () => {
      const ending =
        (untilMs: number) =>
        (number: number): ControlRecord => ({
          kind: 'plan',
          domain: 'd',
          plan: `p${untilMs}-${number}`,
          limits: [{ requestsPerUnit: 1, unit: 'second' }],
          untilMs,
        });
      await putAll(store, { count: PLANS, make: ending(START_MS + 10) });
      const one = { changes: [{ put: ending(START_MS + 99_999)(0) }], audit };
      expect(await store.write(one)).toEqual({ kind: 'full', of: 'plan', max: PLANS });
      await setNow(START_US + 20_000);
      expect(await store.write({ ...one, dryRun: true })).toMatchObject({ kind: 'written' });
      expect(await putAll(store, { count: PLANS, make: ending(START_MS + 99_999) })).toMatchObject({ kind: 'written' });
      expect(await store.write({ ...one, changes: [{ put: ending(START_MS + 88_888)(0) }] })).toMatchObject({ kind: 'full' });
    });

    test('records that ended a day ago are removed by any write, and those that ended later are not', async () => {
      await store.write({ changes: [{ put: tenant('t', 'gold', START_MS + 10) }, { put: tenant('u', 'gold', START_MS + 20) }], audit });
      await setNow(START_US + 15_000 + ENDED_GRACE_MS * 1_000);
      await store.write({ changes: [], audit });
      expect(await store.read([keyOf(tenant('t')), keyOf(tenant('u'))])).toEqual([
        undefined,
        { record: tenant('u', 'gold', START_MS + 20), version: START_US },
      ]);
    });

    test('blocks by penalties have a bound of their own, so that operators always have room', async () => {
      const count = PENALTIES;
      await putAll(store, { count, make: (number) => penalty(number, START_MS + 1_000), trail: 'penalties' });
      const full = { kind: 'full', of: 'block', max: PENALTIES };
      expect(await store.write({ changes: [{ put: penalty(count, START_MS + 1_000) }], audit })).toEqual(full);
      expect(await store.write({ changes: [{ put: penalty(7, START_MS + 5_000) }], audit })).toMatchObject({ kind: 'written' });
      expect(await store.write({ changes: [{ put: block }], audit })).toMatchObject({ kind: 'written' });
      await setNow(START_US + 1_001_000);
      // One of them goes on.
      expect(await putAll(store, { count: count - 1, make: (number) => penalty(count + number, START_MS + 5_000) })).toMatchObject({
        kind: 'written',
      });
      expect(await store.write({ changes: [{ put: penalty(0, START_MS + 5_000) }], audit })).toEqual(full);
    });

    test('penalties have a trail of their own, and never displace what people did', async () => {
      await store.write({ changes: [{ put: block }], audit });
      for (let i = 0; i < 3; i += 1) {
        const note = { author: 'weir', action: 'put', reason: 'penalty' };
        await store.write({ changes: [{ put: penalty(i, START_MS + 10) }], audit: note, trail: 'penalties' });
      }
      expect((await allAudit(store, 'newest')).map(({ author }) => author)).toEqual(['ann']);
      const trail = await allAudit(store, 'newest', { trail: 'penalties' });
      expect(trail.map(({ key, after }) => [key?.name, after])).toEqual(
        [2, 1, 0].map((number) => [`penalty-${number}`, penalty(number, START_MS + 10)]),
      );
      // What requests cause is bounded in bytes, too.
      const long = {
        ...penalty(9, START_MS + 10),
        entries: [
          { key: 'ip', value: 'x'.repeat(1_000) },
          { key: 'b', value: 'y'.repeat(1_024) },
        ],
      };
      await store.write({ changes: [{ put: long as ControlRecord }], audit, trail: 'penalties' });
      const [last] = await allAudit(store, 'newest', { trail: 'penalties' });
      expect([last?.key?.name, last?.after]).toEqual(['penalty-9', undefined]);
    });

    test('a write that needs a position of the data is refused at any other', async () => {
      const restore = (base: 'empty' | { readonly epoch: string; readonly version: number }, name: string) =>
        store.write({ changes: [{ put: tenant(name), expect: { restores: 5 } }], audit, base });
      expect(await restore({ epoch: 'other', version: 1 }, 'a')).toEqual({ kind: 'moved' });
      expect(await restore('empty', 'a')).toMatchObject({ kind: 'written' });
      expect(await restore('empty', 'b')).toEqual({ kind: 'moved' });
      const answer = await store.changesAfter(undefined);
      if (answer.kind !== 'gap') throw new Error('no gap');
      await store.write({ changes: [{ delete: keyOf(tenant('a')) }], audit });
      expect(await restore(answer.position, 'a')).toEqual({ kind: 'moved' });
      expect(await store.read([keyOf(tenant('a'))])).toEqual([undefined]);
    });

    test('a deletion of what the store has lost is in the log, so that followers delete it', async () => {
      await store.write({ changes: [{ put: block }], audit });
      const answer = await store.changesAfter(undefined);
      if (answer.kind !== 'gap') throw new Error('no gap');
      const outcome = await store.write({ changes: [{ delete: keyOf(tenant('gone')), expect: 'lost' }], audit });
      expect(outcome).toMatchObject({ kind: 'written', effects: [{ isChanged: true }] });
      expect(await store.changesAfter(answer.position)).toMatchObject({
        kind: 'changes',
        changes: [{ key: keyOf(tenant('gone')), version: START_US + 1 }],
      });
    });

    test('versions grow when the clock steps back', async () => {
      await store.write({ changes: [{ put: tenant('t') }], audit });
      await setNow(START_US - 5_000_000);
      expect(versionOf(await store.write({ changes: [{ put: tenant('u') }], audit }))).toBe(START_US + 1);
    });

    test('every write is in the audit log, in pages from either end', async () => {
      await store.write({ changes: [{ put: tenant('t') }, { put: block }], audit });
      await store.write({ changes: [{ delete: keyOf(tenant('t')) }], audit: { author: 'bob', action: 'delete' } });
      await store.write({ changes: [], audit: { author: 'bob', action: 'credit', details: '{"hits":5}' } });
      const oldest = await allAudit(store, 'oldest');
      expect(oldest.map((entry) => ({ ...entry, id: undefined, atMs: undefined }))).toEqual([
        { ...audit, key: keyOf(tenant('t')), after: tenant('t') },
        { ...audit, key: keyOf(block), after: block },
        { author: 'bob', action: 'delete', key: keyOf(tenant('t')), before: tenant('t') },
        { author: 'bob', action: 'credit', details: '{"hits":5}' },
      ]);
      expect(await allAudit(store, 'newest')).toEqual(oldest.toReversed());
    });

    test('a write with details has one entry in the audit log, however many records it changes', async () => {
      await store.write({ changes: [{ put: tenant('t') }], audit });
      const details = '{"written":2}';
      await store.write({ changes: ['t', 'u', 'v'].map((name) => ({ put: tenant(name) })), audit: { ...audit, details } });
      const entries = await allAudit(store, 'oldest');
      expect(entries.map((entry) => ({ ...entry, id: undefined, atMs: undefined }))).toEqual([
        { ...audit, key: keyOf(tenant('t')), after: tenant('t') },
        { ...audit, details },
      ]);
      expect((await store.read([keyOf(tenant('v'))]))[0]?.record).toEqual(tenant('v'));
    });

    test('a scan in pages finds every record, and a log in steps every change', async () => {
      const names = Array.from({ length: 1_500 }, (_, i) => `t${i}`);
      const first = versionOf(await store.write({ changes: [{ put: tenant('first') }], audit }));
      const gap = await store.changesAfter(undefined);
      if (gap.kind !== 'gap') throw new Error('no gap');
      expect(gap.position.version).toBe(first);
      for (let at = 0; at < names.length; at += CHANGES_MAX) {
        await store.write({ changes: names.slice(at, at + CHANGES_MAX).map((of) => ({ put: tenant(of) })), audit });
      }
      const scanned = new Set<string>();
      let cursor: string | undefined;
      do {
        const page = await store.scan({ kind: 'tenant', limit: 100, ...(cursor !== undefined && { cursor }) });
        for (const { record } of page.records) scanned.add(keyOf(record).name);
        cursor = page.next;
      } while (cursor !== undefined);
      expect([...scanned].sort()).toEqual([...names, 'first'].sort());
      const logged: string[] = [];
      let { position } = gap;
      let isLast = false;
      let steps = 0;
      while (!isLast) {
        const step = await store.changesAfter(position);
        if (step.kind !== 'changes') throw new Error(step.kind);
        logged.push(...step.changes.map(({ key }) => key.name));
        ({ position, isLast } = step);
        steps += 1;
      }
      expect(logged).toEqual(names);
      expect(steps).toBeGreaterThan(1);
    });

    test('discarding what was lost is a change, also of a store that has nothing else', async () => {
      await store.discardLost(audit);
      expect(await store.changesAfter(undefined)).toMatchObject({ kind: 'gap', discardedUpTo: START_US, position: { version: START_US } });
    });
  });
}
