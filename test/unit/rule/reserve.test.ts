/** All classes of a reserve share a bucket, and a request whose entry is unclear has none of them and gets the smallest part. */

import { toGroup } from '../../../src/domain/bucket/to-group';
import { ENTRIES_MAX, TEXT_BYTES_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { compareRuleSets } from '../../../src/configuration/diff/compare-rule-sets';
import { explainRequest } from '../../../src/configuration/explain/explanation';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { matchRequest, type MatchControl } from '../../../src/domain/rule/match';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { toDecision } from '../../../src/domain/decide/to-decision';
import { softAdditions } from '../../../src/domain/respond/soft-additions';
import { formatExplanation } from '../../../src/program/cli/explain/explanation-text';
import { canBeKeyed } from '../../../src/program/offline/keyed/keyed-engine';
import { LocalTopKeys } from '../../../src/state/top/local-top-keys';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileText, problemsOf } from '../compile/compile-config';

const MODES = { shadow: false, quota: false };
const NOW_US = 1_800_000_000_000_000;
const RESERVE = 'reserve: { entry: priority, for: { high: 30%, critical: 10% } }';
const LIMIT = 'rate_limit: { unit: minute, requests_per_unit: 100 }';

const rules = (fields = LIMIT, root = '') => compileText(`domain: d\n${root}descriptors: [{ key: k, ${fields}, ${RESERVE} }]\n`);

function matchOf(entries: ReturnType<typeof entriesOf>, ruleSet = rules(), parts: object = {}, control?: MatchControl) {
  const request = requestOf([{ entries, ...parts }]);
  return { request, matched: matchRequest({ ruleSet, request, modes: MODES, control }) };
}

function takesOf(entries: ReturnType<typeof entriesOf>, ruleSet?: RuleSet, parts?: object) {
  const { request, matched } = matchOf(entries, ruleSet, parts);
  return toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => NOW_US }).takes;
}

const limitsOf = (...args: Parameters<typeof takesOf>) =>
  takesOf(...args).map(({ limit: { capacity, reserved = 0 } }) => [capacity, reserved]);

describe('the class of a request', () => {
  test.each([
    ['no entry', ['k=a'], 70],
    ['a class in the middle', ['k=a', 'priority=high'], 90],
    ['the class with the smallest part', ['k=a', 'priority=critical'], 100],
    ['a value that names none', ['k=a', 'priority=CRITICAL'], 70],
    ['an empty value', ['k=a', 'priority='], 70],
    ['a value that names two', ['k=a', 'priority=critical,critical'], 70],
    ['a class twice', ['k=a', 'priority=critical', 'priority=critical'], 70],
    ['two classes', ['k=a', 'priority=low', 'priority=critical'], 70],
    ['a class as often as a request can say it', ['k=a', ...Array.from({ length: ENTRIES_MAX - 1 }, () => 'priority=critical')], 70],
    ['the longest value there is', ['k=a', `priority=${'c'.repeat(TEXT_BYTES_MAX)}`], 70],
    ['a name of an object', ['k=a', 'priority=__proto__'], 70],
  ])('of %s lets it use its part, in the bucket of all', (_, entries, capacity) => {
    expect(limitsOf(entriesOf(...entries))).toEqual([[capacity, 100 - capacity]]);
    expect(takesOf(entriesOf(...entries)).map(({ bucketKey }) => bucketKey)).toEqual(
      takesOf(entriesOf('k=a')).map(({ bucketKey }) => bucketKey),
    );
  });

  test.each([
    ['another entry after it', ['k=a', 'priority=critical', 'path=/']],
    ['another entry before it', ['k=a', 'path=/', 'priority=critical']],
    ['it alone', ['priority=critical']],
    ['it first', ['priority=critical', 'k=a']],
  ])('matches no rule with %s', (_, entries) => {
    expect(matchOf(entriesOf(...entries)).matched.matches).toMatchObject([{ limits: [], path: [] }]);
  });

  test('is none where no descriptor has a reserve', () => {
    const ruleSet = compileText(`domain: d\ndescriptors: [{ key: k, ${LIMIT} }]\n`);
    expect(takesOf(entriesOf('k=a', 'priority=critical'), ruleSet)).toEqual([]);
    expect(takesOf(entriesOf('k=a'), ruleSet)[0]?.limit.leases).toBeUndefined();
  });

  test('leaves a descriptor below alone', () => {
    const ruleSet = compileText(`
domain: d
descriptors: [{ key: k, ${LIMIT}, ${RESERVE}, descriptors: [{ key: path, rate_limit: { unit: day, requests_per_unit: 7 } }] }]
`);
    expect(limitsOf(entriesOf('k=a', 'path=/'), ruleSet)).toEqual([[7, 0]]);
    expect(limitsOf(entriesOf('k=a', 'priority=critical'), ruleSet)).toEqual([[100, 0]]);
    expect(limitsOf(entriesOf('k=a', 'path=/', 'priority=critical'), ruleSet)).toEqual([]);
  });
});

