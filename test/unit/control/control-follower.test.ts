/** A store that fails while a follower reads all records: what the follower has read already counts as known. */

import { keyOf, type ControlRecord } from '../../../src/control/control-record';
import { LocalControlStore } from '../../../src/control/local-control-store';
import { ChangingStore } from '../../support/control/changing-store';
import { blockOf, instanceOn, NOTE, recordsOf, type Instance } from '../../support/control/control-harness';
import { randomFrom, seeded } from '../../support/random/random';

const START_US = 1_800_000_000_000_000;

/** A scan reads the kinds in the order of CONTROL_KINDS: the tenant first, the pass last. */
const RECORDS: readonly ControlRecord[] = [
  { kind: 'tenant', domain: 'd', tenant: 't', plan: 'gold' },
  blockOf('b'),
  { kind: 'pass', domain: 'd', id: 'p', entries: [{ key: 'k' }] },
];

let nowUs = START_US;
const clock = () => nowUs;

function emptyStore(): LocalControlStore {
  return new LocalControlStore({ nowUs: clock });
}

async function put(store: LocalControlStore, records: readonly ControlRecord[]): Promise<void> {
  for (const record of records) {
    nowUs += 1;
    await store.write({ changes: [{ put: record }], audit: NOTE });
  }
}

const namesOf = (instance: Instance) => recordsOf(instance).map(({ record }) => keyOf(record).name);

/** Before the page with this number is read, from 1. */
function beforePage(store: ChangingStore, { page, act }: { readonly page: number; readonly act: () => void }): void {
  let pages = 0;
  store.onScan = () => {
    pages += 1;
    if (pages === page) act();
  };
}

async function filled(): Promise<{ store: ChangingStore; instance: Instance }> {
  const behind = emptyStore();
  await put(behind, RECORDS);
  const store = new ChangingStore(behind);
  return { store, instance: instanceOn(store, { nowUs: clock }) };
}

/** Fails before the last page of the first copy: the tenant and the block are known, and the pass is not. */
async function diesInFirstCopy(): Promise<{ store: ChangingStore; instance: Instance }> {
  const { store, instance } = await filled();
  beforePage(store, { page: 5, act: () => (store.isAway = true) });
  await instance.follower.catchUp();
  expect(namesOf(instance)).toEqual(['b', 't']);
  expect(instance.follower.state).toMatchObject({ state: 'starting', error: 'away' });
  store.onScan = () => undefined;
  store.isAway = false;
  return { store, instance };
}

test('the store dies during the first copy and comes back empty: the records that were read are lost, and stay in force', async () => {
  const { store, instance } = await diesInFirstCopy();
  store.behind = emptyStore();
  await instance.follower.catchUp();
  expect(instance.follower.state).toEqual({ state: 'lost', lost: 2 });
  expect(namesOf(instance)).toEqual(['b', 't']);
  // The first write begins a new history.
  await put(store.behind, [blockOf('new')]);
  await instance.follower.catchUp();
  expect(instance.follower.state).toEqual({ state: 'lost', lost: 2 });
  expect(namesOf(instance)).toEqual(['b', 'new', 't']);
  await instance.service.restore({ author: 'ann', action: 'restore' });
  expect(instance.follower.state).toEqual({ state: 'following', lost: 0 });
  expect(namesOf(instance)).toEqual(['b', 'new', 't']);
});

test('the store dies during the first copy, after it was empty: nothing is lost yet', async () => {
  const store = new ChangingStore(emptyStore());
  const instance = instanceOn(store, { nowUs: clock });
  await instance.follower.catchUp();
  await put(store.behind, RECORDS);
  beforePage(store, { page: 5, act: () => (store.isAway = true) });
  await instance.follower.catchUp();
  expect(namesOf(instance)).toEqual(['b', 't']);
  expect(instance.follower.state).toMatchObject({ state: 'following', lost: 0 });
});

