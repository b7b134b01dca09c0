/** Members of a divided limit share its bucket and have one more for their share, whose size the water level gives; no request escapes it. */

import fc from 'fast-check';
import { compareRuleSets } from '../../../src/configuration/diff/compare-rule-sets';
import { explainRequest } from '../../../src/configuration/explain/explanation';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { toGroup } from '../../../src/domain/bucket/to-group';
import { TEXT_BYTES_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { beforeShare, shareLimit } from '../../../src/domain/rule/share';
import { leaveRoom, shareOf, waterLevel, type WaterLevel } from '../../../src/domain/rule/fair/water-level';
import { LIMIT_MAX, overdraftMaxOf } from '../../../src/domain/rule/limit';
import { matchRequest, type FairLevels, type MatchControl } from '../../../src/domain/rule/match';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { formatExplanation } from '../../../src/program/cli/explain/explanation-text';
import { canBeKeyed } from '../../../src/program/offline/keyed/keyed-engine';
import { entriesOf, limitOf, requestOf } from '../../support/decisions/rules';
import { seeded } from '../../support/random/random';
import { compileText } from '../compile/compile-config';

const MODES = { shadow: false, quota: false };
const FAIR = 'fair: { entry: tenant, weights: { acme: 3 } }';
const LIMIT = 'rate_limit: { unit: minute, requests_per_unit: 100, algorithm: fixed_window }';

const rules = (fields = LIMIT) => compileText(`domain: d\ndescriptors: [{ key: k, ${fields}, ${FAIR} }]\n`);

const levels = (level: WaterLevel | undefined): FairLevels => ({ version: 1, levelOf: () => level });

interface Asking {
  readonly ruleSet?: RuleSet;
  readonly fair?: FairLevels;
  readonly parts?: object;
  readonly control?: MatchControl;
}

function matchOf(entries: readonly string[], { ruleSet = rules(), fair, parts = {}, control }: Asking = {}) {
  const request = requestOf([{ entries: entriesOf(...entries), ...parts }]);
  return { request, matched: matchRequest({ ruleSet, request, modes: MODES, fair, control }) };
}

function takesOf(entries: readonly string[], asking?: Asking) {
  const { request, matched } = matchOf(entries, asking);
  return toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => 0 }).takes.map(({ bucketKey, limit: { capacity } }) => [
    bucketKey,
    capacity,
  ]);
}

const WHOLE = '1{d}fw60|k=a';

