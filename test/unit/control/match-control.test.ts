/** A block denies the whole request and charges nothing, and an override keeps the used hits. */

import { ControlData } from '../../../src/state/control/control-data';
import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { readRecord } from '../../../src/state/control/read-record';
import type { Decision } from '../../../src/domain/decide/decision';
import type { RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import { additionsFor } from '../../../src/domain/respond/response-additions';
import { PROBLEM } from '../../../src/domain/rule/body/response-body';
import type { RequestMatch } from '../../../src/domain/rule/match';
import { makeShouldRateLimit, type ShouldRateLimitParts } from '../../../src/should-rate-limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { Store } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';

const START_US = 1_800_000_000_000_000;
const HOUR_US = 3_600_000_000;

const ROOT = levelOf({
  merchant: ruleOf({ limits: [limitOf({ requestsPerUnit: 3, unit: 'hour', name: 'per-merchant' })] }),
  both: ruleOf({
    limits: [limitOf({ requestsPerUnit: 3, unit: 'hour', name: 'x' }), limitOf({ requestsPerUnit: 5, unit: 'day', name: 'y' })],
  }),
  tokens: ruleOf({ limits: [limitOf({ requestsPerUnit: 3, unit: 'hour', overdraft: {} })] }),
  leaky: ruleOf({ limits: [limitOf({ requestsPerUnit: 3, unit: 'hour', algorithm: 'leaky_bucket', burst: 4 })] }),
});

const NO_STORE: Store = {
  take: () => Promise.reject(new StoreError('away', 'connection')),
  adjust: () => Promise.reject(new StoreError('away', 'connection')),
  close: () => Promise.resolve(),
};

interface OpenOptions extends Pick<ShouldRateLimitParts, 'additions'> {
  readonly shadow?: boolean;
  readonly store?: Store;
}

function open({ shadow = false, store, additions }: OpenOptions = {}) {
  const data = new ControlData();
  let version = 0;
  let last: RequestMatch | undefined;
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => RULES,
      store: store ?? new MemoryStore({ nowUs: () => START_US, bucketsMax: 100 }),
      modes: { shadow, quota: false },
      control: data,
      keyPrefix: '',
      nowUs: () => START_US,
      ...(additions && { additions }),
      record: ({ matched }) => {
        last = matched;
      },
    }),
  );
  return {
    data,
    put: (json: object) => {
      const record: ControlRecord = readRecord({ domain: 'd', id: 'r', ...json });
      data.apply({ key: keyOf(record), record, version: (version += 1) });
    },
    remove: (kind: ControlRecord['kind']) => {
      data.apply({ key: { kind, domain: 'd', name: 'r' }, version: (version += 1) });
    },
    ask: (request: RateLimitRequest): Promise<Decision> => decide(request, {}),
    matched: () => last,
  };
}

const RULES = ruleSetOf(ROOT);

const ONE = { ...requestOf([{ entries: entriesOf('merchant=1') }]), recurs: true } as const;
const pay = (...keys: string[]) => requestOf(keys.map((key) => ({ entries: entriesOf(key) })));

test('a block denies with a limit of 0 until it ends, and charges nothing', async () => {
  const { put, remove, ask, matched } = open();
  expect((await ask(ONE)).statuses[0]?.limitRemaining).toBe(2);
  put({ kind: 'block', entries: [{ key: 'merchant', value: '1' }], until: new Date((START_US + HOUR_US) / 1_000).toISOString() });
  const denied = await ask(ONE);
  expect(denied.overallCode).toBe('OVER_LIMIT');
  expect(denied.statuses).toMatchObject([
    {
      code: 'OVER_LIMIT',
      limitRemaining: 0,
      durationUntilResetUs: HOUR_US,
      denies: true,
      currentLimit: { requestsPerUnit: 0, name: 'block' },
    },
  ]);
  expect(matched()?.matches[0]?.control).toMatchObject([{ kind: 'block', id: 'r' }]);
  expect((await ask(pay('merchant=2'))).overallCode).toBe('OK');
  remove('block');
  expect((await ask(ONE)).statuses[0]?.limitRemaining).toBe(1);
});

