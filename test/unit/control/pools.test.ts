/** A request is charged for its own limits, and for the pools of its tenant and of every tenant above, or for none of them. */

import { compileText } from '../compile/compile-config';
import { ControlData } from '../../../src/state/control/control-data';
import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { readRecord } from '../../../src/state/control/read-record';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { toGroup } from '../../../src/domain/bucket/to-group';
import { TEXT_BYTES_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { matchRequest } from '../../../src/domain/rule/match';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';

const START_US = 1_800_057_600_000_000;

const CONFIG = `
domain: llm
plans:
  seat:
    rate_limit: { name: seat, unit: day, requests_per_unit: 10, algorithm: fixed_window }
  org:
    rate_limit: { name: org_own, unit: day, requests_per_unit: 5, algorithm: fixed_window }
    pool: [{ name: org_pool, unit: day, requests_per_unit: 20, algorithm: fixed_window }]
    members: seat
  team:
    pool: [{ name: team_pool, unit: day, requests_per_unit: 12, algorithm: fixed_window }]
  free:
    rate_limit: { name: free, unit: day, requests_per_unit: 3, algorithm: fixed_window }
  endless:
    rate_limit: { unlimited: true }
descriptors:
  - key: caller
    tenant: true
    default_plan: free
  - key: caller
    value: contract
    rate_limit: { name: contract, unit: day, requests_per_unit: 100, algorithm: fixed_window }
  - key: model
    descriptors:
      - key: caller
        tenant: true
        default_plan: free
`;

function open(text = CONFIG) {
  const ruleSet = compileText(text);
  const data = new ControlData();
  let version = 0;
  let last: DecidedRequest | undefined;
  const store = new MemoryStore({ nowUs: () => START_US, bucketsMax: 100 });
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store,
      modes: { shadow: false, quota: false },
      control: data,
      keyPrefix: '',
      nowUs: () => START_US,
      record: (decided) => {
        last = decided;
      },
    }),
  );
  const put = (json: object) => {
    const record: ControlRecord = readRecord({ domain: 'llm', ...json });
    data.apply({ key: keyOf(record), record, version: (version += 1) });
  };
  const ask = async (hits: number, ...entries: string[]) => {
    const request = requestOf([{ entries: entriesOf(...entries) }], { domain: 'llm', hits });
    return decide({ ...request, recurs: true }, {});
  };
  const place = (tenant: string, place: object) => {
    put({ kind: 'tenant', tenant, ...place });
  };
  return {
    data,
    put,
    place,
    remove: (kind: ControlRecord['kind'], name: string) => {
      data.apply({ key: { kind, domain: 'llm', name }, version: (version += 1) });
    },
    ask,
    /** The code, the limit that binds, and what is left of it. */
    asked: async (caller: string, hits = 1) => {
      const { overallCode, statuses } = await ask(hits, `caller=${caller}`);
      return `${overallCode} ${statuses[0]?.currentLimit?.name ?? '-'} ${statuses[0]?.limitRemaining}`;
    },
    last: () => last,
    /** The bucket keys of the last request. */
    keys: () => last && toGroup({ ...last, keyPrefix: '', shadow: false, nowUs: () => START_US }).takes.map(({ bucketKey }) => bucketKey),
    /** The limits of the last request, each with the tenant whose bucket it counts in. */
    limits: () => last?.matched.matches[0]?.limits.map(({ name, pool }) => `${name}${pool === undefined ? '' : `@${pool.tenant}`}`),
  };
}

/** org > team > ann, bob. */
function company(text = CONFIG) {
  const weir = open(text);
  weir.place('org', { plan: 'org' });
  weir.place('team', { plan: 'team', parent: 'org' });
  weir.place('ann', { parent: 'team' });
  weir.place('bob', { parent: 'team' });
  return weir;
}

test('members have the plan that the nearest plan above names for them, and share every pool above', async () => {
  const { asked, limits, last } = company();
  expect(await asked('ann', 9)).toBe('OK seat 1');
  expect(limits()).toEqual(['seat', 'team_pool@team', 'org_pool@org']);
  expect(last()?.matched.matches[0]?.plan).toMatchObject({ plan: { name: 'seat' }, planFrom: 'org', isDefault: false });
  expect(await asked('bob', 3)).toBe('OK team_pool 0');
  expect(await asked('bob', 1)).toBe('OVER_LIMIT team_pool 0');
  // Nothing was charged on any level.
  expect(await asked('org', 5)).toBe('OK org_own 0');
  expect(await asked('org', 0)).toBe('OVER_LIMIT org_own 0');
  expect(limits()).toEqual(['org_own', 'org_pool@org']);
});

