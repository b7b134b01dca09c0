/** `weir diff` says what a changed configuration means for requests, and calls a limit looser or stricter only if it is. */

import fc from 'fast-check';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { examineConfig } from '../../../src/configuration/compile/compile';
import { compareRuleSets } from '../../../src/configuration/diff/compare-rule-sets';
import type { ConfigurationDiff, Direction } from '../../../src/configuration/diff/change';
import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { DIFF_FORMATS } from '../../../src/program/cli/diff/diff-report';
import { VirtualService } from '../../../src/program/offline/virtual-service';
import { runWeir } from '../../support/processes/command';
import { seeded } from '../../support/random/random';

const START_US = 1_800_000_000_000_000;

function ruleSetOf(text: string): RuleSet {
  const { ruleSet, list } = examineConfig({
    files: [{ name: 'a.yaml', text }],
    defaultAlgorithm: 'token_bucket',
    calendarMonth: false,
    mergeDomainConfig: false,
    generation: 1,
  });
  list.throwIfAny();
  return ruleSet;
}

const RULE = (terms: string, more = '') =>
  `{ domain: d, descriptors: [{ key: k, ${more} rate_limit: { unit: minute, requests_per_unit: 60, ${terms} } }] }`;

const POOL = (pool: string, more = '') =>
  `{ domain: d, plans: { p: { pool: [{ name: q, unit: day, requests_per_unit: ${pool} }]${more} } }, descriptors: [{ key: k, tenant: true, default_plan: p }] }`;

function directionOf(from: string, to: string): Direction {
  return compareRuleSets(ruleSetOf(from), ruleSetOf(to)).direction;
}

const MIRRORED: Readonly<Record<Direction, Direction>> = { none: 'none', both: 'both', looser: 'stricter', stricter: 'looser' };

test.each<[string, string, string, Direction, boolean]>([
  ['a smaller limit', RULE(''), RULE('').replace('60', '59'), 'stricter', false],
  ['a smaller pool of a plan', POOL('60'), POOL('59'), 'stricter', false],
  ['another plan for members', POOL('60'), POOL('60', ', members: p'), 'both', false],
  ['a larger burst', RULE('burst: 60'), RULE('burst: 61'), 'looser', false],
  ['a larger rate with a smaller burst', RULE('burst: 60'), RULE('burst: 20').replace('unit: 60', 'unit: 90'), 'both', false],
  [
    'the same rate in a shorter window, at most as many at once',
    RULE('burst: 9'),
    RULE('burst: 9').replace('minute', 'second').replace('60', '1'),
    'none',
    true,
  ],
  ['60 a minute in place of 1 a second', RULE('burst: 60'), RULE('').replace('minute', 'second').replace('60', '1'), 'stricter', true],
  [
    'the same window in other words',
    RULE('unit_multiplier: 2, algorithm: fixed_window'),
    RULE('unit_multiplier: 120, algorithm: fixed_window').replace('minute', 'second'),
    'none',
    false,
  ],
  ['another algorithm', RULE(''), RULE('algorithm: fixed_window'), 'both', true],
  ['a longer fixed window', RULE('algorithm: fixed_window'), RULE('algorithm: fixed_window').replace('minute', 'hour'), 'both', true],
  ['shadow_mode', RULE(''), RULE('', 'shadow_mode: true,'), 'looser', false],
  ['quota_mode', RULE(''), RULE('', 'quota_mode: true,'), 'looser', false],
  ['no limit in place of one', RULE(''), '{ domain: d, descriptors: [{ key: k, rate_limit: { unlimited: true } }] }', 'looser', false],
  ['requests in flight beside it', RULE(''), RULE('', 'in_flight: { max: 3, hold: 10s },'), 'stricter', false],
  ['a rule that is gone', RULE(''), '{ domain: d, descriptors: [{ key: other, rate_limit: { unlimited: true } }] }', 'looser', false],
  [
    'a rule beside one that had its requests',
    RULE(''),
    '{ domain: d, descriptors: [{ key: k, rate_limit: { unit: minute, requests_per_unit: 60 } }, { key: k, value: v, rate_limit: { unit: minute, requests_per_unit: 99 } }] }',
    'both',
    false,
  ],
  ['another hash_tag', RULE(''), RULE('').replace('domain: d,', 'domain: d, hash_tag: k,'), 'none', true],
  ['a candidate', RULE(''), RULE('candidate: { requests_per_unit: 9 }'), 'none', false],
  ['a failure mode', RULE(''), RULE('failure_mode: closed'), 'none', false],
])('%s', (_what, from, to, direction, anew) => {
  const found = compareRuleSets(ruleSetOf(from), ruleSetOf(to));
  expect(found.direction).toBe(direction);
  expect(found.rules.length).toBe(from === to ? 0 : 1 + Number(_what.startsWith('a rule that')) - Number(_what.includes('other words')));
  expect(found.rules.some(({ changes }) => changes.some(({ startsEmpty }) => startsEmpty))).toBe(anew);
  expect(directionOf(to, from)).toBe(MIRRORED[direction]);
});