test('the body of a blocked request is that of the domain, and says when the block ends or that a retry will not help', async () => {
  const options = {
    responseHeaders: 'off',
    headerNames: { limit: 'l', remaining: 'm', reset: 'r' },
    headerForms: { limit: 'requests_per_unit', reset: 'seconds' },
    retryAfter: true,
    retryAfterMs: true,
    requestMetadata: false,
    decisionMetadata: false,
  } as const;
  const { put, ask } = open({ additions: (rules) => additionsFor(rules, { ...options, responseBody: PROBLEM }) });
  put({ kind: 'block', entries: [{ key: 'merchant', value: '1' }], until: new Date((START_US + HOUR_US) / 1_000).toISOString() });
  const denied = await ask(ONE);
  expect(JSON.parse(denied.body ?? '')).toMatchObject({
    detail: 'These requests are blocked. Retry in 3600 s.',
    'violated-policies': ['block'],
    'retry-after': 3600,
  });
  put({ kind: 'block', entries: [{ key: 'merchant', value: '1' }] });
  const forever = await ask(ONE);
  expect(JSON.parse(forever.body ?? '')).toMatchObject({
    detail: 'These requests are blocked. A retry will not help.',
    'never-fits': true,
  });
  expect(forever.headers?.map(({ name }) => name)).toEqual(['X-Should-Retry', 'Content-Type', 'X-Content-Type-Options']);
});

test('a block denies the whole request, and charges no descriptor of it', async () => {
  const { put, remove, ask } = open();
  put({ kind: 'block', entries: [{ key: 'unlimited', value: 'x' }] });
  const denied = await ask(pay('merchant=1', 'unlimited=x'));
  expect(denied.overallCode).toBe('OVER_LIMIT');
  expect(denied.statuses.map(({ code, denies }) => [code, denies])).toEqual([
    ['OK', false],
    ['OVER_LIMIT', true],
  ]);
  expect(denied.statuses[1]?.neverFits).toBe(true);
  remove('block');
  expect((await ask(ONE)).statuses[0]?.limitRemaining).toBe(2);
});

test('a block holds without the store, and in a domain that is not configured', async () => {
  const { put, ask } = open({ store: NO_STORE });
  await expect(ask(ONE)).rejects.toThrow('away');
  put({ kind: 'block', entries: [{ key: 'merchant', value: '1' }] });
  expect((await ask(ONE)).overallCode).toBe('OVER_LIMIT');
  put({ kind: 'block', domain: 'other', entries: [{ key: 'merchant' }] });
  expect((await ask({ ...ONE, domain: 'other' })).overallCode).toBe('OVER_LIMIT');
});

test('usage reports, refunds and checks under a block', async () => {
  const { put, remove, ask } = open();
  put({ kind: 'block', entries: [{ key: 'tokens' }] });
  const entries = entriesOf('tokens=1');
  expect((await ask(requestOf([{ entries, hits: 5 }]))).overallCode).toBe('OVER_LIMIT');
  expect((await ask(requestOf([{ entries, hits: 0 }]))).overallCode).toBe('OVER_LIMIT');
  expect((await ask(requestOf([{ entries, hits: -1 }]))).overallCode).toBe('OK');
  remove('block');
  // Of 3, 5 were used and 1 was refunded.
  expect((await ask(requestOf([{ entries, hits: 0 }]))).statuses[0]).toMatchObject({ code: 'OVER_LIMIT', debt: 1 });
});

test('with SHADOW_MODE a block denies nothing, is shown, and hits are counted', async () => {
  const { put, remove, ask } = open({ shadow: true });
  put({ kind: 'block', entries: [{ key: 'merchant' }] });
  const decision = await ask(ONE);
  expect(decision).toMatchObject({ overallCode: 'OK', statuses: [{ code: 'OVER_LIMIT' }] });
  remove('block');
  expect((await ask(ONE)).statuses[0]?.limitRemaining).toBe(1);
});

test('a pass limits nothing, and a block wins over it', async () => {
  const { put, ask, matched } = open();
  put({ kind: 'pass', entries: [{ key: 'merchant' }] });
  for (let i = 0; i < 5; i += 1) expect(await ask(ONE)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 2 ** 32 - 1 }] });
  expect(matched()?.matches[0]?.control).toMatchObject([{ kind: 'pass', id: 'r' }]);
  put({ kind: 'block', entries: [{ key: 'merchant' }] });
  expect((await ask(ONE)).overallCode).toBe('OVER_LIMIT');
});

const override = (limit: object, key = 'merchant') => ({ kind: 'override', entries: [{ key }], limit: { unit: 'hour', ...limit } });