test('a request that one pool denies is charged on no level', async () => {
  const { place, asked } = company();
  place('other', { plan: 'team', parent: 'org' });
  place('cid', { plan: 'seat', parent: 'other' });
  place('dan', { plan: 'seat', parent: 'other' });
  expect(await asked('ann', 10)).toBe('OK seat 0');
  expect(await asked('cid', 8)).toBe('OK seat 2');
  expect(await asked('dan', 3)).toBe('OVER_LIMIT org_pool 2');
  expect(await asked('dan', 2)).toBe('OK org_pool 0');
  expect(await asked('dan', 0)).toBe('OVER_LIMIT org_pool 0');
});

test('a plan with a pool alone counts the tenant itself and those below, and one without a parent too', async () => {
  const { asked, place, limits } = open();
  place('solo', { plan: 'team' });
  expect(await asked('solo', 12)).toBe('OK team_pool 0');
  expect(limits()).toEqual(['team_pool@solo']);
  expect(await asked('solo')).toBe('OVER_LIMIT team_pool 0');
});

test('a tenant whose plan is unlimited is limited by the pools above it', async () => {
  const { asked, place } = company();
  place('ann', { plan: 'endless', parent: 'team' });
  expect(await asked('ann', 12)).toBe('OK team_pool 0');
  expect(await asked('ann')).toBe('OVER_LIMIT team_pool 0');
});

test('a parent without a record counts by the default plan, so a child before its parent is never uncounted', async () => {
  const text = CONFIG.replace('default_plan: free', 'default_plan: team');
  const { asked, place, limits } = open(text);
  place('ann', { plan: 'seat', parent: 'team' });
  expect(await asked('ann')).toBe('OK seat 9');
  expect(limits()).toEqual(['seat', 'team_pool@team']);
  place('team', { plan: 'team', parent: 'org' });
  place('org', { plan: 'org' });
  await asked('ann');
  expect(limits()).toEqual(['seat', 'team_pool@team', 'org_pool@org']);
});

test('a member that moves is charged by its new parent from the next request on; what the old pool has stays there', async () => {
  const { asked, place, limits } = company();
  await asked('ann', 8);
  place('other', { plan: 'team' });
  place('ann', { parent: 'other', plan: 'seat' });
  expect(await asked('ann', 2)).toBe('OK seat 0');
  expect(limits()).toEqual(['seat', 'team_pool@other']);
  expect(await asked('bob', 4)).toBe('OK team_pool 0');
});

test('a cycle and a deeper tree, which only lost data can leave, end the walk, and every level that it meets counts once', async () => {
  const { asked, place, limits } = open();
  for (const [tenant, parent] of ['ab', 'bc', 'ca']) place(tenant!, { plan: 'team', parent: parent! });
  expect(await asked('a')).toBe('OK team_pool 11');
  expect(limits()).toEqual(['team_pool@a', 'team_pool@b', 'team_pool@c']);
  for (const [tenant, parent] of ['cd', 'de', 'ef']) place(tenant!, { plan: 'team', parent: parent! });
  await asked('a');
  expect(limits()).toEqual(['team_pool@a', 'team_pool@b', 'team_pool@c', 'team_pool@d']);
});

test('a nested descriptor has a pool for each combination of its other entries', async () => {
  const { ask, last } = company();
  await ask(1, 'model=big', 'caller=ann');
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 11, 19]);
  await ask(1, 'model=small', 'caller=bob');
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 11, 19]);
  await ask(1, 'model=small', 'caller=ann');
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 10, 18]);
});

test('a contract of the configuration leaves the tree', async () => {
  const { asked, place, limits } = company();
  place('contract', { plan: 'seat', parent: 'team' });
  await asked('contract');
  expect(limits()).toEqual(['contract']);
});

describe('records of a tenant above', () => {
  const entries = [{ key: 'caller', value: 'org' }];

  test('a block denies its whole subtree, and its end lifts it', async () => {
    const { asked, put, remove, last } = company();
    put({ kind: 'block', id: 'b', entries });
    expect(await asked('ann')).toBe('OVER_LIMIT block 0');
    expect(last()?.matched.matches[0]?.control).toMatchObject([{ kind: 'block', id: 'b' }]);
    put({ kind: 'pass', id: 'p', entries: [{ key: 'caller', value: 'ann' }] });
    expect(await asked('ann')).toBe('OVER_LIMIT block 0');
    remove('block', 'b');
    expect(await asked('ann')).toBe('OK - 4294967295');
  });

  test('a pass lifts its own pool alone', async () => {
    const { asked, put, limits } = company();
    put({ kind: 'pass', id: 'p', entries });
    await asked('ann');
    expect(limits()).toEqual(['seat', 'team_pool@team']);
  });

  test('an override with the name of a limit of the pool replaces it for the subtree, and keeps the used hits', async () => {
    const { asked, put, place } = company();
    place('ann', { plan: 'endless', parent: 'org' });
    await asked('ann', 18);
    put({ kind: 'override', id: 'o', entries, limit: { name: 'org_pool', unit: 'day', requests_per_unit: 30 } });
    expect(await asked('ann', 12)).toBe('OK org_pool 0');
    expect(await asked('ann')).toBe('OVER_LIMIT org_pool 0');
  });

  test('an override without a name is for the own limit of the owner, never for its pool', async () => {
    const { asked, put, limits, last } = company();
    put({ kind: 'override', id: 'o', entries, limit: { unit: 'day', requests_per_unit: 1000 } });
    await asked('org', 20);
    expect(limits()).toEqual(['org_own', 'org_pool@org']);
    expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([980, 0]);
  });
});