test('order, comments and the form of the same meaning make no difference', () => {
  const one =
    'domain: d\ndescriptors:\n  - {key: a, rate_limit: {unit: hour, requests_per_unit: 7}}\n  - {key: b, value: x, rate_limit: {unit: day, requests_per_unit: 5}}\n';
  const other =
    '# the same\ndomain: "d"\ndescriptors:\n- key: b\n  value: "x"\n  rate_limit: {requests_per_unit: 5, unit: DAY, unit_multiplier: 1}\n- {key: a, rate_limit: {unit: hour, requests_per_unit: 7}}\n';
  expect(compareRuleSets(ruleSetOf(one), ruleSetOf(other))).toEqual({ direction: 'none', rules: [] });
});

const limits = fc.record({
  unit: fc.constantFrom('second', 'minute'),
  requests: fc.integer({ min: 1, max: 6 }),
  burst: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
  algorithm: fc.constantFrom(...ALGORITHMS),
});

type Written = typeof limits extends fc.Arbitrary<infer Value> ? Value : never;

function writtenAs({ unit, requests, burst, algorithm }: Written): string {
  const size = burst === undefined || !algorithm.endsWith('bucket') ? '' : `, burst: ${burst}`;
  return `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: ${requests}, algorithm: ${algorithm}${size} } }] }`;
}

/** How many are admitted up to each arrival. */
async function admittedBy(ruleSet: RuleSet, arrivalsUs: readonly number[]): Promise<number[]> {
  const service = new VirtualService({
    ruleSet,
    modes: { shadow: false, quota: false },
    keyPrefix: '',
    records: [],
    startUs: START_US,
    bucketsMax: 10,
  });
  const entries = [{ key: toByteString('k'), value: toByteString('v') }];
  const counts: number[] = [];
  let admitted = 0;
  for (const atUs of arrivalsUs) {
    const { decision } = await service.ask({ domain: toByteString('d'), descriptors: [{ entries }], hits: 1 }, START_US + atUs);
    if (decision.overallCode === 'OK') admitted += 1;
    counts.push(admitted);
  }
  return counts;
}

