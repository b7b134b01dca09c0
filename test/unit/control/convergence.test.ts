/** Replicas of control data converge in any order of writes, reads and outages. */

import { keyOf, type ControlRecord, type TenantRecord } from '../../../src/state/control/control-record';
import type { ControlStore } from '../../../src/state/control/control-store';
import { LocalControlStore } from '../../../src/state/control/local-control-store';
import { ChangingStore } from '../../support/control/changing-store';
import { instanceOn, NOTE, recordsIn, recordsOf, type Instance } from '../../support/control/control-harness';
import { randomFrom, seeded, type Random } from '../../support/random/random';

const START_US = 1_800_000_000_000_000;

function randomPut(random: Random): ControlRecord {
  const id = `i${random(6)}`;
  if (random(2) === 0) return { kind: 'tenant', domain: 'd', tenant: id, plan: `p${random(3)}` };
  return { kind: 'block', domain: 'd', id, entries: [{ key: 'k', value: `${random(3)}` }] };
}

async function writeRandomly(store: ControlStore, random: Random): Promise<void> {
  const put = randomPut(random);
  await store.write({ changes: [random(3) === 0 ? { delete: keyOf(put) } : { put }], audit: NOTE }).catch(() => undefined);
}

test('random interleavings of writes, reads, outages and trimmed logs converge', async () => {
  const { numRuns, seed } = seeded(10_000);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    let nowUs = START_US;
    const store = new ChangingStore(new LocalControlStore({ nowUs: () => nowUs }));
    const instances: Instance[] = [0, 1, 2].map(() => instanceOn(store, { nowUs: () => nowUs }));
    const pending: Promise<unknown>[] = [];
    for (let step = 0; step < 25; step += 1) {
      nowUs += random(3);
      store.isAway = random(6) === 0;
      store.isTrimmed = random(4) === 0;
      // Some steps overlap: a write falls between two pages of a snapshot.
      const act = random(2) === 0 ? writeRandomly(store, random) : instances[random(3)]!.follower.catchUp();
      pending.push(act);
      if (random(2) === 0) await act;
    }
    await Promise.all(pending);
    store.isAway = false;
    await Promise.all(instances.map(({ follower }) => follower.catchUp()));
    const expected = await recordsIn(store);
    for (const instance of instances) {
      expect(recordsOf(instance)).toEqual(expected);
      expect(instance.follower.state.state).toBe('following');
    }
  }
});

test('a store that lost everything, or its latest writes: nothing acknowledged is lost, and a restore brings all of it back', async () => {
  const { numRuns, seed } = seeded(2_000);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    let nowUs = START_US;
    const now = () => nowUs;
    const tick = () => (nowUs += 10);
    const primary = new LocalControlStore({ nowUs: now, epoch: 'first' });
    const store = new ChangingStore(primary);
    const [one, two] = [instanceOn(store, { nowUs: now }), instanceOn(store, { nowUs: now })] as const;
    const puts = Array.from({ length: 1 + random(8) }, (_, i): TenantRecord => ({
      kind: 'tenant',
      domain: 'd',
      tenant: `t${i}`,
      plan: `p${random(3)}`,
      createdAtMs: START_US / 1_000 - i,
    }));
    // A replica of the store that is some writes behind, or empty: then its first write begins a new epoch.
    const copied = random(2) === 0 ? 0 : random(puts.length + 1);
    const behind = new LocalControlStore({ nowUs: now, epoch: copied === 0 ? 'second' : 'first' });
    for (const [i, put] of puts.entries()) {
      tick();
      await primary.write({ changes: [{ put }], audit: NOTE });
      if (i < copied) await behind.write({ changes: [{ put }], audit: NOTE });
    }
    await Promise.all([one, two].map(({ follower }) => follower.catchUp()));
    store.behind = behind;
    tick();
    const newPut: TenantRecord = { kind: 'tenant', domain: 'd', tenant: 'new', plan: 'x', createdAtMs: 1 };
    const isWritten = random(2) === 0;
    if (isWritten) await store.write({ changes: [{ put: newPut }], audit: NOTE });
    await Promise.all([one, two].map(({ follower }) => follower.catchUp()));
    const all = isWritten ? [...puts, newPut] : puts;
    const namesOf = (instance: Instance) =>
      recordsOf(instance)
        .map(({ record }) => JSON.stringify(record))
        .sort();
    const expected = all.map((record) => JSON.stringify(record)).sort();
    expect(namesOf(one)).toEqual(expected);
    expect(one.follower.state).toMatchObject({ state: copied === puts.length ? 'following' : 'lost', lost: puts.length - copied });
    tick();
    const isDiscarded = random(3) === 0;
    if (isDiscarded) await one.service.discardLost(NOTE);
    else expect(await one.service.restore(NOTE)).toBe(puts.length - copied);
    await two.follower.catchUp();
    const kept = isDiscarded ? all.filter((put) => put === newPut || puts.indexOf(put) < copied) : all;
    for (const instance of [one, two]) {
      expect(namesOf(instance)).toEqual(kept.map((record) => JSON.stringify(record)).sort());
      expect(instance.follower.state).toMatchObject({ state: 'following', lost: 0 });
    }
    expect(recordsOf(two)).toEqual(await recordsIn(store));
  }
});
