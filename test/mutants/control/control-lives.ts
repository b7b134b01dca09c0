/** Lives of control data: random ones, which the twin in TypeScript lives too, and those by hand that reach ends, bounds and trimmed logs. */

import { CONTROL_KINDS, keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import type { AuditNote, ControlChange, ControlStore, ControlWrite, Expectation, Position } from '../../../src/state/control/control-store';
import { LocalControlStore } from '../../../src/state/control/local-control-store';
import type { Random } from '../../support/random/random';
import type { Recorder } from './control-recorder';

export const START_US = 1_800_000_000_000_000;

/** Behind and before every id of the audit log, which Redis takes from its own clock. */
const FIRST_ID = '1-0';
const LAST_ID = '9999999999999-0';

export interface HandMadeLife {
  readonly name: string;
  readonly live: (life: Recorder) => Promise<void>;
}

/** With details a write has one entry, without them one for each change. */
export const note = (author: string): AuditNote => ({
  author,
  action: 'put',
  reason: `by ${author}`,
  ...(author === 'bob' && { details: '{"n":1}' }),
});
export const tenant = (name: string, plan = 'p', untilMs?: number): ControlRecord => ({
  kind: 'tenant',
  domain: 'd',
  tenant: name,
  plan,
  ...(untilMs !== undefined && { untilMs }),
});
export const block = (id: string, untilMs?: number): ControlRecord => ({
  kind: 'block',
  domain: 'd',
  id,
  entries: [{ key: 'k', value: id }],
  ...(untilMs !== undefined && { untilMs }),
});

export const pass = (id: string): ControlRecord => ({ kind: 'pass', domain: 'd', id, entries: [{ key: 'k', value: id }] });

export const put = (store: ControlStore, records: readonly ControlRecord[], rest: Partial<ControlWrite> = {}) =>
  store.write({ changes: records.map((record) => ({ put: record })), audit: note('ann'), ...rest });

export async function readAll(store: ControlStore): Promise<void> {
  for (const kind of CONTROL_KINDS) await store.scan({ kind, limit: 100 });
  for (const order of ['newest', 'oldest'] as const) {
    await store.audit({ order, limit: 3 });
    for (const after of [FIRST_ID, LAST_ID]) await store.audit({ order, after, limit: 2 });
  }
  await store.read([keyOf(tenant('a')), keyOf(block('a')), keyOf(tenant('nobody'))]);
}

export const MS = START_US / 1_000;

export const HAND_MADE: readonly HandMadeLife[] = [
  {
    name: 'records that end, to the millisecond',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      await put(store, [tenant('a', 'p', MS + 10), block('a', MS + 10), tenant('b', 'p', MS + 20)]);
      const position = await positionOf(store);
      // Without an end it would go on: another end, then none.
      await put(store, [tenant('b', 'p', MS + 30)]);
      await put(store, [tenant('c', 'p', MS + 5)]);
      await put(store, [tenant('c', 'q')]);
      for (const us of [9_999, 10_000, 10_001, 29_999, 30_000]) {
        await setNow(START_US + us);
        await put(store, [tenant('a', 'p', MS + 10)], { dryRun: true });
        await store.write({ changes: [{ put: block('a'), expect: 'absent' }], audit: note('bob'), dryRun: true });
        await store.write({ changes: [{ delete: keyOf(tenant('b')) }], audit: note('bob'), dryRun: true });
      }
      await store.changesAfter(position);
      // A write removes what has ended, and puts it into the log before its own changes.
      await put(store, [tenant('b', 'again')]);
      await store.changesAfter(position);
      await setNow(START_US + 40_000);
      await put(store, [tenant('d', 'p', MS + 50)]);
      await store.write({ changes: [{ delete: keyOf(tenant('d')) }], audit: note('ann') });
      await readAll(store);
    },
  },
  {
    name: 'more records end than one write removes',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      await put(
        store,
        Array.from({ length: 23 }, (_, i) => tenant(`t${String(i).padStart(2, '0')}`, 'p', MS + 1)),
      );
      await setNow(START_US + 2_000);
      await put(store, [block('a')]);
      await readAll(store);
      // Nothing changes, so nothing is removed.
      await put(store, [block('a')]);
      await readAll(store);
      await put(store, [block('b')]);
      await readAll(store);
    },
  },
  {
    name: 'a store that is full',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      setBounds({ records: [2, 9, 9, 2, 1, 1] });
      await put(store, [tenant('a'), tenant('b')]);
      await put(store, [tenant('c')]);
      await put(store, [tenant('a', 'q')]);
      await put(store, [tenant('a', 'r'), tenant('c')]);
      await store.write({ changes: [{ delete: keyOf(tenant('a')) }, { put: tenant('c') }, { put: tenant('d') }], audit: note('ann') });
      await put(store, [pass('a'), pass('b')]);
      await put(store, [pass('a')]);
      await put(store, [block('a'), block('b'), block('c')]);
      await put(store, [block('a'), block('b')]);
      await store.write({ changes: [{ delete: keyOf(tenant('a')) }, { put: tenant('c') }], audit: note('ann') });
      await store.write({ changes: [{ delete: keyOf(tenant('x')) }, { put: tenant('y') }], audit: note('ann') });
      await store.write({ changes: [{ delete: keyOf(tenant('b')) }], audit: note('ann') });
      await put(store, [tenant('y')]);
      // More records than another version of Weir allows: they may still be replaced and deleted.
      setBounds({ records: [1, 1, 1, 1, 1, 1] });
      await put(store, [block('a', MS + 5_000)]);
      await store.write({ changes: [{ delete: keyOf(block('a')) }], audit: note('ann') });
      await readAll(store);
    },
  },
  {
    name: 'logs that are trimmed',
    live: async ({ store, setNow, setBounds }) => {
      await setNow(START_US);
      setBounds({ log: 4, audit: 6 });
      const positions: (Position | undefined)[] = [undefined];
      for (let i = 0; i < 12; i += 1) {
        await put(store, [tenant(`t${i % 3}`, `p${i}`)]);
        positions.push(await positionOf(store));
      }
      for (const position of positions) await store.changesAfter(position);
      const { epoch } = positions.at(-1)!;
      for (const version of [0, 1, START_US - 1, START_US + 7, START_US + 11, START_US + 12, START_US + 99])
        await store.changesAfter({ epoch, version });
      await store.audit({ order: 'oldest', limit: 20 });
    },
  },
  {
    name: 'positions that the log does not have: of a store that lost its latest writes, or without a log',
    live: async ({ store, setNow, setBounds }) => {
      for (const us of [0, 10, 20]) {
        await setNow(START_US + us);
        await put(store, [tenant('t', `p${us}`)]);
      }
      const { epoch } = (await positionOf(store))!;
      for (const us of [-1, 5, 15, 19, 21, 30]) await store.changesAfter({ epoch, version: START_US + us });
      setBounds({ log: 0 });
      await setNow(START_US + 30);
      await put(store, [tenant('t', 'q')]);
      for (const us of [25, 29, 30, 31]) await store.changesAfter({ epoch, version: START_US + us });
    },
  },
  {
    name: 'a log that is read in steps',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      await put(store, [tenant('t')]);
      const position = await positionOf(store);
      for (let i = 0; i < 22; i += 1) await put(store, [tenant('t', `p${i}`)]);
      // One change fewer than a step, one step, and one more.
      const { epoch } = position!;
      for (const from of [0, 1, 2, 3, 22]) await store.changesAfter({ epoch, version: START_US + from });
      await store.changesAfter({ epoch, version: START_US - 5 });
      await store.changesAfter({ epoch: 'other', version: START_US });
    },
  },
  {
    name: 'versions of a clock that stands still, steps back, and goes on',
    live: async ({ store, setNow }) => {
      for (const us of [0, 0, -5_000_000, -5_000_000, 1, 2, 3, 100]) {
        await setNow(START_US + us);
        await put(store, [tenant('t', `p${us}`), block('b')]);
        await store.discardLost(note('ann'));
        await positionOf(store);
      }
      // Nothing changes: the version stays, and so does what is discarded.
      await store.write({ changes: [], audit: note('ann') });
      await put(store, [block('b')]);
      await positionOf(store);
    },
  },
  {
    name: 'so many records that a scan needs its cursor',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      for (let part = 0; part < 3; part += 1)
        await put(
          store,
          Array.from({ length: 50 }, (_, i) => tenant(`t${part}-${i}`)),
        );
      await store.scan({ kind: 'tenant', limit: 1_000 });
    },
  },
  {
    name: 'a write with an id, repeated and used for another one',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      for (let i = 0; i < 2; i += 1) {
        await put(store, [tenant('a')], { id: 'w' });
        await put(store, [], { id: 'empty' });
        await setNow(START_US + 100);
      }
      await put(store, [tenant('b')], { id: 'w' });
      await put(store, [tenant('b')], { id: 'w', dryRun: true });
      await store.write({ changes: [{ put: tenant('a'), expect: 'absent' }], audit: note('ann'), id: 'refused' });
      await readAll(store);
    },
  },
  {
    name: 'an empty store',
    live: async ({ store, setNow }) => {
      await setNow(START_US);
      await positionOf(store);
      await store.changesAfter({ epoch: 'e', version: 5 });
      await store.write({ changes: [], audit: note('ann') });
      await store.write({ changes: [{ delete: keyOf(tenant('x')) }], audit: note('ann') });
      await store.write({ changes: [{ delete: keyOf(tenant('x')), expect: 7 }], audit: note('ann') });
      await put(store, [tenant('a')], { dryRun: true });
      await readAll(store);
      await store.discardLost(note('ann'));
      await positionOf(store);
    },
  },
];