test('an override or a pass of a member changes no pool', async () => {
  const { asked, put, limits, last } = company();
  const entries = [{ key: 'caller', value: 'ann' }];
  put({ kind: 'override', id: 'o', entries, limit: { name: 'org_pool', unit: 'day', requests_per_unit: 3_000 } });
  await asked('ann');
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 11, 19]);
  put({ kind: 'override', id: 'o', entries, limit: { unit: 'day', requests_per_unit: 3_000 } });
  await asked('ann');
  expect(limits()).toEqual(['seat', 'team_pool@team', 'org_pool@org']);
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([2_998, 10, 18]);
});

test('run-time values of a plan replace limits of its pool by name', async () => {
  const { asked, put, remove, last } = company();
  put({ kind: 'plan', plan: 'org', limits: [{ name: 'org_pool', unit: 'day', requests_per_unit: 7 }] });
  await asked('ann');
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 11, 6]);
  remove('plan', 'org');
  await asked('ann');
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([8, 10, 18]);
});

test('refunds come back on every level', async () => {
  const { asked, last } = company();
  await asked('ann', 8);
  await asked('ann', -3);
  await asked('bob', 1);
  expect(last()?.verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 6, 14]);
});

test('the children of a tenant come in pages, in the order of their names', () => {
  const { data, place, remove } = open();
  for (const name of ['c', 'a', 'é', 'b']) place(name, { parent: 'org' });
  const org = { domain: 'llm', name: 'org' };
  expect(data.childrenOf(org, { limit: 3 })).toEqual({ names: ['a', 'b', 'c'], count: 4, next: 'c' });
  expect(data.childrenOf(org, { after: 'c', limit: 3 })).toEqual({ names: ['Ã©'], count: 4 });
  for (const name of ['c', 'a', 'é', 'b']) remove('tenant', name);
  expect(data.childrenOf(org, { limit: 3 })).toEqual({ names: [], count: 0 });
});

test('a tenant without a parent makes no limit of a pool and no object for one', async () => {
  const { ask, last } = company();
  await ask(1, 'caller=zoe');
  expect(last()?.matched.matches[0]?.pools).toBeUndefined();
});

test('the key of a pool names its owner, also as the hash tag that chooses the slot in a cluster', async () => {
  const keysOf = async (weir: ReturnType<typeof open>) => {
    await weir.ask(1, 'caller=ann');
    return weir.keys();
  };
  expect(await keysOf(company())).toEqual(['1{llm}fw86400|caller=ann', '1{llm}o.fw86400|caller=team', '1{llm}o.fw86400|caller=org']);
  expect(await keysOf(company(CONFIG.replace('domain: llm', 'domain: llm\nhash_tag: caller')))).toEqual([
    '1{llm|ann}fw86400|caller=ann',
    '1{llm|team}o.fw86400|caller=team',
    '1{llm|org}o.fw86400|caller=org',
  ]);
});

test('the limits of owners are kept, except for names that are longer than those of records, which callers choose', async () => {
  const text = CONFIG.replace('default_plan: free', 'default_plan: team');
  const poolLimit = (tenant: string) => {
    const request = requestOf([{ entries: entriesOf(`caller=${tenant}`) }], { domain: 'llm' });
    const { matches } = matchRequest({ ruleSet, request, modes: { shadow: false, quota: false }, control: data });
    return matches[0]!.limits.at(-1);
  };
  const ruleSet = compileText(text);
  const data = new ControlData();
  const [longest, longer] = ['x'.repeat(255), 'x'.repeat(TEXT_BYTES_MAX)];
  expect(poolLimit(longest)?.pool).toMatchObject({ tenant: longest });
  expect(poolLimit(longest)).toBe(poolLimit(longest));
  expect(poolLimit(longer)?.pool).toMatchObject({ tenant: longer });
  expect(poolLimit(longer)).not.toBe(poolLimit(longer));
  const { ask } = open(text);
  expect((await ask(12, `caller=${longer}`)).overallCode).toBe('OK');
  expect((await ask(1, `caller=${longer}`)).overallCode).toBe('OVER_LIMIT');
});
