/** What a decision costs with control data in force, beside the same decision without. */

import type { ControlData } from '../../src/state/control/control-data';
import type { RateLimitRequest } from '../../src/domain/descriptor/descriptor';
import { monotonicNowUs } from '../../src/lib/clock';
import type { ControlView } from '../../src/domain/rule/control-view';
import { matchRequest } from '../../src/domain/rule/match';
import type { Plan } from '../../src/domain/rule/plan';
import type { RuleSet } from '../../src/domain/rule/rule-set';
import { makeShouldRateLimit } from '../../src/should-rate-limit';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { levelOf, limitOf, ruleOf, ruleSetOf } from '../../test/support/decisions/rules';
import { spreadOf, type Spread } from '../support/statistics';

const ROUNDS = 15;
const CHUNKS_PER_ROUND = 40;

/** Rounds before those that count. */
const WARM_UP_ROUNDS = 3;

/** Few, so that requests are still in the cache of the processor when they are decided, as they are after they were decoded. */
const REQUESTS_OF_CHUNK = 256;

/** Requests before the warm-up, one of each value. */
const FIRST_REQUESTS_MAX = 100_000;

/** Requests that are decided at once. */
const AT_ONCE = 16;

const MODES = { shadow: false, quota: false };

/** Requests whose second entry has this key, and one of these values. */
export interface Asked {
  readonly name: string;
  readonly key: 'account' | 'merchant' | 'ip';
  readonly prefix: string;
  readonly from: number;
  readonly count: number;
}

export interface CostRow {
  readonly name: string;
  /** In nanoseconds. */
  readonly withoutNs: number;
  readonly withNs: number;
  readonly ratio: Spread;
}

export interface Costs {
  readonly matching: readonly CostRow[];
  readonly decision: readonly CostRow[];
}

type Work = (asked: readonly RateLimitRequest[]) => Promise<void>;

/** Each row: the same requests without control data and with them, chunk by chunk in turn. */
export async function decisionCosts(data: ControlData, rows: readonly Asked[]): Promise<Costs> {
  const ruleSet = rules();
  const matching: CostRow[] = [];
  const decision: CostRow[] = [];
  for (const asked of rows) {
    matching.push(await compare(asked, [matcher(ruleSet, undefined), matcher(ruleSet, data)]));
    decision.push(await compare(asked, [decider(ruleSet, undefined), decider(ruleSet, data)]));
  }
  return { matching, decision };
}

/** Below an endpoint: accounts are tenants with plans, merchants and addresses have one limit. */
function rules(): RuleSet {
  // As large as the limits of the overrides: a bucket that is full again at once costs less.
  const limits = () => [limitOf({ requestsPerUnit: 350, unit: 'minute' })];
  const planOf = (name: string): Plan => ({ name, limits: limits(), unlimited: false, limitName: '', replaces: [] });
  const plans = new Map(['free', 'gold', 'enterprise', 'burst-0', 'burst-1'].map((name) => [name, planOf(name)]));
  const tenant = { level: 1, defaultPlan: plans.get('free')!, plans };
  const children = levelOf({
    account: ruleOf({ limits: limits(), tenant }),
    merchant: ruleOf({ limits: limits() }),
    ip: ruleOf({ limits: limits() }),
  });
  return ruleSetOf({ ...levelOf({}), byKey: new Map([['endpoint', { children }]]) });
}

function matcher(ruleSet: RuleSet, control: ControlView | undefined): Work {
  return (asked) => {
    for (const request of asked) matchRequest({ ruleSet, request, modes: MODES, control });
    return Promise.resolve();
  };
}

function decider(ruleSet: RuleSet, control: ControlView | undefined): Work {
  const decide = makeShouldRateLimit({
    ruleSet: () => ruleSet,
    store: new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: 100_000 }),
    modes: MODES,
    control,
    keyPrefix: '',
    nowUs: monotonicNowUs,
    record: () => undefined,
  });
  return async (asked) => {
    for (let at = 0; at < asked.length; at += AT_ONCE) await decide(asked.slice(at, at + AT_ONCE), {});
  };
}

async function compare(asked: Asked, [without, withData]: readonly [Work, Work]): Promise<CostRow> {
  // Each value once: what the first request with an override makes is there for the later ones.
  for (let chunk = 0; chunk * REQUESTS_OF_CHUNK < Math.min(asked.count, FIRST_REQUESTS_MAX); chunk += 1) {
    const inTurn = requests({ ...asked, from: asked.from + chunk * REQUESTS_OF_CHUNK, count: REQUESTS_OF_CHUNK }, 'in turn');
    await without(inTurn);
    await withData(inTurn);
  }
  const all: { readonly withoutNs: number; readonly withNs: number }[] = [];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    let [withoutNs, withNs] = [0, 0];
    for (let chunk = 0; chunk < CHUNKS_PER_ROUND; chunk += 1) {
      const seed = (round + WARM_UP_ROUNDS) * CHUNKS_PER_ROUND + chunk;
      if (chunk % 2 === 0) withoutNs += await timed(without, requests(asked, seed));
      withNs += await timed(withData, requests(asked, seed));
      if (chunk % 2 === 1) withoutNs += await timed(without, requests(asked, seed));
    }
    if (round >= 0) all.push({ withoutNs: withoutNs / CHUNKS_PER_ROUND, withNs: withNs / CHUNKS_PER_ROUND });
  }
  const median = (of: 'withoutNs' | 'withNs') => spreadOf(all.map((each) => each[of])).median;
  const ratio = spreadOf(all.map(({ withoutNs, withNs }) => withNs / withoutNs));
  return { name: asked.name, withoutNs: median('withoutNs'), withNs: median('withNs'), ratio };
}

/** Nanoseconds of processor time for each request. */
async function timed(work: Work, asked: readonly RateLimitRequest[]): Promise<number> {
  const before = process.cpuUsage();
  await work(asked);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / asked.length;
}

/** Texts as the transport makes them: in one piece. */
function textOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Values at random, from a seed, or in turn. */
function requests({ key, prefix, from, count }: Asked, seed: number | 'in turn'): RateLimitRequest[] {
  return Array.from({ length: REQUESTS_OF_CHUNK }, (_, i) => {
    const place = seed === 'in turn' ? i : Math.imul(seed * REQUESTS_OF_CHUNK + i, 0x9e3779b1) >>> 0;
    const number = from + (place % count);
    const entries = [
      { key: textOf('endpoint'), value: textOf(`/v1/${number % 7}`) },
      { key: textOf(key), value: textOf(`${prefix}${number}`) },
    ];
    return { domain: textOf('d'), hits: 1, descriptors: [{ entries }] };
  });
}