test('an override keeps the used hits, and everything that it does not say', async () => {
  const { put, remove, ask, matched } = open();
  await ask(ONE);
  put(override({ requests_per_unit: 10 }));
  const decision = await ask(ONE);
  expect(decision.statuses[0]).toMatchObject({
    limitRemaining: 8,
    currentLimit: { requestsPerUnit: 10, name: 'per-merchant', algorithm: 'token_bucket' },
  });
  expect(matched()?.matches[0]?.control).toMatchObject([{ kind: 'override', id: 'r' }]);
  put(override({ requests_per_unit: 1 }));
  expect((await ask(ONE)).overallCode).toBe('OVER_LIMIT');
  remove('override');
  expect((await ask(ONE)).statuses[0]?.limitRemaining).toBe(0);
  expect(matched()?.matches[0]?.control).toBeUndefined();
});

test('of a rule with several limits it replaces the one that it names, and none without a name', async () => {
  const { put, ask, matched } = open();
  const capacities = async () => {
    await ask(pay('both=1'));
    return matched()?.matches[0]?.limits.map(({ capacity }) => capacity);
  };
  put(override({ requests_per_unit: 10 }, 'both'));
  expect(await capacities()).toEqual([3, 5]);
  put(override({ requests_per_unit: 10, name: 'y', unit: 'day' }, 'both'));
  expect(await capacities()).toEqual([3, 10]);
});

test('a configured burst stays, unless the record has one', async () => {
  const { put, ask, matched } = open();
  const capacity = async () => {
    await ask(pay('leaky=1'));
    return matched()?.matches[0]?.limits[0]?.capacity;
  };
  put(override({ requests_per_unit: 30 }, 'leaky'));
  expect(await capacity()).toBe(5);
  put(override({ requests_per_unit: 30, burst: 9 }, 'leaky'));
  expect(await capacity()).toBe(10);
});

test('an override leaves a request with a limit of its own alone', async () => {
  const { put, ask } = open();
  put(override({ requests_per_unit: 1 }));
  const own = { requestsPerUnit: 7, unit: 'hour', unitMultiplier: 1 } as const;
  expect((await ask(requestOf([{ entries: entriesOf('merchant=9'), override: own }]))).statuses[0]?.currentLimit?.requestsPerUnit).toBe(7);
});

test('the same override makes the same limit each time, so that stores can fold takes', async () => {
  const { put, ask, matched } = open();
  put(override({ requests_per_unit: 10 }));
  const limits = [];
  for (const key of ['merchant=1', 'merchant=2']) {
    await ask(pay(key));
    limits.push(matched()?.matches[0]?.limits[0]);
  }
  expect(limits[0]).toBe(limits[1]);
});

test('a record that is put again with other entries selects by these alone', async () => {
  const { put, ask, matched } = open();
  const limitOfMerchant = async (value: string) => {
    await ask(pay(`merchant=${value}`));
    return matched()?.matches[0]?.limits[0]?.requestsPerUnit;
  };
  const entriesAnd = (...entries: readonly object[]) => ({ ...override({ requests_per_unit: 10 }), entries });
  const limits = async () => [await limitOfMerchant('1'), await limitOfMerchant('2')];
  put(entriesAnd({ key: 'merchant', value: '1' }));
  expect(await limits()).toEqual([10, 3]);
  put(entriesAnd({ key: 'merchant', value: '2' }));
  expect(await limits()).toEqual([3, 10]);
  put(entriesAnd({ key: 'merchant' }));
  expect(await limits()).toEqual([10, 10]);
  put(entriesAnd({ key: 'merchant', value: '1' }, { key: 'endpoint' }));
  expect(await limits()).toEqual([3, 3]);
});

test('an override that ended, or has other values, is not remembered', async () => {
  const { data, put, ask, matched } = open();
  const limit = async () => {
    await ask(ONE);
    return matched()?.matches[0]?.limits[0]?.requestsPerUnit;
  };
  put({ ...override({ requests_per_unit: 10 }), until: new Date((START_US + HOUR_US) / 1_000).toISOString() });
  expect([await limit(), await limit()]).toEqual([10, 10]);
  put({ ...override({ requests_per_unit: 20 }), until: new Date((START_US + HOUR_US) / 1_000).toISOString() });
  expect(await limit()).toBe(20);
  data.expire(START_US + HOUR_US);
  expect(await limit()).toBe(3);
});

