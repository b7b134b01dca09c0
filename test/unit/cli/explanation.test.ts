/** The winner in `weir explain` is the rule that decides. */

import { explainRequest, type Explanation } from '../../../src/configuration/explain/explanation';
import { COMPARED_MAX, type LevelExplanation } from '../../../src/configuration/explain/explain-levels';
import { formatExplanation } from '../../../src/program/cli/explain/explanation-text';
import { examineConfig } from '../../../src/configuration/compile/compile';
import type { DeclaredLevel } from '../../../src/configuration/compile/lint/declared-level';
import type { LimitOverride } from '../../../src/domain/descriptor/descriptor';
import type { DescriptorLevel } from '../../../src/domain/rule/tree';
import { matchRequest } from '../../../src/domain/rule/match';
import { randomFrom, seeded, type Random } from '../../support/random/random';
import { entriesOf } from '../../support/decisions/rules';

const MODES = { shadow: false, quota: false };

function load(text: string) {
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const { ruleSet, list } = examineConfig({
    files: [{ name: 'c.yaml', text }],
    defaultAlgorithm: 'fixed_window',
    generation: 1,
    onLevel: (declared) => levels.set(declared.level, declared),
  });
  list.throwIfAny();
  return { ruleSet, levels, plans: new Map() };
}

function explain(text: string, descriptors: readonly (readonly string[])[], { domain = 'd', modes = MODES } = {}): Explanation {
  const request = { domain, descriptors: descriptors.map((entries) => ({ entries: entriesOf(...entries) })), hits: 1 };
  return explainRequest({ ...load(text), request, modes, keyPrefix: 'p:', nowUs: () => 0 });
}

const LIMIT = 'rate_limit: { unit: hour, requests_per_unit: 5 }';

/** The reference's example. */
const EXAMPLE = `domain: d
descriptors:
  - { key: ex, value: "foo*", ${LIMIT} }
  - { key: ex, value: foobar, ${LIMIT} }
  - { key: ex, value: "foob*", ${LIMIT} }
  - { key: ex, value: "*", ${LIMIT} }
  - { key: ex, ${LIMIT} }
  - key: nest
    ${LIMIT}
    descriptors: [{ key: sub, value: x, ${LIMIT} }, { key: none }]
  - { key: bare, descriptors: [{ key: sub, ${LIMIT} }] }
  - { key: free, rate_limit: { unlimited: true } }
`;

function told({ winner, losers }: LevelExplanation): string[] {
  return [...(winner === undefined ? [] : [`${winner.line} ${winner.reason}`]), ...losers.map(({ line, reason }) => `${line} ${reason}`)];
}

const NOT_FIRST = 'matches too, but a wildcard declared earlier wins';
const BELOW_WILDCARD = 'matches too, but a wildcard wins over a key alone';
const BELOW_EXACT = 'matches too, but an exact value wins';
const OTHER = 'has another value';

test.each([
  ['ex=foo', ['3 first declared wildcard that matches', `6 ${NOT_FIRST}`, `7 ${BELOW_WILDCARD}`, `4 ${OTHER}`, `5 ${OTHER}`]],
  ['ex=foobar', ['4 exact match', `3 ${BELOW_EXACT}`, `5 ${BELOW_EXACT}`, `6 ${BELOW_EXACT}`, `7 ${BELOW_EXACT}`]],
  ['ex=', ['6 first declared wildcard that matches', `7 ${BELOW_WILDCARD}`, `3 ${OTHER}`, `4 ${OTHER}`, `5 ${OTHER}`]],
  ['nest=1', ['8 matches every value that nothing else matches']],
])('%s: the explanation has the winner, and why the others lose', (entry, lines) => {
  const [descriptor] = explain(EXAMPLE, [[entry]]).descriptors;
  expect(told(descriptor!.levels[0]!)).toEqual(lines);
  expect(descriptor).toMatchObject({ limits: [{ bucketKey: `p:1{d}fw3600|${entry}`, requestsPerUnit: 5, capacity: 5 }], unlimited: false });
  expect(descriptor).not.toHaveProperty('notLimited');
});

test('matching nodes are listed in the order of matching, wherever they are declared', () => {
  const text = `domain: d\ndescriptors:\n  - { key: k }\n  - { key: k, value: "*" }\n  - { key: k, value: v }\n`;
  const [level] = explain(text, [['k=v']]).descriptors[0]!.levels;
  expect(told(level!)).toEqual(['5 exact match', `4 ${BELOW_EXACT}`, `3 ${BELOW_EXACT}`]);
});

