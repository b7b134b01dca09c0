/** An invalid `in_flight` is reported with its place and the fix. */

import { Preparation } from '../../../src/state/request/preparation';
import { slotIdOf } from '../../../src/domain/bucket/slot-id';
import type { Take } from '../../../src/domain/bucket/take';
import { toGroup } from '../../../src/domain/bucket/to-group';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import type { DeclaredLevel } from '../../../src/configuration/compile/lint/declared-level';
import { explainRequest } from '../../../src/configuration/explain/explanation';
import { formatExplanation } from '../../../src/program/cli/explain/explanation-text';
import type { Descriptor } from '../../../src/domain/descriptor/descriptor';
import type { DescriptorLevel } from '../../../src/domain/rule/tree';
import { entriesOf } from '../../support/decisions/rules';
import { matchRequest, rateLimitsOf } from '../../../src/domain/rule/match';
import { compileText, examineConfig, problemsOf } from './compile-config';

const CONFIG = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 100, overdraft: true }
    in_flight: { max: 3, hold: 30s, name: slots, failure_mode: open, response_headers: ietf }
    descriptors:
      - key: request_id
        rate_limit: { unit: minute, requests_per_unit: 100, overdraft: true, failure_mode: closed }
        in_flight: { max: 20, hold: 1m30s, id: request_id }
  - key: shared
    value: a*
    share_threshold: true
    descriptors:
      - key: request_id
        in_flight: { max: 2, hold: 24h, id: request_id }
        shadow_mode: true