test('overrides with the same values share one limit, so that stores can fold takes', async () => {
  const { put, ask, matched } = open();
  const limits = [];
  for (const value of ['1', '2']) {
    put({ ...override({ requests_per_unit: 10 }), id: value, entries: [{ key: 'merchant', value }] });
    await ask(pay(`merchant=${value}`));
    limits.push(matched()?.matches[0]?.limits[0]);
  }
  expect(limits[0]?.requestsPerUnit).toBe(10);
  expect(limits[0]).toBe(limits[1]);
});

describe('an override with candidate: true', () => {
  const selects = { kind: 'override', entries: [{ key: 'merchant', value: '1' }] };
  const limit = { requests_per_unit: 1, unit: 'hour' };

  test('judges each request, never denies, and is in force once it is promoted', async () => {
    const { put, ask, matched } = open();
    put({ ...selects, limit, candidate: true });
    expect(await ask(ONE)).toMatchObject({ overallCode: 'OK', candidates: [{ descriptor: 0, fits: true, limit: { requestsPerUnit: 1 } }] });
    expect(await ask(ONE)).toMatchObject({
      overallCode: 'OK',
      statuses: [{ limitRemaining: 1, currentLimit: { requestsPerUnit: 3 } }],
      candidates: [{ fits: false }],
    });
    expect(matched()?.matches[0]?.control).toMatchObject([{ kind: 'override', id: 'r', candidate: true }]);
    expect((await ask(pay('merchant=2'))).candidates).toBeUndefined();
    put({ ...selects, limit });
    const promoted = await ask(ONE);
    expect(promoted).toMatchObject({ overallCode: 'OVER_LIMIT', statuses: [{ currentLimit: { requestsPerUnit: 1 } }] });
    expect(promoted.candidates).toBeUndefined();
  });

  test('stands beside the override in force', async () => {
    const { put, ask } = open();
    put({ ...selects, limit: { requests_per_unit: 2, unit: 'hour' } });
    put({ ...selects, id: 'tried', limit, candidate: true });
    expect(await ask(ONE)).toMatchObject({ statuses: [{ currentLimit: { requestsPerUnit: 2 } }], candidates: [{ fits: true }] });
    expect(await ask(ONE)).toMatchObject({ overallCode: 'OK', candidates: [{ fits: false }] });
    expect(await ask(ONE)).toMatchObject({ overallCode: 'OVER_LIMIT' });
  });
});

describe('overrides that would put two limits on one bucket', () => {
  const both = pay('both=1');
  const unitsOf = (match: RequestMatch | undefined) =>
    match?.matches[0]?.limits.map(({ name, unit, requestsPerUnit }) => [name, unit, requestsPerUnit]);
  const override = (id: string, name: string, unit: string) => ({
    kind: 'override',
    id,
    entries: [{ key: 'both' }],
    limit: { name, requests_per_unit: 9, unit },
  });

  test('one that makes its limit share has no effect, and the rest apply', async () => {
    const { put, ask, matched } = open();
    put(override('a', 'x', 'day'));
    await ask(both);
    expect(unitsOf(matched())).toEqual([
      ['x', 'hour', 3],
      ['y', 'day', 5],
    ]);
    expect(matched()?.matches[0]?.control).toBeUndefined();
    put(override('b', 'y', 'minute'));
    await ask(both);
    expect(unitsOf(matched())).toEqual([
      ['x', 'day', 9],
      ['y', 'minute', 9],
    ]);
  });

  test('two that exchange the windows both apply', async () => {
    const { put, ask, matched } = open();
    put(override('a', 'x', 'day'));
    put(override('b', 'y', 'hour'));
    await ask(both);
    expect(unitsOf(matched())).toEqual([
      ['x', 'day', 9],
      ['y', 'hour', 9],
    ]);
  });

  test('of two that lead to one window the first by precedence applies', async () => {
    const { put, ask, matched } = open();
    put(override('a', 'x', 'minute'));
    put(override('b', 'y', 'minute'));
    await ask(both);
    // The newer one wins.
    expect(unitsOf(matched())).toEqual([
      ['x', 'hour', 3],
      ['y', 'minute', 9],
    ]);
    expect(matched()?.matches[0]?.control).toMatchObject([{ id: 'b' }]);
  });
});
