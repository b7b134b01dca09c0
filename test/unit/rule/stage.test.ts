/** A stage enforces a candidate for a stable share of the values of one entry, and nothing moves but the limit. */

import { Registry } from 'prom-client';
import { toGroup } from '../../../src/domain/bucket/to-group';
import type { Decision } from '../../../src/domain/decide/decision';
import { matchRequest } from '../../../src/domain/rule/match';
import { isInStage, makeStage } from '../../../src/domain/rule/stage/stage';
import { makeRecordDecision } from '../../../src/server/observability/metrics/record-decision';
import { RuleMetrics } from '../../../src/server/observability/metrics/rule-metrics';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { explainRequest } from '../../../src/configuration/explain/explanation';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { compileText, problemsOf } from '../compile/compile-config';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';

/** The start of a minute. */
const START_US = 1_800_057_600_000_000;

const MODES = { shadow: false, quota: false };

const VALUES = 20_000;

const stageNamed = (name: string) => makeStage({ domain: 'd', name, values: { percent: 0, version: 0 }, isConfigured: true });

const valueAt = (i: number) => `merchant-${i}`;

function shareOf(name: string, percent: number): number {
  const stage = stageNamed(name);
  let inStage = 0;
  for (let i = 0; i < VALUES; i += 1) if (isInStage(stage, valueAt(i), percent)) inStage += 1;
  return (100 * inStage) / VALUES;
}

test.each([1, 10, 25, 50, 99])('%d percent of many values are in the stage', (percent) => {
  for (const name of ['merchant', 'path_/payment.merchant', 'a']) expect(Math.abs(shareOf(name, percent) - percent)).toBeLessThan(1);
});

test('0 percent has no value, 100 percent has all, and a larger share keeps every value of a smaller one', () => {
  const stage = stageNamed('merchant');
  let before = new Set<number>();
  for (const percent of [0, 0.01, 1, 10, 33.33, 50, 99.99, 100]) {
    const inStage = new Set<number>();
    for (let i = 0; i < VALUES; i += 1) if (isInStage(stage, valueAt(i), percent)) inStage.add(i);
    expect([...before].filter((i) => !inStage.has(i))).toEqual([]);
    if (percent === 0) expect(inStage.size).toBe(0);
    before = inStage;
  }
  expect(before.size).toBe(VALUES);
});

test('two rules choose their values independently', () => {
  const [one, other] = [stageNamed('merchant'), stageNamed('merchant2')];
  let both = 0;
  for (let i = 0; i < VALUES; i += 1) if (isInStage(one, valueAt(i), 50) && isInStage(other, valueAt(i), 50)) both += 1;
  expect(Math.abs((100 * both) / VALUES - 25)).toBeLessThan(1);
});

const withRollout = (rollout: string, candidate = 'requests_per_unit: 2') =>
  `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: minute, requests_per_unit: 3, name: live, candidate: { ${candidate}${rollout} } }\n`;

const staged = (percent: number, candidate?: string) => withRollout(`, rollout: { by: k, percent: ${percent} }`, candidate);

function open(first: string) {
  let ruleSet = compileText(first);
  const registry = new Registry();
  const ruleMetrics = new RuleMetrics({ registry, seriesMax: 20, nearLimitRatio: 0.8, sanitizeDots: false });
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store: new MemoryStore({ nowUs: () => START_US, bucketsMax: 100_000 }),
      modes: MODES,
      keyPrefix: '',
      nowUs: () => START_US,
      record: makeRecordDecision({ metrics: { globalShadowMode: { inc: () => undefined } as never }, ruleMetrics, globalShadow: false }),
    }),
  );
  return {
    load: (text: string) => {
      ruleSet = compileText(text);
    },
    ask: (value: string, hits = 1): Promise<Decision> => decide(requestOf([{ entries: entriesOf(`k=${value}`) }], { hits }), {}),
    counts: async (name: string) =>
      Object.fromEntries(
        [...((await registry.getSingleMetric(name)?.get())?.values ?? [])].map(({ labels: { part, key1 }, value }) => [
          String(part ?? key1),
          value,
        ]),
      ),
  };
}

const keysOf = (text: string, value = 'v') => {
  const request = requestOf([{ entries: entriesOf(`k=${value}`) }]);
  const matched = matchRequest({ ruleSet: compileText(text), request, modes: MODES });
  const { takes } = toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => START_US });
  return takes.map(({ bucketKey, mode, limit }) => [bucketKey, mode, limit.capacity]);
};

test('at 0 percent the candidate never denies, and at 100 percent it is the limit, in the same bucket', () => {
  expect(keysOf(staged(0))).toEqual(keysOf(withRollout('')));
  expect(keysOf(staged(100))).toEqual([['1{d}fw60|k=v', 'enforced', 2]]);
});