test('the store dies during the first copy and comes back with another history: the records that were read are lost', async () => {
  const { store, instance } = await diesInFirstCopy();
  store.behind = emptyStore();
  await put(store.behind, [blockOf('new')]);
  await instance.follower.catchUp();
  expect(instance.follower.state).toEqual({ state: 'lost', lost: 2 });
  expect(namesOf(instance)).toEqual(['b', 'new', 't']);
});

test('the store dies during the first copy and comes back with its data: the copy is made again, without a record deleted meanwhile', async () => {
  const { store, instance } = await diesInFirstCopy();
  nowUs += 1;
  await store.behind.write({ changes: [{ delete: keyOf(blockOf('b')) }], audit: NOTE });
  await instance.follower.catchUp();
  expect(instance.follower.state).toEqual({ state: 'following', lost: 0 });
  expect(namesOf(instance).sort()).toEqual(['p', 't']);
});

test.each([1, 2, 3, 4, 5])(
  'the store turns empty before page %i of a later copy, and no read fails: every record is lost',
  async (page) => {
    const { store, instance } = await filled();
    await instance.follower.catchUp();
    expect(instance.follower.state).toEqual({ state: 'following', lost: 0 });
    await put(store.behind, [blockOf('later')]);
    store.isTrimmed = true;
    beforePage(store, { page, act: () => (store.behind = emptyStore()) });
    await instance.follower.catchUp();
    const { length } = namesOf(instance);
    // The page with the later block was read before, or was not.
    expect(length).toBe(page <= 4 ? 3 : 4);
    expect(instance.follower.state).toEqual({ state: 'lost', lost: length });
  },
);

test('a restored tenant keeps the time of its creation, whatever the clocks of the writer and of the store', async () => {
  const { store, instance } = await filled();
  const createdAtMs = START_US / 1_000 - 12_345;
  const tenant = { kind: 'tenant', domain: 'd', tenant: 'early', plan: 'gold', createdAtMs } as const;
  await put(store.behind, [tenant]);
  await instance.follower.catchUp();
  for (let losses = 0; losses < 2; losses += 1) {
    store.behind = emptyStore();
    await instance.follower.catchUp();
    nowUs += 5_000_000;
    await instance.service.restore({ author: 'ann', action: 'restore' });
    expect((await instance.service.read([keyOf(tenant)]))[0]?.record).toEqual(tenant);
  }
});

test('random failures and losses at any page: no record that was ever known is dropped in silence', async () => {
  const { numRuns, seed } = seeded(5_000);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    const store = new ChangingStore(emptyStore());
    const instance = instanceOn(store, { nowUs: clock });
    const known = new Set<string>();
    const keepKnown = () => {
      for (const name of namesOf(instance)) known.add(name);
    };
    for (let step = 0; step < 12; step += 1) {
      if (random(2) === 0)
        await put(store.behind, [random(2) === 0 ? blockOf(`b${step}`) : ({ ...RECORDS[0], tenant: `t${step}` } as ControlRecord)]);
      store.isTrimmed = random(3) === 0;
      const failure = random(3);
      beforePage(store, {
        page: 1 + random(6),
        act: () => {
          if (failure === 1) store.isAway = true;
          if (failure === 2) store.behind = emptyStore();
        },
      });
      await instance.follower.catchUp();
      keepKnown();
      if (store.isAway && random(2) === 0) store.behind = emptyStore();
      store.isAway = false;
    }
    store.onScan = () => undefined;
    store.isTrimmed = false;
    await instance.follower.catchUp();
    keepKnown();
    const kept = new Set(
      (await Promise.all(RECORDS.map(({ kind }) => store.behind.scan({ kind, limit: 100 })))).flatMap(({ records }) =>
        records.map(({ record }) => keyOf(record).name),
      ),
    );
    const lost = [...known].filter((name) => !kept.has(name));
    expect({ seed, run, names: namesOf(instance).sort() }).toEqual({ seed, run, names: [...new Set([...known, ...kept])].sort() });
    expect(instance.follower.state).toEqual({ state: lost.length > 0 ? 'lost' : 'following', lost: lost.length });
  }
});