describe('each limit of the rule', () => {
  test('keeps its part, whatever it counts: the same objects each time, without leases', () => {
    const ruleSet = rules(
      'rate_limits: [{ unit: second, requests_per_unit: 10, algorithm: token_bucket, burst: 50 }, { unit: month, requests_per_unit: 33, calendar: true, leases: auto }], in_flight: { max: 20, hold: 5s }',
    );
    const takes = takesOf(entriesOf('k=a', 'priority=high'), ruleSet);
    expect(
      takes.map(({ limit: { requestsPerUnit, capacity, reserved, leases } }) => [requestsPerUnit, capacity, reserved, leases]),
    ).toEqual([
      [10, 45, 5, 'off'],
      [33, 30, 3, 'off'],
      [20, 18, 2, 'off'],
    ]);
    expect(takesOf(entriesOf('k=a', 'priority=critical'), ruleSet).map(({ limit: { capacity, leases } }) => [capacity, leases])).toEqual([
      [50, 'off'],
      [33, 'off'],
      [20, 'off'],
    ]);
    const again = takesOf(entriesOf('k=b', 'priority=high'), ruleSet);
    expect(again.map(({ limit }, i) => limit === takes[i]!.limit)).toEqual([true, true, true]);
  });

  test('is rounded down, so that a hit is left to all', () => {
    expect(limitsOf(entriesOf('k=a'), rules('rate_limit: { unit: day, requests_per_unit: 3 }'))).toEqual([[3, 0]]);
    expect(limitsOf(entriesOf('k=a'), rules('rate_limit: { unit: day, requests_per_unit: 4 }'))).toEqual([[3, 1]]);
    expect(limitsOf(entriesOf('k=a'), rules('rate_limit: { unit: day, requests_per_unit: 0 }'))).toEqual([[0, 0]]);
    const most = rules('rate_limit: { unit: day, requests_per_unit: 9007199254740991 }');
    expect(limitsOf(entriesOf('k=a'), most)).toEqual([[6_305_039_478_318_694, 2_702_159_776_422_297]]);
  });

  test('of a plan, an override and a request has it too', () => {
    const plans =
      'plans: { free: { rate_limit: { unit: day, requests_per_unit: 10 } }, pro: { rate_limit: { unit: day, requests_per_unit: 1000 } } }\n';
    const ruleSet = rules('tenant: true, default_plan: free', plans);
    const limit = { requestsPerUnit: 200, unit: 'day' as const };
    const control = (parts: Partial<MatchControl>): MatchControl => ({
      select: () => undefined,
      planOf: () => undefined,
      parentOf: () => undefined,
      planLimits: () => undefined,
      stageOf: () => undefined,
      ...parts,
    });
    const inForce = (of: MatchControl) =>
      matchOf(entriesOf('k=a', 'priority=high'), ruleSet, {}, of).matched.matches[0]!.limits.map(({ capacity, reserved }) => [
        capacity,
        reserved,
      ]);
    expect(inForce(control({}))).toEqual([[9, 1]]);
    expect(inForce(control({ planOf: () => 'pro' }))).toEqual([[900, 100]]);
    expect(inForce(control({ planLimits: () => [limit] }))).toEqual([[180, 20]]);
    expect(inForce(control({ select: () => ({ overrides: [{ kind: 'override', id: 'o', limit }] }) }))).toEqual([[180, 20]]);
    const override = { requestsPerUnit: 50, unit: 'day', unitMultiplier: 1 };
    expect(limitsOf(entriesOf('k=a', 'priority=high'), ruleSet, { override })).toEqual([[45, 5]]);
    expect(takesOf(entriesOf('k=a', 'priority=high'), ruleSet, { override })[0]!.bucketKey).toBe(
      takesOf(entriesOf('k=a'), ruleSet, { override })[0]!.bucketKey,
    );
  });

  test('of a pool has it too, in the bucket of its owner', () => {
    const plans = `plans:
  free: { rate_limit: { unit: day, requests_per_unit: 10 } }
  team: { rate_limit: { unit: day, requests_per_unit: 10 }, pool: [{ name: shared, unit: day, requests_per_unit: 50 }] }
`;
    const ruleSet = rules('tenant: true, default_plan: free', plans);
    const control: MatchControl = {
      select: () => undefined,
      planOf: (_, tenant) => (tenant === 'team-1' ? 'team' : undefined),
      parentOf: (_, tenant) => (tenant === 'team-1' ? undefined : 'team-1'),
      planLimits: () => undefined,
      stageOf: () => undefined,
    };
    const takesFor = (...texts: readonly string[]) => {
      const { request, matched } = matchOf(entriesOf(...texts), ruleSet, {}, control);
      return toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => NOW_US }).takes;
    };
    const ofClass = (...texts: readonly string[]) =>
      takesFor(...texts).map(({ limit: { capacity, reserved = 0 } }) => [capacity, reserved]);
    expect(ofClass('k=a', 'priority=high')).toEqual([[9, 1], [45, 5]]); // prettier-ignore
    expect(ofClass('k=a', 'priority=critical')).toEqual([[10, 0], [50, 0]]); // prettier-ignore
    const [, ofA] = takesFor('k=a', 'priority=high');
    const [, ofB] = takesFor('k=b');
    expect(ofA?.bucketKey).toBe(ofB?.bucketKey);
    expect(ofA?.bucketKey).toContain('k=team-1');
  });

  test('and its candidate, before and in a stage, has it', () => {
    const candidate = (percent: number) =>
      rules(
        `rate_limit: { name: n, unit: day, requests_per_unit: 100, candidate: { requests_per_unit: 50, rollout: { by: k, percent: ${percent} } } }`,
      );
    expect(limitsOf(entriesOf('k=a'), candidate(0))).toEqual([
      [70, 30],
      [35, 15],
    ]);
    expect(limitsOf(entriesOf('k=a', 'priority=high'), candidate(100))).toEqual([[45, 5]]);
  });

  test('takes usage reports down to the same level for every class', () => {
    const ruleSet = rules('rate_limit: { unit: day, requests_per_unit: 100, overdraft: true, overdraft_max: 50 }');
    const bottoms = ['k=a', 'k=a,priority=high', 'k=a,priority=critical'].map((entries) => {
      const [take] = takesOf(entriesOf(...entries.split(',')), ruleSet, { hits: 5 });
      return take!.limit.capacity + take!.overdraftMax!;
    });
    expect(bottoms).toEqual([150, 150, 150]);
  });
});

