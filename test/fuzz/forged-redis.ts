/** Decisions by a Redis whose replies are forged: the whole path in this process, over real sockets, and the rules that hold whatever comes. */

import type { Descriptor } from '../../src/domain/descriptor/descriptor';
import { UnavailableError } from '../../src/lib/errors';
import { makeShouldRateLimit, type Outcome } from '../../src/should-rate-limit';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { wrapRedis, wrapServer } from '../../src/state/resilience/wrap-redis';
import { randomFrom, type Random } from '../support/random/random';
import type { RedisServer } from '../support/redis/redis-server';
import { storeOptions } from '../support/redis/redis-store';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../support/decisions/rules';
import { until } from '../support/clock/until';
import { ReplyForger } from './reply-forger';

/** No limit here, and no reset, is larger. */
const COUNT_LIMIT = 1_000_000_000;
const RESET_US_MAX = 200 * 366 * 86_400 * 1_000_000;

/** A call that is not answered costs so long. */
const OP_TIMEOUT_MS = 40;

const CALLERS = 8;

/** A run that waits for a cause makes at most this multiple of its calls. */
const CALLS_FACTOR_MAX = 20;
const FORGED_ONE_IN = 12;

/** A call may run in Redis, be decided without it since its reply was forged, and be charged again since the reply to that was. */
const CHARGES_MAX = 3;

const RULES = ruleSetOf(
  levelOf({
    count: ruleOf({ limits: [limitOf({ unit: 'year', requestsPerUnit: COUNT_LIMIT, algorithm: 'fixed_window' })] }),
    few: ruleOf({ limits: [limitOf({ requestsPerUnit: 3 })] }),
    leaky: ruleOf({ limits: [limitOf({ requestsPerUnit: 3, algorithm: 'leaky_bucket' })] }),
    window: ruleOf({ limits: [limitOf({ unit: 'minute', requestsPerUnit: 50, algorithm: 'fixed_window' })] }),
    counter: ruleOf({ limits: [limitOf({ unit: 'minute', requestsPerUnit: 50, algorithm: 'sliding_window_counter' })] }),
    log: ruleOf({ limits: [limitOf({ unit: 'minute', requestsPerUnit: 50, algorithm: 'sliding_window_log' })] }),
    shadow: ruleOf({ shadowMode: true, limits: [limitOf({ requestsPerUnit: 1 })] }),
  }),
);

const OTHER_KEYS = ['few', 'leaky', 'window', 'counter', 'log', 'shadow'];

export interface ForgedRun {
  /** Replies of Redis, and how many of them were forged. */
  readonly replies: number;
  readonly forged: number;
  /** Why a connection was lost, each cause once. */
  readonly causes: ReadonlySet<string>;
  /** Every rule that was broken. */
  readonly faults: readonly string[];
}

/**
 * Makes `calls` calls, several at a time, while one reply in twelve is forged; then none is, and Redis must decide again. How replies
 * fall together depends on real time: until a connection was lost for a cause that `enough` accepts, it goes on, to at most 20 * `calls`.
 */
export async function fuzzForgedRedis({
  redis,
  seed,
  calls,
  enough,
}: {
  readonly redis: RedisServer;
  readonly seed: number;
  readonly calls: number;
  readonly enough: (cause: string) => boolean;
}): Promise<ForgedRun> {
  const random = randomFrom({ seed });
  const forger = await ReplyForger.start({ target: redis.port, random });
  const path = openPath(forger.port);
  const faults = new Set<string>();
  let asked = 0;
  let admitted = 0;
  const ask = async (): Promise<void> => {
    const isCount = random(3) === 0;
    const request = requestOf(isCount ? [{ entries: entriesOf('count=1') }] : someDescriptors(random));
    // One object several times is a fold.
    const requests = Array.from({ length: 1 + random(4) }, () => request);
    const outcomes = await path.decide(requests, {}).catch((error: unknown) => requests.map(() => error as Error));
    for (const outcome of outcomes) {
      const fault = faultOf(outcome);
      if (fault !== undefined) faults.add(fault);
      if (!isCount) continue;
      asked += 1;
      if (!(outcome instanceof Error) && outcome.overallCode === 'OK') admitted += 1;
    }
  };
  try {
    await path.redis.connect({ waitMs: 10_000 });
    forger.forgeOneIn(FORGED_ONE_IN);
    let begun = 0;
    const askMany = async (): Promise<void> => {
      while (begun < calls || (begun < CALLS_FACTOR_MAX * calls && ![...path.causes].some(enough))) {
        begun += 1;
        await ask();
        await pause(random(3));
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, () => askMany()));
    forger.forgeOneIn(0);
    await until(async () => (await path.counted()) !== undefined);
    // What passed without Redis is charged in the background.
    await until(async () => ((await path.counted()) ?? 0) >= admitted - path.told.lost);
    const counted = (await path.counted()) ?? 0;
    if (counted > CHARGES_MAX * asked) faults.add(`Redis counted ${counted} hits of ${asked} that were asked for`);
    const { chargedBack, fallback } = path.told;
    if (chargedBack > fallback) faults.add(`Redis was charged ${chargedBack} hits, and ${fallback} had passed without it`);
  } finally {
    await path.close();
    await forger.stop();
  }
  return { replies: forger.replies, forged: forger.forged, causes: path.causes, faults: [...faults] };
}

