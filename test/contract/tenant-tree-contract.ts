/** The trees of tenants that every store of control data keeps: no cycle, at most four levels, and no deletion of a parent. */

import type { ControlChange, ControlStore, WriteOutcome } from '../../src/state/control/control-store';
import { randomFrom, seeded } from '../support/random/random';
import type { OpenedControlStore } from './control-store-contract';

const START_US = 1_800_000_000_000_000;
const audit = { author: 'ann', action: 'put', reason: 'moved' };

/** Under a parent; without one a plan alone. */
function placed(name: string, parent?: string): ControlChange {
  const place = parent === undefined ? { plan: 'gold' } : { parent };
  return { put: { kind: 'tenant', domain: 'd/é', tenant: name, ...place } };
}

function removed(name: string): ControlChange {
  return { delete: { kind: 'tenant', domain: 'd/é', name } };
}

/** `written`, or the index and the problem of the tree. */
function shown(outcome: WriteOutcome): string {
  if (outcome.kind !== 'tree') return outcome.kind;
  return `${outcome.index} ${outcome.problem}${outcome.count > 0 ? ` ${outcome.count}` : ''}`;
}

/** The same by looking at the whole tree that the changes would leave. */
class WholeTree {
  parents = new Map<string, string | undefined>();

  after(changes: readonly ControlChange[]): Map<string, string | undefined> {
    const next = new Map(this.parents);
    for (const change of changes) {
      if ('delete' in change) next.delete(change.delete.name);
      else if (change.put.kind === 'tenant') next.set(change.put.tenant, change.put.parent);
    }
    return next;
  }

  isTree(changes: readonly ControlChange[]): boolean {
    const next = this.after(changes);
    for (const name of next.keys()) {
      let levels = 0;
      for (let at: string | undefined = name; at !== undefined; at = next.get(at)) if ((levels += 1) > 4) return false;
    }
    return changes.every((change) => !('delete' in change) || !this.parents.has(change.delete.name) || !hasChild(next, change.delete.name));
  }
}

function hasChild(parents: ReadonlyMap<string, string | undefined>, name: string): boolean {
  return [...parents.values()].includes(name);
}

export function describeTenantTree(name: string, open: (nowUs: number) => Promise<OpenedControlStore>): void {
  describe(`${name}, trees of tenants`, () => {
    let store: ControlStore;
    const write = async (...changes: ControlChange[]) => shown(await store.write({ changes, audit }));

    beforeEach(async () => {
      ({ store } = await open(START_US));
    });

    afterEach(async () => {
      await store.close();
    });

    test('a cycle is refused, whatever its length and whether one write or several would close it', async () => {
      expect(await write(placed('a', 'b'), placed('b', 'a'))).toBe('1 cycle');
      expect(await write(placed('a', 'b'), placed('b', 'c'))).toBe('written');
      expect(await write(placed('x'), placed('c', 'a'))).toBe('1 cycle');
      expect(await store.read([{ kind: 'tenant', domain: 'd/é', name: 'x' }])).toEqual([undefined]);
    });

    test('of several changes, the one that moves closes the cycle, not one that stays', async () => {
      await write(placed('low', 'top'));
      expect(
        await write(placed('top', 'low'), { put: { kind: 'tenant', domain: 'd/é', tenant: 'low', parent: 'top', plan: 'gold' } }),
      ).toBe('0 cycle');
    });

    test('a fifth level is refused, below a leaf as above a root, also where a record of a parent is not there yet', async () => {
      expect(await write(placed('key', 'user'), placed('user', 'team'))).toBe('written');
      expect(await write(placed('team', 'org'))).toBe('written');
      expect(await write(placed('token', 'key'))).toBe('0 depth');
      expect(await write(placed('org', 'group'))).toBe('0 depth');
      expect(await write(placed('user'), placed('org', 'group'))).toBe('written');
      expect(await write(placed('user', 'team'))).toBe('0 depth');
    });

    test('a tenant with others below it is not deleted, and the answer says how many; moved ones do not count', async () => {
      expect(await write(placed('org'), placed('ann', 'org'), placed('bob', 'org'), placed('key', 'bob'))).toBe('written');
      expect(await write(removed('org'))).toBe('0 children 2');
      expect(await write(removed('org'), removed('ann'), placed('bob', 'other'))).toBe('written');
      expect(await write(removed('bob'))).toBe('0 children 1');
      expect(await write(removed('key'), removed('bob'))).toBe('written');
      expect(await write(removed('org'))).toBe('written');
    });

    test('two tenants in one write change places', async () => {
      expect(await write(placed('low', 'top'), placed('top'))).toBe('written');
      expect(await write(placed('top', 'low'), placed('low'))).toBe('written');
      expect(await write(placed('low', 'top'))).toBe('0 cycle');
    });

    test('a dry run refuses the same, and moves nobody', async () => {
      await write(placed('low', 'top'));
      const ask = async (...changes: ControlChange[]) => shown(await store.write({ changes, audit, dryRun: true }));
      expect(await ask(placed('top', 'low'))).toBe('0 cycle');
      expect(await ask(placed('low'), placed('top', 'low'))).toBe('written');
      expect(await write(placed('top', 'low'))).toBe('0 cycle');
    });

    test('of two moves at once that would close a cycle together, one is made', async () => {
      const found = await Promise.all([write(placed('a', 'b')), write(placed('b', 'a'))]);
      expect(found.toSorted()).toEqual(['0 cycle', 'written']);
    });

    test('the audit log has the parent before and after a move', async () => {
      await write(placed('ann', 'red'));
      await write(placed('ann', 'blue'));
      const { entries } = await store.audit({ order: 'newest', limit: 1 });
      expect(entries).toMatchObject([{ reason: 'moved', before: { parent: 'red' }, after: { parent: 'blue' } }]);
    });

    test('a write that is skipped or changes nothing leaves the tree as it is', async () => {
      await write(placed('ann', 'red'));
      expect(await write(placed('ann', 'red'))).toBe('written');
      const put = { kind: 'tenant', domain: 'd/é', tenant: 'ann', parent: 'blue' } as const;
      const outcome = await store.write({ changes: [{ put, expect: { restores: 1 } }], audit });
      expect(outcome).toMatchObject({ kind: 'written', effects: [{ isChanged: false }] });
      expect(await write(placed('red', 'ann'))).toBe('0 cycle');
      expect(await write(placed('blue', 'ann'))).toBe('written');
    });

    test('any random writes are accepted exactly if they leave trees of at most four levels', async () => {
      const { numRuns, seed } = seeded(2_400);
      const random = randomFrom({ seed });
      const names = ['a', 'b', 'é%', 'd~(', 'e"f', 'g/h', 'i', 'j', 'k'];
      const any = () => names[random(names.length)]!;
      const whole = new WholeTree();
      let refusals = 0;
      for (let run = 0; run < numRuns; run += 1) {
        const changed = new Set(Array.from({ length: 1 + random(3) }, any));
        const changes = [...changed].flatMap((one) => {
          const parent = random(4) === 0 ? undefined : any();
          if (parent === one) return [];
          return [random(5) === 0 ? removed(one) : placed(one, parent)];
        });
        const outcome = await store.write({ changes, audit });
        const isTree = whole.isTree(changes);
        expect({ run, changes, outcome: outcome.kind }).toEqual({ run, changes, outcome: isTree ? 'written' : 'tree' });
        if (isTree) whole.parents = whole.after(changes);
        else refusals += 1;
      }
      expect(refusals).toBeGreaterThan(numRuns / 20);
    });
  });
}