test('address ranges are explained by their prefixes', () => {
  const ranges = ['value: "*"', 'value: 10.0.0.0/8, match: cidr', 'value: 10.1.0.0/16, match: cidr', 'value: 10.9.0.0/16, match: cidr'];
  const text = `domain: d\ndescriptors:\n${ranges.map((each) => `  - { key: ip, ${each} }\n`).join('')}`;
  const [level] = explain(text, [['ip=10.1.2.3']]).descriptors[0]!.levels;
  expect(told(level!)).toEqual([
    '5 address range with the longest prefix that includes it',
    '4 matches too, but an address range with a longer prefix wins',
    '3 matches too, but an address range wins over a wildcard',
    `6 ${OTHER}`,
  ]);
});

test.each([
  [['nest=1', 'sub=y'], 'no descriptor on this level matches sub=y'],
  [['nest=1', 'sub=x', 'more=z'], 'no deeper level is configured; requests with more entries are not limited'],
  [['other=1'], 'no descriptor on this level matches other=1'],
  [['bare=1'], 'only deeper levels have limits, for requests with more entries'],
  [['nest=1', 'none=1'], 'the matching descriptor has no limit, so the request is allowed'],
  [[], 'it has no entries'],
])('%j is not limited, and the explanation says why', (entries, why) => {
  expect(explain(EXAMPLE, [entries]).descriptors[0]).toMatchObject({ limits: [], notLimited: why });
});

test('an unknown domain lists the known ones', () => {
  const { domainFound, descriptors } = explain(EXAMPLE, [['ex=1']], { domain: 'x' });
  expect(domainFound).toBe(false);
  expect(descriptors[0]).toMatchObject({ levels: [], notLimited: 'the domain is not configured; configured domains: d' });
});

test('the explanation covers unlimited rules, modes, and replaced limits', () => {
  const text = `domain: d\ndescriptors:
  - { key: a, rate_limit: { unit: hour, requests_per_unit: 5, name: small } }
  - { key: b, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 9, replaces: [{ name: small }] } }
  - { key: c, rate_limit: { unlimited: true } }
  - { key: e, rate_limit: { unlimited: true, name: small } }\n`;
  const { descriptors } = explain(text, [['a=1'], ['b=1'], ['c=1'], ['e=1']]);
  const replaced = {
    limits: [],
    unlimited: false,
    replaced: ['small'],
    notLimited: 'another limit of the request replaces each of its limits',
  };
  expect(descriptors).toMatchObject([
    replaced,
    { mode: 'shadow', limits: [{ requestsPerUnit: 9 }], replaced: [] },
    { unlimited: true, limits: [] },
    { unlimited: true, replaced: [] },
  ]);
  expect(explain(text, [['a=1']], { modes: { shadow: false, quota: true } }).descriptors).toMatchObject([{ mode: 'quota' }]);
});

test('an override is explained instead of the configured limit, counted as the rule counts', () => {
  const text = `domain: d\ndescriptors:
  - { key: a, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 5, name: small, algorithm: leaky_bucket } }
  - { key: free, rate_limit: { unlimited: true } }\n`;
  const override: LimitOverride = { requestsPerUnit: 20, unit: 'minute', unitMultiplier: 5 };
  const request = {
    domain: 'd',
    descriptors: ['a=1', 'free=1', 'none=1'].map((entry) => ({ entries: entriesOf(entry), override })),
    hits: 1,
  };
  const input = { ...load(text), request, modes: MODES, keyPrefix: 'p:', nowUs: () => 0 };
  const { descriptors } = explainRequest(input);
  expect(descriptors).toMatchObject([
    {
      override: true,
      mode: 'enforced',
      limits: [{ requestsPerUnit: 20, unitMultiplier: 5, algorithm: 'leaky_bucket', bucketKey: 'p:1{d}lb300|a=1' }],
      replaced: ['small'],
    },
    { override: true, unlimited: false, limits: [{ algorithm: 'fixed_window' }], replaced: [] },
    { override: true, limits: [{ bucketKey: 'p:1{d}fw300|none=1' }], replaced: [] },
  ]);
  expect(explainRequest({ ...input, request: { ...request, domain: 'x' } }).descriptors[0]).toMatchObject({
    override: false,
    limits: [],
    notLimited: 'the domain is not configured; configured domains: d',
  });
  expect(formatExplanation(explainRequest(input))).toContain(
    '  override of the request: 20 per 5 minutes, leaky_bucket, 1 at once\n  bucket: p:1{d}lb300|a=1\n  replaced by the override: small\n',
  );
});