test('a candidate with another window decides in the bucket that it has counted in', () => {
  expect(keysOf(staged(0, 'requests_per_unit: 9, unit: hour'))[1]).toEqual(['1{d}c.fw3600|k=v', 'shadow', 9]);
  expect(keysOf(staged(100, 'requests_per_unit: 9, unit: hour'))).toEqual([['1{d}c.fw3600|k=v', 'enforced', 9]]);
});

test('a value that moves keeps its used hits, in both directions', async () => {
  const { ask, load } = open('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: minute, requests_per_unit: 3, name: live } }]\n');
  expect(await ask('v', 2)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] });
  load(staged(100));
  expect(await ask('v')).toMatchObject({ overallCode: 'OVER_LIMIT', statuses: [{ currentLimit: { requestsPerUnit: 2, name: 'live' } }] });
  load(staged(0));
  expect(await ask('v')).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 0, currentLimit: { requestsPerUnit: 3 } }] });
});

test('metrics count both parts, and the candidate beside the limit only outside of the stage', async () => {
  const { ask, counts } = open(staged(50));
  const stage = stageNamed('k');
  let inStage = 0;
  for (let i = 0; i < 1_000; i += 1) {
    const isIn = isInStage(stage, valueAt(i), 50);
    inStage += Number(isIn);
    const { overallCode } = await ask(valueAt(i), 3);
    expect(overallCode).toBe(isIn ? 'OVER_LIMIT' : 'OK');
  }
  expect(await counts('weir_rollout_hits_total')).toEqual({ candidate: 3 * inStage, current: 3 * (1_000 - inStage) });
  expect(await counts('weir_rollout_over_limit_hits_total')).toEqual({ candidate: 3 * inStage });
  expect(await counts('weir_candidate_hits_total')).toEqual({ k: 3 * (1_000 - inStage) });
});

test('a stage of a plan chooses tenants', () => {
  const text = `domain: d
plans: { free: { rate_limit: { unit: minute, requests_per_unit: 3, candidate: { requests_per_unit: 2, rollout: { by: k, percent: 100 } } } } }
descriptors: [{ key: k, tenant: true, default_plan: free }]
`;
  expect(keysOf(text)).toEqual([['1{d}fw60|k=v', 'enforced', 2]]);
});

test('/rlconfig shows the rollout, and an explanation says in which part a request is', () => {
  const [line] = describeRules(compileText(staged(50)));
  expect(line).toContain('candidate: unit=MINUTE requests_per_unit=2 unit_multiplier=1 algorithm=fixed_window by=k percent=50');
  const explain = (percent: number) =>
    explainRequest({
      ruleSet: compileText(staged(percent)),
      levels: new Map(),
      plans: new Map(),
      request: requestOf([{ entries: entriesOf('k=v') }]),
      modes: MODES,
      keyPrefix: '',
      nowUs: () => START_US,
    }).descriptors[0];
  expect(explain(100)).toMatchObject({
    stage: { rollout: 'k', by: 'k', percent: 100, part: 'candidate' },
    limits: [{ requestsPerUnit: 2, name: 'live', bucketKey: '1{d}fw60|k=v', source: { from: 'rule' } }],
    replaced: [],
  });
  expect(explain(0)).toMatchObject({ stage: { part: 'current' }, limits: [{ requestsPerUnit: 3, candidate: { requestsPerUnit: 2 } }] });
});

test('mistakes have their place', () => {
  const inList = (one: string, other: string) =>
    `domain: d\ndescriptors:\n  - key: k\n    rate_limits:\n      - { unit: minute, requests_per_unit: 3, candidate: { requests_per_unit: 2${one} } }\n      - { unit: hour, requests_per_unit: 3, candidate: { requests_per_unit: 2${other} } }\n`;
  const [ten, twenty] = [10, 20].map((percent) => `, rollout: { by: k, percent: ${percent} }`);
  expect(problemsOf(inList(ten ?? '', ten ?? ''))).toEqual([]);
  expect(problemsOf(inList(ten ?? '', twenty ?? ''))).toEqual([
    expect.stringMatching(/^c\.yaml:6:\d+: descriptors\[0\]\.rate_limits\[1\]\.candidate\.rollout: differs from the rollout/),
  ]);
  const shared = 'domain: d\ndescriptors:\n  - { key: k, value: a*, share_threshold: true, rate_limit: LIMIT }\n';
  const limit = '{ unit: minute, requests_per_unit: 3, candidate: { requests_per_unit: 2, rollout: { by: k, percent: 10 } } }';
  expect(problemsOf(shared.replace('LIMIT', limit))).toEqual([expect.stringContaining('rollout.by: "k" has share_threshold')]);
  expect(problemsOf(`domain: d\ndescriptors:\n  - { key: k, value: a, rate_limit: ${limit} }\n`)).toEqual([
    expect.stringContaining('rollout.by: "k" has a single value here'),
  ]);
  const [warning] = compileText(staged(10, 'requests_per_unit: 9, unit: hour')).warnings;
  expect(warning).toContain('candidate.rollout: starts new buckets');
});
