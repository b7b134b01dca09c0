/** A cached request is decided as an uncached one, also over reloads. */

import type { Group } from '../../../src/domain/bucket/take';
import { Preparation } from '../../../src/state/request/preparation';
import type { Descriptor, RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import { BadRequestError } from '../../../src/lib/errors';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { alone } from '../../support/decisions/decide-one';
import { expectSame } from '../../support/random/expect-same';
import { randomFrom, type Random } from '../../support/random/random';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';

const START_US = 1_800_000_000_000_000;
const MODES = { shadow: false, quota: false };

const plain = ruleSetOf(levelOf({ k: ruleOf() }));

function preparationOf(ruleSet = plain, nowUs = () => START_US): Preparation {
  return new Preparation({ ruleSet, modes: MODES, keyPrefix: '', nowUs });
}

const ONCE = requestOf([{ entries: entriesOf('k=v') }]);
const RECURRING = { ...ONCE, recurs: true } as const;

test('a recurring request has one group, and another one has its own each time', () => {
  const preparation = preparationOf();
  expect(preparation.of(RECURRING)).toBe(preparation.of(RECURRING));
  expect(preparation.of(ONCE)).toEqual({ ...preparation.of(RECURRING), request: ONCE });
  expect(preparation.of(ONCE).group).not.toBe(preparation.of(ONCE).group);
});

test('another rule set has its own groups', () => {
  const tight = ruleSetOf(levelOf({ k: ruleOf({ limits: [limitOf({ requestsPerUnit: 1 })] }) }));
  expect(preparationOf().of(RECURRING).group.takes[0]?.limit.capacity).toBe(10);
  expect(preparationOf(tight).of(RECURRING).group.takes[0]?.limit.capacity).toBe(1);
});

test('the calendar windows of a recurring request move on', () => {
  let nowUs = START_US;
  const daily = ruleOf({ limits: [limitOf({ unit: 'day', algorithm: 'fixed_window', calendarTimeZone: 'UTC' })] });
  const preparation = preparationOf(ruleSetOf(levelOf({ k: daily })), () => nowUs);
  const edges = () => preparation.of(RECURRING).group.takes[0]?.limit.edgesUs;
  const before = edges();
  nowUs += 86_400_000_000;
  expect(edges()?.slice(0, 3)).toEqual(before?.slice(1));
});

/** Any rules, of three keys: several limits, modes, wildcards of time and calendars, names that are replaced. */
function randomRuleSet(random: Random, generation: number): RuleSet {
  const rules = ['a', 'b', 'b=1', 'c']
    .filter(() => random(4) > 0)
    .map((name) => {
      const limits = Array.from({ length: random(3) }, (_, i) =>
        limitOf({
          requestsPerUnit: 1 + random(6),
          unit: (['second', 'minute', 'day'] as const)[i] ?? 'hour',
          name: ['', 'basic'][random(2)]!,
          algorithm: (['token_bucket', 'fixed_window', 'sliding_window_counter'] as const)[random(3)]!,
          calendarTimeZone: random(2) === 0 ? 'UTC' : undefined,
        }),
      );
      return [
        name,
        ruleOf({
          limits,
          unlimited: limits.length === 0,
          replaces: random(4) === 0 ? ['basic'] : [],
          shadowMode: random(5) === 0,
          quotaMode: random(5) === 0,
        }),
      ];
    });
  return { ...ruleSetOf(levelOf(Object.fromEntries(rules) as Parameters<typeof levelOf>[0])), generation };
}

function randomRequest(random: Random): RateLimitRequest {
  const descriptors = Array.from({ length: 1 + random(3) }, (): Descriptor => {
    const entries = entriesOf(...['a=1', 'b=1', 'b=2', 'c=1', 'd=1'].slice(random(5)).slice(0, 1));
    const override = { requestsPerUnit: random(5), unit: 'minute', unitMultiplier: random(20) === 0 ? 2 ** 32 - 1 : 1 } as const;
    return { entries, ...(random(4) === 0 && { hits: random(4) - 1 }), ...(random(6) === 0 && { override }) };
  });
  return requestOf(descriptors, { hits: 1 + random(2), domain: ['d', 'd', 'unknown'][random(3)]! });
}

test('requests get the same takes and answers with and without the cache, over many reloads', async () => {
  const random = randomFrom();
  let nowUs = START_US;
  const ruleSets = Array.from({ length: 4 }, (_, i) => randomRuleSet(random, i));
  let ruleSet = ruleSets[0]!;
  const parts = { ruleSet: () => ruleSet, modes: MODES, keyPrefix: 'p-', nowUs: () => nowUs, record: () => undefined };
  const asking = () => {
    const asked: Group[] = [];
    const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
    const take: typeof store.take = (groups) => {
      asked.push(...groups);
      return store.take(groups);
    };
    return { asked, parts: { ...parts, store: { take, adjust: store.adjust.bind(store), close: store.close.bind(store) } } };
  };
  const [remembering, forgetting] = [asking(), asking()];
  const decideRemembering = alone(makeShouldRateLimit(remembering.parts));
  // Made anew for each request: it can't remember anything.
  const decideForgetting: typeof decideRemembering = (request, options) => alone(makeShouldRateLimit(forgetting.parts))(request, options);
  const requests = Array.from({ length: 40 }, () => randomRequest(random));
  const recurring = requests.map((request) => ({ ...request, recurs: true as const }));
  for (let step = 0; step < 4000; step += 1) {
    if (random(50) === 0) ruleSet = ruleSets[random(ruleSets.length)]!;
    nowUs += random(400_000) * (random(100) === 0 ? 500_000 : 1);
    const which = random(requests.length);
    const answer = (decide: typeof decideRemembering, request: RateLimitRequest) => decide(request, {}).catch((error: unknown) => error);
    const [known, anew] = [await answer(decideRemembering, recurring[which]!), await answer(decideForgetting, requests[which]!)];
    if (!(anew instanceof Error)) expectSame(known, anew);
    else expect([known, anew]).toEqual([new BadRequestError(anew.message), expect.any(BadRequestError)]);
    expectSame(remembering.asked.splice(0), forgetting.asked.splice(0));
  }
});