describe('the buckets of a request', () => {
  test.each([
    ['a member', ['k=a', 'tenant=acme'], '1{d}s.fw60|k=a|tenant=acme'],
    ['another member', ['k=a', 'tenant=b'], '1{d}s.fw60|k=a|tenant=b'],
    ['no member', ['k=a'], '1{d}s.fw60|k=a'],
    ['an empty name', ['k=a', 'tenant='], '1{d}s.fw60|k=a|tenant='],
    ['a member twice', ['k=a', 'tenant=acme', 'tenant=acme'], '1{d}s.fw60|k=a'],
    ['two members', ['k=a', 'tenant=b', 'tenant=acme'], '1{d}s.fw60|k=a'],
  ])('of %s are the whole limit and its share', (_, entries, share) => {
    expect(takesOf(entries)).toEqual([
      [WHOLE, 100],
      [share, 100],
    ]);
  });

  test('of the longest name are still two', () => {
    const takes = takesOf(['k=a', `tenant=${'t'.repeat(TEXT_BYTES_MAX)}`]);
    expect(takes).toHaveLength(2);
    expect(Math.max(...takes.map(([key]) => String(key).length))).toBeLessThan(600);
  });

  test('of other entries after the member do not match', () => {
    expect(takesOf(['k=a', 'tenant=acme', 'path=/'])).toEqual([]);
    expect(takesOf(['k=a', 'path=/'])).toEqual([]);
  });

  test('have the sizes that the level gives, by weight', () => {
    const fair = levels({ hits: 60, weight: 6 });
    expect(takesOf(['k=a', 'tenant=acme'], { fair })[1]![1]).toBe(30);
    expect(takesOf(['k=a', 'tenant=b'], { fair })[1]![1]).toBe(10);
    expect(takesOf(['k=a'], { fair })[1]![1]).toBe(10);
  });

  test('of a limit that the request brings have no share, and no member', () => {
    const override = { requestsPerUnit: 7, unit: 'minute' };
    expect(takesOf(['k=a', 'tenant=acme'], { parts: { override } })).toEqual([[WHOLE, 7]]);
  });

  test('with several limits have shares of those with a window of at most an hour', () => {
    const ruleSet = rules(
      'rate_limits: [{ name: m, unit: minute, requests_per_unit: 9, algorithm: fixed_window }, { name: d, unit: day, requests_per_unit: 99 }]',
    );
    const { matched } = matchOf(['k=a', 'tenant=b'], { ruleSet });
    expect(matched.matches[0]!.limits.map(({ name }) => name)).toEqual(['m', 'd', 'm_fair_share']);
  });

  test('go with their whole limit where another limit of the request replaces it', () => {
    const ruleSet = compileText(
      `domain: d\ndescriptors: [{ key: k, rate_limits: [{ name: m, unit: minute, requests_per_unit: 9 }, { name: n, unit: hour, requests_per_unit: 99 }], ${FAIR} }, { key: vip, rate_limit: { unit: minute, requests_per_unit: 500, replaces: [{ name: m }] } }]\n`,
    );
    const request = requestOf([{ entries: entriesOf('k=a', 'tenant=b') }, { entries: entriesOf('vip=x') }]);
    const [first] = matchRequest({ ruleSet, request, modes: MODES }).matches;
    expect(first!.limits.map(({ name }) => name)).toEqual(['n', 'n_fair_share']);
  });

  test('are in the slot of the whole limit, also where the member spreads other buckets', () => {
    const ruleSet = compileText(
      `domain: d\nhash_tag: tenant\ndescriptors: [{ key: k, ${LIMIT}, ${FAIR} }, { key: tenant, rate_limit: { unit: minute, requests_per_unit: 5 } }]\n`,
    );
    expect(takesOf(['k=a', 'tenant=b'], { ruleSet }).map(([key]) => key)).toEqual([WHOLE, '1{d}s.fw60|k=a|tenant=b']);
  });

  test('have no leases, whatever the limit says', () => {
    const ruleSet = rules('rate_limit: { unit: minute, requests_per_unit: 9, algorithm: fixed_window, leases: auto }');
    expect(matchOf(['k=a', 'tenant=b'], { ruleSet }).matched.matches[0]!.limits.map(({ leases }) => leases)).toEqual(['off', 'off']);
  });

  test('of a pass are none', () => {
    const control: MatchControl = {
      planOf: () => undefined,
      parentOf: () => undefined,
      planLimits: () => undefined,
      stageOf: () => undefined,
      select: () => ({ overrides: [], pass: { kind: 'pass', id: 'p' } }),
    };
    expect(takesOf(['k=a', 'tenant=b'], { control })).toEqual([]);
  });
});

describe('the water level', () => {
  const demand = fc.record({ hits: fc.oneof(fc.nat(30), fc.nat(LIMIT_MAX)), weight: fc.integer({ min: 1, max: 1_000 }) });

  test('gives all hits away, to nobody more than is asked for, and to those who want more the same for each weight', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(200), fc.nat(LIMIT_MAX)), fc.array(demand, { maxLength: 40 }), (capacity, demands) => {
        const level = waterLevel(capacity, demands);
        const sum = demands.reduce((all, { hits }) => all + BigInt(hits), 0n);
        if (level === undefined) return sum <= BigInt(capacity);
        // Exactly: those below the level have what they ask for, and the rest is the level of the others.
        const below = demands.filter(({ hits, weight }) => BigInt(hits) * BigInt(level.weight) <= BigInt(weight) * BigInt(level.hits));
        const above = demands.filter((each) => !below.includes(each));
        const spent = below.reduce((all, { hits }) => all + BigInt(hits), 0n);
        const weight = above.reduce((all, each) => all + each.weight, 0);
        return above.length > 0 && weight === level.weight && spent + BigInt(level.hits) === BigInt(capacity);
      }),
      seeded(2_000),
    );
  });

  test('rounds shares up by less than a hit, and keeps the order of weights', () => {
    fc.assert(
      fc.property(fc.nat(LIMIT_MAX), fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 1_000 }), (hits, all, weight) => {
        const share = BigInt(shareOf({ hits, weight: all }, weight));
        const least = BigInt(Math.min(weight, all)) * BigInt(hits);
        return share * BigInt(all) >= least && share * BigInt(all) < least + BigInt(all);
      }),
      seeded(2_000),
    );
  });

  test('leaves room for random arrivals, and at most 4 %', () => {
    expect(leaveRoom({ hits: 540, weight: 1 }, 600)).toEqual({ hits: 532, weight: 1 });
    expect(leaveRoom({ hits: 50, weight: 1 }, 600)).toEqual({ hits: 48, weight: 1 });
    expect(leaveRoom({ hits: 600, weight: 2 }, 600)).toEqual({ hits: 600, weight: 2 });
    expect(leaveRoom({ hits: 0, weight: 2 }, 600)).toEqual({ hits: 0, weight: 2 });
  });
});

