/** Random requests of a tree of tenants that changes all the time are decided as a plain model decides them, on every level. */

import { compileText } from '../unit/compile/compile-config';
import { ControlData } from '../../src/state/control/control-data';
import { keyOf } from '../../src/state/control/control-record';
import { readRecord } from '../../src/state/control/read-record';
import { makeShouldRateLimit } from '../../src/should-rate-limit';
import type { Store } from '../../src/state/store/port/store';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { alone } from '../support/decisions/decide-one';
import { entriesOf, requestOf } from '../support/decisions/rules';
import { startRedis } from '../support/redis/redis-server';
import { openClockedRedis } from '../support/redis/redis-store';
import { randomFrom, seeded } from '../support/random/random';

const START_US = 1_800_057_600_000_000;
const DAY_US = 86_400_000_000;
const TENANTS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

/** By plan: its own limit, its pool, and the plan of members. */
const PLANS: Readonly<Record<string, { readonly own?: number; readonly pool?: number; readonly members?: string }>> = {
  free: { own: 40 },
  seat: { own: 60, members: 'team' },
  team: { own: 90, pool: 150 },
  org: { pool: 300, members: 'seat' },
};

const limit = (name: string, count: number) => `{ name: ${name}, unit: day, requests_per_unit: ${count}, algorithm: fixed_window }`;

const CONFIG = `
domain: d
plans:
${Object.entries(PLANS)
  .map(([name, { own, pool, members }]) =>
    [
      `  ${name}:`,
      ...(own === undefined ? [] : [`    rate_limit: ${limit(`${name}_own`, own)}`]),
      ...(pool === undefined ? [] : [`    pool: [${limit(`${name}_pool`, pool)}]`]),
      ...(members === undefined ? [] : [`    members: ${members}`]),
    ].join('\n'),
  )
  .join('\n')}
descriptors: [{ key: k, tenant: true, default_plan: free }]
`;

class Model {
  readonly used = new Map<string, number>();
  readonly parents = new Map<string, string>();
  readonly plans = new Map<string, string>();

  lineOf(tenant: string): string[] {
    const line = [tenant];
    for (let at = this.parents.get(tenant); at !== undefined; at = this.parents.get(at)) line.push(at);
    return line;
  }

  planOf(tenant: string): string {
    const [, ...above] = this.lineOf(tenant);
    const named = above.map((each) => PLANS[this.planOf(each)]?.members).find((members) => members !== undefined);
    return this.plans.get(tenant) ?? named ?? 'free';
  }

  bucketsOf(tenant: string): { readonly key: string; readonly max: number }[] {
    const { own } = PLANS[this.planOf(tenant)]!;
    const pools = this.lineOf(tenant).flatMap((owner) => {
      const { pool } = PLANS[this.planOf(owner)]!;
      return pool === undefined ? [] : [{ key: `pool ${owner}`, max: pool }];
    });
    return [...(own === undefined ? [] : [{ key: `own ${tenant}`, max: own }]), ...pools];
  }

  ask(tenant: string, hits: number): boolean {
    const buckets = this.bucketsOf(tenant);
    const fits = buckets.every(({ key, max }) => (this.used.get(key) ?? 0) + hits <= max);
    if (fits) for (const { key } of buckets) this.used.set(key, (this.used.get(key) ?? 0) + hits);
    return fits;
  }
}

interface OpenedStore {
  readonly store: Store;
  readonly nowUs: () => number;
  readonly nextDay: () => Promise<void>;
  readonly close: () => Promise<void>;
}

function openMemory(): Promise<OpenedStore> {
  let nowUs = START_US;
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1_000 });
  const nextDay = () => {
    nowUs += DAY_US;
    return Promise.resolve();
  };
  return Promise.resolve({ store, nowUs: () => nowUs, nextDay, close: () => store.close() });
}

async function openRedis(): Promise<OpenedStore> {
  const server = await startRedis();
  const redis = await openClockedRedis(server);
  let nowUs = START_US;
  await redis.setNow(nowUs);
  return {
    store: redis.store,
    nowUs: () => nowUs,
    nextDay: () => redis.setNow((nowUs += DAY_US)),
    close: async () => {
      await redis.close();
      await server.stop();
    },
  };
}

function open({ store, nowUs }: OpenedStore) {
  const ruleSet = compileText(CONFIG);
  const data = new ControlData();
  let remaining: readonly number[] = [];
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store,
      modes: { shadow: false, quota: false },
      control: data,
      keyPrefix: '',
      nowUs,
      record: ({ verdict }) => {
        remaining = verdict.verdicts.map((each) => each.remaining);
      },
    }),
  );
  const requests = new Map(
    TENANTS.flatMap((tenant) =>
      [1, 2, 3].map(
        (hits) => [`${tenant}${hits}`, { ...requestOf([{ entries: entriesOf(`k=${tenant}`) }], { hits }), recurs: true }] as const,
      ),
    ),
  );
  return {
    data,
    ask: (tenant: string, hits: number) => decide(requests.get(`${tenant}${hits}`)!, {}),
    remaining: () => remaining,
  };
}

test.each([
  ['the embedded store', 64_000, openMemory],
  ['Redis', 16_000, openRedis],
] as const)('on %s every decision and every bucket agrees with the model, also while tenants move', async (_store, runs, openStore) => {
  const { numRuns, seed } = seeded(runs);
  const random = randomFrom({ seed });
  const opened = await openStore();
  const [model, weir] = [new Model(), open(opened)];
  const any = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
  let [version, moves, denials] = [0, 0, 0];
  for (let run = 0; run < numRuns; run += 1) {
    if (random(8) === 0) {
      const [tenant, parent, plan] = [any(TENANTS), any([undefined, ...TENANTS]), any([undefined, ...Object.keys(PLANS)])];
      const before = model.parents.get(tenant);
      if (parent === undefined) model.parents.delete(tenant);
      else model.parents.set(tenant, parent);
      if (!isForest(model)) {
        if (before === undefined) model.parents.delete(tenant);
        else model.parents.set(tenant, before);
        continue;
      }
      moves += 1;
      version += 1;
      const own = plan ?? (parent === undefined ? 'free' : undefined);
      if (own === undefined) model.plans.delete(tenant);
      else model.plans.set(tenant, own);
      const record = readRecord({ kind: 'tenant', domain: 'd', tenant, plan: own, parent });
      weir.data.apply({ key: keyOf(record), record, version });
    }
    const [tenant, hits] = [any(TENANTS), 1 + random(3)];
    const fits = model.ask(tenant, hits);
    const { overallCode } = await weir.ask(tenant, hits);
    const left = model.bucketsOf(tenant).map(({ key, max }) => Math.max(0, max - (model.used.get(key) ?? 0)));
    expect({ run, overallCode, left: weir.remaining() }).toEqual({ run, overallCode: fits ? 'OK' : 'OVER_LIMIT', left });
    if (!fits) denials += 1;
    if (denials < 50) continue;
    denials = 0;
    model.used.clear();
    await opened.nextDay();
  }
  await opened.close();
  expect(moves).toBeGreaterThan(numRuns / 40);
});

function isForest(model: Model): boolean {
  return TENANTS.every((tenant) => {
    let levels = 0;
    for (let at: string | undefined = tenant; at !== undefined; at = model.parents.get(at)) if ((levels += 1) > 4) return false;
    return true;
  });
}