function openPath(port: number) {
  const nowMs = () => performance.now();
  const causes = new Set<string>();
  const told = { fallback: 0, lost: 0, chargedBack: 0 };
  const redis = new RedisStore({
    ...storeOptions(port),
    silenceMs: OP_TIMEOUT_MS,
    connectTimeoutMs: 5 * OP_TIMEOUT_MS,
    reconnect: { firstMs: 1, maxMs: 1, factor: 1 },
    onConnection: ({ connected, cause = '' }) => {
      if (connected) server.breaker.reset();
      else causes.add(cause);
    },
  });
  const server = wrapServer(redis, {
    timeoutMs: OP_TIMEOUT_MS,
    // Open, it would see few replies.
    breaker: { failures: 50, windowMs: 10_000, openMs: 100, onState: () => undefined },
    measure: { onCall: () => undefined, onError: () => undefined },
    partOf: () => 0,
    groupsMax: 10_000,
  });
  const { store } = wrapRedis(server.store, {
    denyCacheMax: 1_000,
    lastKnownMax: 1_000,
    accountsMax: 1_000,
    failureMode: 'local',
    local: new MemoryStore({ nowUs: () => Math.floor(nowMs() * 1_000), bucketsMax: 10_000 }),
    instances: () => 1,
    onDenied: () => undefined,
    leases: { leases: 'off', onHits: () => undefined },
    onFallback: ({ local, open }) => {
      told.fallback += local + open;
    },
    onChargedBack: (hits) => {
      told.chargedBack += hits;
    },
    onLost: (hits) => {
      told.lost += hits;
    },
  });
  const decide = makeShouldRateLimit({
    ruleSet: () => RULES,
    store,
    modes: { shadow: false, quota: false },
    keyPrefix: '',
    nowUs: () => Date.now() * 1_000,
    record: () => undefined,
  });
  /** Hits that Redis has counted on the key that is never used up; undefined: it was not Redis that answered. */
  const counted = async (): Promise<number | undefined> => {
    const [outcome] = await decide([requestOf([{ entries: entriesOf('count=1'), hits: 0 }])], {});
    if (outcome === undefined || outcome instanceof Error || outcome.fallback === true) return undefined;
    return COUNT_LIMIT - (outcome.statuses[0]?.limitRemaining ?? 0);
  };
  return { redis, decide, counted, told, causes, close: () => store.close() };
}

function someDescriptors(random: Random): Descriptor[] {
  return Array.from({ length: 1 + random(3) }, (): Descriptor => {
    const entries = entriesOf(`${OTHER_KEYS[random(OTHER_KEYS.length)]!}=${random(3)}`);
    return random(8) === 0 ? { entries, hits: random(5) - 1 } : { entries };
  });
}

/** What no reply may bring about. */
function faultOf(outcome: Outcome): string | undefined {
  if (outcome instanceof Error) return outcome instanceof UnavailableError ? undefined : `INTERNAL: ${outcome.message}`;
  for (const { limitRemaining = 0, durationUntilResetUs = 0 } of outcome.statuses) {
    if (!isWithin(limitRemaining, COUNT_LIMIT)) return `${limitRemaining} hits remaining`;
    if (!isWithin(durationUntilResetUs, RESET_US_MAX)) return `a reset after ${durationUntilResetUs} us`;
  }
  return undefined;
}

function isWithin(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