test('a limit that is looser has admitted at least as many at every time, and one without a difference exactly as many', async () => {
  const seen: Record<Direction, number> = { none: 0, looser: 0, stricter: 0, both: 0 };
  const gaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000_000 }), fc.integer({ min: 1, max: 90_000_000 })), {
    minLength: 1,
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(limits, limits, fc.boolean(), gaps, async (one, another, isAlike, each) => {
      // Two limits of one algorithm and window are the rarer case, and the interesting one.
      const other = isAlike ? { ...another, algorithm: one.algorithm, unit: one.unit } : another;
      let atUs = 0;
      const arrivalsUs = each.map((gapUs) => (atUs += gapUs));
      const [from, to] = [ruleSetOf(writtenAs(one)), ruleSetOf(writtenAs(other))];
      const { direction } = compareRuleSets(from, to);
      seen[direction] += 1;
      const [before, after] = [await admittedBy(from, arrivalsUs), await admittedBy(to, arrivalsUs)];
      if (direction === 'none') expect(after).toEqual(before);
      if (direction === 'looser') for (const [i, count] of after.entries()) expect(count).toBeGreaterThanOrEqual(before[i]!);
      if (direction === 'stricter') for (const [i, count] of after.entries()) expect(count).toBeLessThanOrEqual(before[i]!);
    }),
    seeded(2_000),
  );
  expect(Math.min(seen.looser, seen.stricter, seen.both)).toBeGreaterThan(0);
}, 120_000);

test('names of a configuration stay text in Markdown, and a long table ends with a count', () => {
  const hostile = 'a|b\n<img src=x> @team **c** `d` [e](http://f)';
  const change = { what: 'limit', from: hostile, to: '1/minute', direction: 'stricter', startsEmpty: false } as const;
  const diff: ConfigurationDiff = {
    direction: 'stricter',
    rules: [{ domain: hostile, rule: hostile, status: 'changed', direction: 'stricter', changes: [change] }],
    unreachable: [hostile],
  };
  const markdown = DIFF_FORMATS.markdown(diff);
  const rows = markdown.split('\n').filter((line) => line.startsWith('|'));
  expect(rows.map((row) => row.replaceAll('\\|', '').split('|').length)).toEqual([9, 9, 9]);
  expect(markdown).not.toMatch(/<img|\*\*c|\[e\]\(/);
  expect(markdown).toContain('<code>a\\|b &#60;img src=x&#62; @team');
  expect(DIFF_FORMATS.text(diff).split('\n')).toHaveLength(5);
  const long = DIFF_FORMATS.markdown({ ...diff, rules: new Array(5_000).fill(diff.rules[0]) });
  expect(long.length).toBeLessThan(61_000);
  expect(long).toMatch(/And \d+ more lines; `weir diff` shows all of them\.\n$/);
});

test('ten thousand rules are compared, and only the changed one is named', () => {
  const rules = Array.from(
    { length: 10_000 },
    (_, i) => `  - {key: k, value: v${i}, rate_limit: {unit: minute, requests_per_unit: ${i + 1}}}`,
  );
  const from = ruleSetOf(`domain: d\ndescriptors:\n${rules.join('\n')}\n`);
  rules[77] = rules[77]!.replace('unit: 78', 'unit: 99');
  const { rules: changed } = compareRuleSets(from, ruleSetOf(`domain: d\ndescriptors:\n${rules.reverse().join('\n')}\n`));
  expect(changed.map(({ rule }) => rule)).toEqual(['d.k_v77']);
});

test('the exit code says whether requests may be denied that were not', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-diff-'));
  const file = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const old = file('old.yaml', RULE(''));
  const looser = file('looser.yaml', RULE('').replace('60', '61'));
  const runs = [[old, old], [old, looser], [looser, old], [old, file('wrong.yaml', 'domain: [')], [old]];
  const codes: (number | null)[] = [];
  for (const args of runs) codes.push((await runWeir(['diff', ...args])).exitCode);
  expect(codes).toEqual([0, 10, 11, 1, 2]);
  expect((await runWeir(['diff', old, looser])).stdout).toBe(
    'd.k: changed, looser\n  limit: 60/minute token_bucket → 61/minute token_bucket [looser]\nOnly looser: requests that were denied may be admitted.\n',
  );
  expect(JSON.parse((await runWeir(['diff', looser, old, '--format', 'json'])).stdout)).toMatchObject({
    direction: 'stricter',
    rules: [{ rule: 'd.k' }],
  });
}, 60_000);
