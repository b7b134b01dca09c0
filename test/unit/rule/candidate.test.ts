/** A candidate never denies, is never shown, and counts what it would have denied. */

import { Registry } from 'prom-client';
import { toGroup } from '../../../src/domain/bucket/to-group';
import type { Decision } from '../../../src/domain/decide/decision';
import { makeRecordDecision } from '../../../src/server/observability/metrics/record-decision';
import { RuleMetrics } from '../../../src/server/observability/metrics/rule-metrics';
import { matchRequest, rateLimitsOf } from '../../../src/domain/rule/match';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { compileText, problemsOf } from '../compile/compile-config';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';

/** The start of a minute. */
const START_US = 1_800_057_600_000_000;

const withLimit = (limit: string): string =>
  `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { ${limit} }\n  - key: l\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n`;

const LIMIT = 'unit: minute, requests_per_unit: 3, name: live, candidate: { requests_per_unit: 2 }';

function open(text = withLimit(LIMIT)) {
  const ruleSet = compileText(text);
  const registry = new Registry();
  const ruleMetrics = new RuleMetrics({ registry, seriesMax: 20, nearLimitRatio: 0.8, sanitizeDots: false });
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store: new MemoryStore({ nowUs: () => START_US, bucketsMax: 100 }),
      modes: { shadow: false, quota: false },
      keyPrefix: '',
      nowUs: () => START_US,
      record: makeRecordDecision({ metrics: { globalShadowMode: { inc: () => undefined } as never }, ruleMetrics, globalShadow: false }),
    }),
  );
  return {
    ruleSet,
    ask: (hits: number, ...keys: string[]): Promise<Decision> =>
      decide(
        requestOf(
          keys.map((key) => ({ entries: entriesOf(key) })),
          { hits },
        ),
        {},
      ),
    count: async (name: string) => [...((await registry.getSingleMetric(name)?.get())?.values ?? [])].map(({ value }) => value),
  };
}

const fits = ({ candidates }: Decision) => candidates?.map((candidate) => candidate.fits);

test('a candidate never denies, is not shown, and counts what it would have denied', async () => {
  const { ask, count } = open();
  const decisions = [await ask(1, 'k=v'), await ask(1, 'k=v'), await ask(1, 'k=v')];
  expect(decisions.map(({ overallCode }) => overallCode)).toEqual(['OK', 'OK', 'OK']);
  expect(decisions.map(({ statuses }) => [statuses[0]?.currentLimit?.name, statuses[0]?.limitRemaining])).toEqual([
    ['live', 2],
    ['live', 1],
    ['live', 0],
  ]);
  expect(decisions.map(fits)).toEqual([[true], [true], [false]]);
  expect((await ask(1, 'k=v')).overallCode).toBe('OVER_LIMIT');
  expect(await count('weir_candidate_hits_total')).toEqual([4]);
  expect(await count('weir_candidate_over_limit_hits_total')).toEqual([2]);
  expect(await count('ratelimit_service_rate_limit_over_limit')).toEqual([1]);
  expect(await count('ratelimit_service_rate_limit_shadow_mode')).toEqual([]);
});

test('a denied request charges no candidate', async () => {
  const { ask } = open();
  await ask(5, 'l=v');
  expect((await ask(1, 'k=v', 'l=v')).overallCode).toBe('OVER_LIMIT');
  expect(fits(await ask(2, 'k=v'))).toEqual([true]);
});

test('a refund applies to the candidate too', async () => {
  const { ask } = open();
  await ask(2, 'k=v');
  await ask(-2, 'k=v');
  expect(fits(await ask(2, 'k=v'))).toEqual([true]);
});

test('a candidate has a bucket of its own, also with the window of its limit', () => {
  const { ruleSet } = open();
  const request = requestOf([{ entries: entriesOf('k=v') }]);
  const modes = { shadow: false, quota: false };
  const matched = matchRequest({ ruleSet, request, modes });
  const { takes } = toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => START_US });
  expect(takes.map(({ bucketKey, mode }) => [bucketKey, mode])).toEqual([
    ['1{d}fw60|k=v', 'enforced'],
    ['1{d}c.fw60|k=v', 'shadow'],
  ]);
  // A reservation holds hits of the limits alone.
  expect(toGroup({ request, matched: rateLimitsOf(matched), keyPrefix: '', shadow: false, nowUs: () => START_US }).takes).toHaveLength(1);
});

test('what a candidate leaves out is as in the limit', () => {
  const candidateOf = (limit: string) => compileText(withLimit(limit)).domains.get('d')?.root.byKey.get('k')?.rule?.limits[0]?.candidate;
  expect(
    candidateOf(
      'unit: minute, unit_multiplier: 5, requests_per_unit: 9, algorithm: token_bucket, burst: 20, candidate: { requests_per_unit: 4 }',
    ),
  ).toMatchObject({ requestsPerUnit: 4, unit: 'minute', unitMultiplier: 5, algorithm: 'token_bucket', capacity: 20 });
  expect(
    candidateOf('unit: minute, unit_multiplier: 5, requests_per_unit: 9, candidate: { requests_per_unit: 4, unit: hour }'),
  ).toMatchObject({ unit: 'hour', unitMultiplier: 1 });
  expect(
    candidateOf('unit: day, requests_per_unit: 9, calendar: true, candidate: { requests_per_unit: 4, algorithm: sliding_window_counter }'),
  ).toMatchObject({
    algorithm: 'sliding_window_counter',
    role: 'candidate',
  });
  expect(
    candidateOf('unit: day, requests_per_unit: 9, calendar: true, time_zone: Europe/Berlin, candidate: { requests_per_unit: 4 }'),
  ).toMatchObject({
    calendar: { timeZone: 'Europe/Berlin' },
  });
});

test('two candidates of a descriptor with one window are refused, and a bad candidate has its place', () => {
  expect(
    problemsOf(
      'domain: d\ndescriptors:\n  - key: k\n    rate_limits:\n      - { unit: minute, requests_per_unit: 3, candidate: { requests_per_unit: 2 } }\n      - { unit: hour, requests_per_unit: 3, candidate: { requests_per_unit: 2, unit: minute } }\n',
    ),
  ).toEqual([
    expect.stringMatching(
      /^c\.yaml:6:56: descriptors\[0\]\.rate_limits\[1\]\.candidate: uses fixed_window over the same window as the limit/,
    ),
  ]);
  expect(problemsOf(withLimit('unit: year, requests_per_unit: 3, candidate: { requests_per_unit: 2, unit_multiplier: 101 }'))).toEqual([
    expect.stringContaining('descriptors[0].rate_limit.candidate.unit_multiplier: 101 makes a window of over 100 years'),
  ]);
});

test('/rlconfig shows the candidate of a limit', () => {
  expect(describeRules(open().ruleSet)[0]).toContain(
    'candidate: unit=MINUTE requests_per_unit=2 unit_multiplier=1 algorithm=fixed_window, name: live',
  );
});