test('some of thousands of values are listed, and the rest is counted', () => {
  const values = Array.from({ length: 500 }, (_, index) => `  - { key: k, value: v${index} }\n`).join('');
  const [level] = explain(`domain: d\ndescriptors:\n${values}  - { key: l }\n`, [['k=v499']]).descriptors[0]!.levels;
  expect(level).toMatchObject({ winner: { line: 502 }, omitted: 499 - COMPARED_MAX, otherKeys: 1 });
  expect(level!.losers).toHaveLength(COMPARED_MAX);
});

const KEYS = ['k', 'kk', 'k*'];
const VALUES = ['', 'a', 'ab', 'b', '*', 'a*', '*b', 'a*b'];

/** YAML of a level of random descriptors, no two alike. */
function randomLevel(random: Random, depth: number): string {
  const kept = KEYS.flatMap((key) => VALUES.map((value) => ({ key, value, place: random(1000) }))).filter(() => random(4) === 0);
  const items = kept
    .sort((one, other) => one.place - other.place)
    .map(({ key, value }) => {
      const below = depth > 1 && random(2) === 0 ? `, descriptors: ${randomLevel(random, depth - 1)}` : '';
      return `{ key: "${key}", value: "${value}"${random(5) === 0 ? '' : `, ${LIMIT}`}${below} }`;
    });
  return `[${items.join(', ')}]`;
}

/** The reference's rules, written anew. */
function expectedWinner({ entry, winner, losers }: LevelExplanation, order: readonly { key: string; value: string }[]) {
  const takes = (pattern: string, text: string) => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text);
  const isWildcard = ({ key, value }: { key: string; value: string }) => `${key}${value}`.includes('*');
  const found =
    order.find(({ key, value }) => value !== '' && key === entry.key && value === entry.value && !isWildcard({ key, value })) ??
    order.find((each) => isWildcard(each) && takes(each.key, entry.key) && takes(each.value === '' ? '*' : each.value, entry.value)) ??
    order.find(({ key, value }) => value === '' && key === entry.key);
  const taking = order.filter(({ key, value }) => takes(key, entry.key) && (value === '' || takes(value, entry.value)));
  const toldToTake = losers.filter(({ reason }) => reason.startsWith('matches too')).length + (winner === undefined ? 0 : 1);
  return { found, isTruthful: toldToTake === taking.length };
}

test('on random configurations the explained winner of each level is the rule that decides', () => {
  const runs = seeded(400);
  const random = randomFrom(runs);
  let limited = 0;
  for (let run = 0; run < runs.numRuns; run += 1) {
    const { ruleSet, levels } = load(`domain: d\ndescriptors: ${randomLevel(random, 3)}\n`);
    for (let ask = 0; ask < 10; ask += 1) {
      const pick = (from: readonly string[]) => from[random(from.length)]!;
      const entries = entriesOf(
        ...Array.from({ length: 1 + random(3) }, () => `${pick(['k', 'kk', 'l'])}=${pick(['', 'a', 'ab', 'aab', 'b', 'c'])}`),
      );
      const request = { domain: 'd', descriptors: [{ entries }], hits: 1 };
      const [explained] = explainRequest({
        ruleSet,
        levels,
        plans: new Map(),
        request,
        modes: MODES,
        keyPrefix: '',
        nowUs: () => 0,
      }).descriptors;
      const [match] = matchRequest({ ruleSet, request, modes: MODES }).matches;
      const path = explained!.levels.map(({ winner }) => (winner?.value === undefined ? winner?.key : `${winner.key}_${winner.value}`));
      if (match!.rule !== undefined) {
        limited += 1;
        expect(path).toEqual(match!.rule.path);
      }
      expect(explained!.notLimited === undefined).toBe(match!.rule !== undefined);
      let level = ruleSet.domains.get('d')!.root;
      for (const each of explained!.levels) {
        const declared = levels.get(level)?.declared ?? [];
        const { found, isTruthful } = expectedWinner(
          each,
          declared.map(({ spec }) => spec),
        );
        expect({ key: each.winner?.key, value: each.winner === undefined ? undefined : (each.winner.value ?? '') }).toEqual({
          key: found?.key,
          value: found?.value,
        });
        expect(isTruthful).toBe(true);
        level = declared.find(({ spec }) => spec === found)?.node.children ?? level;
      }
    }
  }
  expect(limited).toBeGreaterThan(runs.numRuns);
});
