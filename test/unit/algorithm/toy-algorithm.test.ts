/**
 * A new algorithm takes one file and one entry.
 *
 * @jest-environment node
 */

import { toGroup } from '../../../src/domain/bucket/to-group';
import type * as Algorithms from '../../../src/domain/algorithm/algorithms';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { DenyCacheStore } from '../../../src/state/resilience/deny-cache';
import { toLocalShare } from '../../../src/state/resilience/local-share';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { matchRequest } from '../../../src/domain/rule/match';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { encodeAdjustments } from '../../../src/state/store/redis/adjust-wire';
import { encodeTakes } from '../../../src/state/store/redis/take-wire';
import { alone } from '../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileText, problemsOf } from '../compile/compile-config';
import type * as Toy from './toy';

jest.mock('../../../src/domain/algorithm/algorithms', () => {
  const real = jest.requireActual<typeof Algorithms>('../../../src/domain/algorithm/algorithms');
  const { toy } = jest.requireActual<typeof Toy>('./toy');
  return { ...real, ALGORITHMS: [...real.ALGORITHMS, 'toy'], TRAITS: { ...real.TRAITS, toy } };
});

const MODES = { shadow: false, quota: false };
const RULES = 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: minute, requests_per_unit: 2, algorithm: toy } }]\n';
const REQUEST = requestOf([{ entries: entriesOf('k=v') }]);
const START_US = 1_800_000_000_000_000;

test('it is configured, decides, denies, and its windows end', async () => {
  const clock = { nowUs: START_US };
  const nowMs = () => clock.nowUs / 1_000;
  const ruleSet = compileText(RULES);
  const store = new DenyCacheStore(new MemoryStore({ nowUs: () => clock.nowUs, bucketsMax: 10 }), {
    nowMs,
    bucketsMax: 10,
    lastKnown: new UsageSnapshot({ nowMs, bucketsMax: 10 }),
    onDenied: () => undefined,
  });
  const parts = { ruleSet: () => ruleSet, store, modes: MODES, keyPrefix: '', nowUs: () => clock.nowUs, record: () => undefined };
  const decide = alone(makeShouldRateLimit(parts));
  const codes: string[] = [];
  for (const afterUs of [0, 20_000_000, 20_000_000, 19_999_999, 1]) {
    clock.nowUs += afterUs;
    codes.push((await decide(REQUEST, {})).overallCode);
  }
  expect(codes).toEqual(['OK', 'OK', 'OVER_LIMIT', 'OVER_LIMIT', 'OK']);
  expect(describeRules(ruleSet).join('')).toContain('algorithm: toy');
  await store.close();
});

test('its name is offered where it is misspelled', () => {
  expect(problemsOf(RULES.replace('toy', 'toys')).join()).toContain('toy');
});

test('keys, commands for Redis and local shares have it', () => {
  const ruleSet = compileText(RULES);
  const matched = matchRequest({ ruleSet, request: REQUEST, modes: MODES });
  const group = toGroup({ request: REQUEST, matched, keyPrefix: '', shadow: false, nowUs: () => START_US });
  const [take] = group.takes;
  const { bucketKey, limit } = take!;
  expect([limit.algorithm as string, bucketKey]).toEqual(['toy', '1{d}ty60|k=v']);
  expect(encodeTakes([group]).args).toContain('9');
  expect(encodeAdjustments([{ bucketKey, limit, hits: 1, takenAtUs: 0, usedBefore: 0 }]).args).toContain('9');
  expect(toLocalShare({ ...limit, capacity: 10 }, { instances: 2 })).toMatchObject({ algorithm: 'toy', capacity: 4 });
});
