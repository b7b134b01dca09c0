/** What every store of control data does, whatever it keeps them in. */

import { keyOf, type ControlRecord, type TenantRecord } from '../../src/control/control-record';
import { CHANGES_MAX, WRITE_ID_MS, type AuditEntry, type ControlStore, type WriteOutcome } from '../../src/control/control-store';

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

function versionOf(outcome: WriteOutcome): number {
  if (outcome.kind !== 'written') throw new Error(`not written: ${outcome.kind}`);
  return outcome.version;
}

async function allAudit(store: ControlStore, order: 'newest' | 'oldest', limit = 2): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  let after: string | undefined;
  do {
    const { entries, next } = await store.audit({ order, limit, ...(after !== undefined && { after }) });
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
        (stored) => (stored?.record as TenantRecord).plan,
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