export async function positionOf(store: ControlStore): Promise<Position | undefined> {
  const answer = await store.changesAfter(undefined);
  return answer.kind === 'empty' ? undefined : answer.position;
}

/** Without ends, which the twin removes at other times. The differences between the store and its twin. */
export async function liveRandomly({ store, setNow }: Recorder, random: Random): Promise<readonly string[]> {
  let nowUs = START_US + random(1_000_000);
  const twin = new LocalControlStore({ nowUs: () => nowUs });
  const versions = [START_US];
  const positions: { readonly store: Position; readonly twin: Position }[] = [];
  const differences: string[] = [];
  for (let step = 0; step < 14; step += 1) {
    nowUs += random(4) === 0 ? -random(1_000) : random(1_000);
    await setNow(nowUs);
    const compare = async (name: string, ask: (of: ControlStore) => Promise<unknown>): Promise<void> => {
      const [given, expected] = [textOf(await ask(store)), textOf(await ask(twin))];
      if (given !== expected) differences.push(`${name}: ${given} instead of ${expected}`);
    };
    const write = randomWrite(random, versions);
    if (random(8) === 0) await compare('discard', (of) => of.discardLost(note('ann')));
    else await compare('write', (of) => of.write(write));
    await compare('read', (of) => of.read(['a', 'b', 'c'].flatMap((name) => [keyOf(tenant(name)), keyOf(block(name))])));
    const known = positions[random(positions.length + 1)];
    await compare('changes', (of) => of.changesAfter(of === twin ? known?.twin : known?.store));
    const [ofStore, ofTwin] = await Promise.all([positionOf(store), positionOf(twin)]);
    if (ofStore === undefined || ofTwin === undefined) continue;
    positions.push({ store: ofStore, twin: ofTwin });
    versions.push(ofStore.version);
  }
  await readAll(store);
  return differences;
}

function randomWrite(random: Random, versions: readonly number[]): ControlWrite {
  const names = ['a', 'b', 'c'];
  const version = () => versions[random(versions.length)] ?? START_US;
  const expectation = (): Expectation =>
    (['any', 'any', 'absent', version(), { restores: version() }, { restores: version() + 1 }] as const)[random(6)] ?? 'any';
  const records = names.flatMap((name) => [tenant(name, `p${random(2)}`), block(name)]).filter(() => random(3) === 0);
  const changes = records.map((record): ControlChange => {
    const expect = expectation();
    return random(3) === 0 ? { delete: keyOf(record), expect } : { put: record, expect };
  });
  return {
    changes,
    audit: note(names[random(3)] ?? 'ann'),
    ...(random(3) === 0 && { id: `w${random(3)}` }),
    ...(random(6) === 0 && { dryRun: true }),
  };
}

/** Fields in an order of their own; two stores have different epochs. */
function textOf(answer: unknown): string {
  return JSON.stringify(answer, (name, value: unknown) => {
    if (name === 'epoch') return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}