test('a request in flight keeps its slot whatever class it says', () => {
  const ruleSet = compileText(`
domain: d
descriptors: [{ key: k, descriptors: [{ key: id, in_flight: { max: 10, hold: 5s, id: id }, ${RESERVE} }] }]
`);
  const [normal] = takesOf(entriesOf('k=a', 'id=1'), ruleSet);
  const [critical] = takesOf(entriesOf('k=a', 'id=1', 'priority=critical'), ruleSet);
  expect([normal!.bucketKey, normal!.slotId, normal!.limit.capacity]).toEqual([critical!.bucketKey, critical!.slotId, 7]);
  expect(critical!.limit.capacity).toBe(10);
});

test('an answer shows what is left to the class; debt begins below the reserve, and soft lines are parts of the whole', () => {
  const ruleSet = rules(
    'rate_limit: { unit: minute, requests_per_unit: 100, soft: [{ at: 60%, response_headers: { x-a: b } }, { at: 85%, response_headers: { x-a: c } }] }',
  );
  const answer = (entries: readonly string[], verdict: { fits: boolean; remaining: number; debt?: number }) => {
    const { request, matched } = matchOf(entriesOf(...entries), ruleSet);
    const group = { overLimit: !verdict.fits, verdicts: [{ retryAfterUs: 1, resetAfterUs: 1, ...verdict }], nowUs: 0 };
    const decision = toDecision(matched, group, () => 0);
    const soft = softAdditions({ request, matched, verdict: group, decision });
    const [{ currentLimit, limitRemaining, debt } = {}] = decision.statuses;
    return [currentLimit?.requestsPerUnit, limitRemaining, debt, soft?.atPercent];
  };
  expect(answer(['k=a'], { fits: true, remaining: 11 })).toEqual([100, 11, undefined, undefined]);
  expect(answer(['k=a'], { fits: true, remaining: 10 })).toEqual([100, 10, undefined, 60]);
  expect(answer(['k=a'], { fits: false, remaining: 0, debt: 20 })).toEqual([100, 0, undefined, undefined]);
  expect(answer(['k=a'], { fits: false, remaining: 0, debt: 31 })).toEqual([100, 0, 1, undefined]);
  expect(answer(['k=a', 'priority=critical'], { fits: true, remaining: 15 })).toEqual([100, 15, undefined, 85]);
});