describe('a share', () => {
  test('is the same object each time, also after very many levels', () => {
    const whole = limitOf({ requestsPerUnit: 100_000, unit: 'minute', algorithm: 'fixed_window' });
    const at = (hits: number) => shareLimit(whole as Parameters<typeof shareLimit>[0], 1, { hits, weight: 1 });
    expect(at(5)).toBe(at(5));
    for (let hits = 0; hits < 2_000; hits += 1) expect(at(hits).capacity).toBe(hits);
    expect(at(5)).toBe(at(5));
    expect(beforeShare(at(5))).toBe(whole);
  });

  test.each(['fixed_window', 'sliding_window_counter', 'sliding_window_log', 'token_bucket'] as const)(
    'of %s takes reports as far as the whole limit does',
    (algorithm) => {
      const whole = limitOf({ requestsPerUnit: 100, unit: 'minute', algorithm, overdraft: { max: 40 } });
      const share = shareLimit(whole as Parameters<typeof shareLimit>[0], 1, { hits: 10, weight: 1 });
      const all = shareLimit(whole as Parameters<typeof shareLimit>[0], 1, undefined);
      expect(share.capacity + overdraftMaxOf(share)!).toBe(all.capacity + overdraftMaxOf(all)!);
      expect(all.capacity + overdraftMaxOf(all)!).toBeGreaterThanOrEqual(140);
    },
  );

  test('of the largest limit is exact', () => {
    const whole = limitOf({ requestsPerUnit: LIMIT_MAX, unit: 'minute', algorithm: 'token_bucket', overdraft: {} });
    const share = shareLimit(whole as Parameters<typeof shareLimit>[0], 2, { hits: LIMIT_MAX, weight: 3 });
    expect(share.capacity).toBe(Math.ceil((LIMIT_MAX / 3) * 2) + 1);
    expect(share.capacity + overdraftMaxOf(share)!).toBeLessThanOrEqual(LIMIT_MAX);
  });
});

test('rules, diffs, explanations and replays show it', () => {
  const ruleSet = rules();
  expect(describeRules(ruleSet)[0]).toContain('fair: by tenant: acme 3, others 1');
  const changes = compareRuleSets(ruleSet, compileText(`domain: d\ndescriptors: [{ key: k, ${LIMIT} }]\n`));
  expect(JSON.stringify(changes)).toContain('by tenant: acme 3, others 1');
  const explain = (...entries: string[]) =>
    formatExplanation(
      explainRequest({
        ruleSet,
        levels: new Map(),
        plans: new Map(),
        request: requestOf([{ entries: entriesOf(...entries) }]),
        modes: MODES,
        keyPrefix: '',
        nowUs: () => 0,
        fair: levels({ hits: 40, weight: 4 }),
      }),
    );
  expect(explain('k=a', 'tenant=acme')).toContain('fair: tenant acme, weight 3');
  expect(explain('k=a', 'tenant=acme')).toContain('share: 30 per minute');
  expect(explain('k=a')).toContain('fair: no tenant, weight 1');
  expect(canBeKeyed(ruleSet, { domain: 'd', forms: [{ keys: ['k'] }] as never })).toBe(false);
});