`;

const ruleSet = compileText(CONFIG);

function takesOf(...descriptors: Descriptor[]): readonly Take[] {
  const preparation = new Preparation({ ruleSet, modes: { shadow: false, quota: false }, keyPrefix: '', nowUs: () => 0 });
  return preparation.of({ domain: 'd', descriptors, hits: 1 }).group.takes;
}

describe('the takes of a request in flight', () => {
  const entries = entriesOf('user=ann', 'request_id=r1');

  test('the id is in no bucket key of the rule, and the hold in none of its slots', () => {
    expect(takesOf({ entries }).map(({ bucketKey }) => bucketKey)).toEqual([
      '1{d}fw60|user=ann|request_id=~',
      '1{d}if|user=ann|request_id=~',
    ]);
    expect(takesOf({ entries: entriesOf('user=ann') }).map(({ bucketKey }) => bucketKey)).toEqual(['1{d}fw60|user=ann', '1{d}if|user=ann']);
    expect(takesOf({ entries: entriesOf('shared=abc', 'request_id=r1') })[0]?.bucketKey).toBe('1{d}if|shared=~a*|request_id=~');
  });

  test('a request with an id takes one slot for any number of hits', () => {
    const slotId = slotIdOf('r1');
    for (const [hits, asked] of [
      [undefined, 1],
      [7, 1],
      [0, 0],
    ] as const) {
      expect(takesOf({ entries, ...(hits !== undefined && { hits }) })[1]).toMatchObject({ hits: asked, slotId });
    }
    expect(slotId).toMatch(/^[0-9a-f]{16}$/);
    expect(slotIdOf('r2')).not.toBe(slotId);
  });

  test('a request without an id takes one slot for each hit', () => {
    const [, slots] = takesOf({ entries: entriesOf('user=ann'), hits: 7 });
    expect(slots).toMatchObject({ hits: 7, failureMode: 'open' });
    expect(slots).not.toHaveProperty('slotId');
    expect(slots).not.toHaveProperty('overdraftMax');
  });

  test('negative hits release the slot, and refund no rate limit beside it', () => {
    const [rate, slots] = takesOf({ entries, hits: -5 });
    expect(rate).toMatchObject({ hits: 0, peek: true, failureMode: 'closed' });
    expect(rate).not.toHaveProperty('overdraftMax');
    expect(slots).toMatchObject({ hits: -1, slotId: slotIdOf('r1'), overdraftMax: 0 });
    expect(takesOf({ entries: entriesOf('user=ann'), hits: -5 })[1]).toMatchObject({ hits: -5, overdraftMax: 0 });
  });

  test('an override replaces the rate limits, and the slots stay', () => {
    const override = { requestsPerUnit: 5, unit: 'hour', unitMultiplier: 1 } as const;
    const takes = takesOf({ entries, override });
    expect(takes.map(({ bucketKey, limit }) => [bucketKey, limit.capacity])).toEqual([
      ['1{d}fw3600|user=ann|request_id=~', 5],
      ['1{d}if|user=ann|request_id=~', 20],
    ]);
    expect(takesOf({ entries, override, hits: -1 })).toMatchObject([
      { hits: 0, peek: true },
      { hits: -1, slotId: slotIdOf('r1') },
    ]);
    const shared = takesOf({ entries: entriesOf('shared=abc', 'request_id=r1'), override });
    expect(shared.map(({ bucketKey }) => bucketKey)).toEqual(['1{d}fw3600|shared=abc|request_id=~', '1{d}if|shared=~a*|request_id=~']);
  });
});

test('a reservation holds hits of the rate limits, and no slot', () => {
  const request = { domain: 'd', descriptors: [{ entries: entriesOf('user=ann', 'request_id=r1') }], hits: 1 };
  const matched = matchRequest({ ruleSet, request, modes: { shadow: false, quota: false } });
  const { takes } = toGroup({ request, matched: rateLimitsOf(matched), keyPrefix: '', shadow: false, nowUs: () => 0 });
  expect(takes.map(({ bucketKey }) => bucketKey)).toEqual(['1{d}fw60|user=ann|request_id=~']);
});

test('the wire shows the limit', () => {
  const limits = [...ruleSet.domains.values()].flatMap(({ root }) => root.byKey.get('user')?.rule?.limits ?? []);
  expect(limits[1]).toEqual({
    requestsPerUnit: 3,
    unit: 'second',
    unitMultiplier: 30,
    name: 'slots',
    algorithm: 'in_flight',
    windowUs: 30_000_000,
    capacity: 3,
    failureMode: 'open',
    responseHeaders: 'ietf',
  });
  expect([...ruleSet.domains.values()][0]?.headerModes).toEqual(['ietf']);
});

test('/rlconfig has a line for it', () => {
  expect(describeRules(ruleSet).filter((line) => line.includes('in_flight'))).toEqual([
    'd.shared_a*.request_id: unit=SECOND requests_per_unit=2, shadow_mode: true, quota_mode: false, algorithm: in_flight, unit_multiplier: 86400, name: in_flight, id: request_id, share_threshold: true',
    'd.user.request_id: unit=SECOND requests_per_unit=20, shadow_mode: false, quota_mode: false, algorithm: in_flight, unit_multiplier: 90, name: in_flight, id: request_id',
    'd.user: unit=SECOND requests_per_unit=3, shadow_mode: false, quota_mode: false, algorithm: in_flight, unit_multiplier: 30, failure_mode: open, response_headers: ietf, name: slots',
  ]);
});

test('weir explain prints the number of slots, the hold, and what identifies a request', () => {
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  examineConfig({
    files: [{ name: 'c.yaml', text: CONFIG }],
    defaultAlgorithm: 'fixed_window',
    generation: 1,
    onLevel: (declared) => levels.set(declared.level, declared),
  });
  const explained = (entries: Descriptor['entries']) =>
    formatExplanation(
      explainRequest({
        ruleSet,
        levels,
        plans: new Map(),
        request: { domain: 'd', descriptors: [{ entries }], hits: 1 },
        modes: { shadow: false, quota: false },
        keyPrefix: '',
        nowUs: () => 0,
      }),
    );
  expect(explained(entriesOf('user=ann', 'request_id=r1'))).toContain(
    '  requests in flight: 20 at once, each for 90 s at most, identified by request_id, named in_flight\n  bucket: 1{d}if|user=ann|request_id=~\n',
  );
  expect(explained(entriesOf('user=ann'))).toContain(
    '  requests in flight: 3 at once, each for 30 s at most, without an id, named slots\n',
  );
});

const of = (inFlight: string, rest = '') =>
  `domain: d\ndescriptors:\n  - key: user\n    descriptors:\n      - key: request_id\n        in_flight: ${inFlight}\n${rest}`;

test.each([
  ['{ hold: 60s }', 'max: is missing; set the number of requests that may be in flight at once'],
  ['{ max: 20 }', 'hold: is missing; set the time after which an unreleased slot is free again, such as 60s'],
  ['{ max: 10001, hold: 60s }', 'max: 10001 is over 10000, the most slots that a bucket has; use a smaller one'],
  ['{ max: -1, hold: 60s }', 'max: "-1" must be a whole number from 0 to 4294967295, unquoted'],
  ...['0s', '25h', '24h1s', '1.5s', '500ms', '60', '-5s', '', 's'].map((hold) => [
    `{ max: 1, hold: "${hold}" }`,
    `hold: "${hold}" is not accepted; use whole seconds, minutes or hours from 1s to 24h, such as 60s, 5m or 1h30m`,
  ]),
  ['{ max: 1, hold: 60s, id: requestid }', 'id: "requestid" is not a key of this descriptor; use one of user, request_id'],
  ['{ max: 1, hold: 60s, id: "" }', 'id: must not be empty'],
])('%s is rejected: %s', (inFlight, problem) => {
  expect(problemsOf(of(inFlight))).toEqual([expect.stringContaining(`.in_flight.${problem}`)]);
});

test.each(['1s', '24h', '86400s', '1440m', '1h30m5s'])('a hold of %s is accepted', (hold) => {
  expect(problemsOf(of(`{ max: 0, hold: ${hold} }`))).toEqual([]);
});

test('an id with a configured value, and slots beside unlimited, are accepted', () => {
  expect(problemsOf('domain: d\ndescriptors:\n  - key: id\n    value: x\n    in_flight: { max: 1, hold: 1s, id: id }\n')).toEqual([
    expect.stringContaining(
      'in_flight.id: "id" has a single value here, so all requests would share one slot; name an entry whose value differs for each request',
    ),
  ]);
  expect(problemsOf(of('{ max: 1, hold: 1s }', '        rate_limit: { unlimited: true }\n'))).toEqual([
    expect.stringContaining(
      'in_flight: conflicts with unlimited: true; remove that rate_limit, because in_flight alone limits nothing else',
    ),
  ]);
});

test('in_flight is not an algorithm that a limit can name', () => {
  expect(problemsOf('domain: d\nalgorithm: in_flight\ndescriptors: []\n')).toEqual([expect.stringContaining('unknown algorithm')]);
});

test('in_flight alone is a limit: modes beside it are valid, and replaces finds its name', () => {
  const text =
    'domain: d\ndescriptors:\n  - key: a\n    shadow_mode: true\n    in_flight: { max: 1, hold: 1s }\n  - key: b\n    rate_limit: { unit: second, requests_per_unit: 1, replaces: [{ name: in_flight }] }\n';
  expect(compileText(text).warnings).toEqual([]);
});