test('top keys count all classes of a key as one', async () => {
  const top = new LocalTopKeys({ capacity: 10, nearLimitRatio: 0.8, nowMs: () => 0 });
  const ruleSet = rules();
  for (const entries of [['k=a'], ['k=a', 'priority=critical'], ['k=a', 'priority=forged']]) {
    const { request, matched } = matchOf(entriesOf(...entries), ruleSet);
    const verdict = { overLimit: false, verdicts: [{ fits: true, remaining: 1, retryAfterUs: 0, resetAfterUs: 1 }], nowUs: 0 };
    top.record({ request, matched, decision: toDecision(matched, verdict, () => 0) });
  }
  await top.endPeriod();
  const { items } = await top.top({ question: 'asked', minutes: 1, count: 10 });
  expect(items).toMatchObject([{ entries: 'k=a', count: 3 }]);
});

describe('operators see it', () => {
  const explain = (...entries: string[]) =>
    formatExplanation(
      explainRequest({
        ruleSet: rules(),
        levels: new Map(),
        plans: new Map(),
        request: requestOf([{ entries: entriesOf(...entries) }]),
        modes: MODES,
        keyPrefix: '',
        nowUs: () => NOW_US,
      }),
    );

  test('in weir explain', () => {
    expect(explain('k=a')).toContain('  reserve: no class of priority, the last 30 % is for others\n');
    expect(explain('k=a')).toContain('70 at once and 30 reserved for others, leases off\n  bucket: 1{d}fw60|k=a\n');
    expect(explain('k=a', 'priority=high')).toContain('  reserve: class high of priority, the last 10 % is for others\n');
    expect(explain('k=a', 'priority=critical')).toContain('  reserve: class critical of priority, may use all\n');
    expect(explain('k=a', 'priority=critical')).toContain('100 at once, leases off\n  bucket: 1{d}fw60|k=a\n');
    expect(explain('k=a', 'other=critical')).toContain('not limited');
  });

  test('in /rlconfig and weir diff', () => {
    expect(describeRules(rules())).toEqual([expect.stringContaining(', reserve: by priority: critical 10%, high 30%')]);
    const without = compileText(`domain: d\ndescriptors: [{ key: k, ${LIMIT} }]\n`);
    expect(compareRuleSets(without, rules()).rules).toMatchObject([
      { changes: [{ what: 'reserve', from: 'none', to: 'by priority: critical 10%, high 30%' }] },
    ]);
  });

  test('and replay does not decide it by key, as classes share a bucket', () => {
    const keyed = { domain: 'd', forms: [{ keys: ['k'], entriesOf: () => [] }] };
    expect([canBeKeyed(rules(), keyed), canBeKeyed(compileText(`domain: d\ndescriptors: [{ key: k, ${LIMIT} }]\n`), keyed)]).toEqual([
      false,
      true,
    ]);
  });
});

test.each([
  [`key: k, ${LIMIT}, reserve: { entry: k, for: { a: 1% } }`, '"k" is a key of this descriptor; name one that comes after its entries'],
  [
    `key: k, ${LIMIT}, ${RESERVE}, descriptors: [{ key: priority, value: low }]`,
    '"priority" is a key of a descriptor below this one, which wins; rename one of them',
  ],
  [
    `key: k, ${LIMIT}, ${RESERVE}, descriptors: [{ key: 'p*' }]`,
    '"priority" is a key of a descriptor below this one, which wins; rename one of them',
  ],
  [
    `key: k, ${LIMIT}, ${RESERVE}, penalty: { denials: 1, within: 1m, block: 1m }`,
    'conflicts with penalty, whose blocks would deny the requests of all classes; remove one of them',
  ],
])('%s is an error', (fields, message) => {
  expect(problemsOf(`domain: d\ndescriptors: [{ ${fields} }]\n`)).toEqual([expect.stringContaining(message)]);
});

test('a part of less than one hit, and a descriptor without a limit, are warned of', () => {
  const warningsOf = (fields: string) =>
    compileText(`domain: d\ndescriptors: [{ key: k, ${fields}, ${RESERVE} }]\n`).warnings.map((line) => line.replace(/^.*?: .*?: /, ''));
  expect(warningsOf('rate_limit: { unit: day, requests_per_unit: 4 }')).toEqual([
    'has no effect on a limit of 4: 10% of it is less than one hit; use a larger part',
  ]);
  expect(warningsOf('value: v')).toEqual(['has no effect on a descriptor without a limit; remove it, or set it where the limit is']);
  expect(warningsOf(LIMIT)).toEqual([]);
});
