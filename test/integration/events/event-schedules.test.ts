/** Each line of each bucket has one event in each window, whichever instances see it or die. */

import { makeShouldRateLimit, type Decide } from '../../../src/should-rate-limit';
import type { Limit } from '../../../src/domain/rule/limit';
import { MarkQueue } from '../../../src/state/events/mark-queue';
import { RedisOutbox } from '../../../src/state/events/redis-outbox';
import { ThresholdWatch } from '../../../src/state/events/threshold-watch';
import { CLEAR, limitWith } from '../../support/events/watched';
import { entriesOf, levelOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';
import { randomFrom, seeded, type Random } from '../../support/random/random';
import { loadClockedScript } from '../../support/redis/clocked-script';
import { redisOfFile, type RedisOfFile } from '../../support/redis/redis-of-file';

const HOUR_US = 3_600_000_000;
const START_US = 500_000 * HOUR_US;
const LINES = [30, 50, 80, 100];
const BUCKETS = 4;
const INSTANCES = 3;

const redis = redisOfFile();

interface Instance {
  readonly decide: Decide;
  readonly queue: MarkQueue;
}

function outboxOn({ store }: RedisOfFile): RedisOutbox {
  const scripts = {
    add: loadClockedScript('event-add'),
    claim: loadClockedScript('event-claim'),
    settle: loadClockedScript('event-settle'),
    list: loadClockedScript('event-list'),
  };
  return new RedisOutbox({ run: (call, options) => store.run(call, options), keyPrefix: '', scripts });
}

function instanceWith(limit: Limit): Instance {
  const outbox = outboxOn(redis);
  const ignore = () => undefined;
  const queue = new MarkQueue({ outbox, onOutcome: ignore, onFacts: ignore, onError: ignore });
  const watch = new ThresholdWatch({ queue, privacy: CLEAR });
  const ruleSet = ruleSetOf(levelOf({ k: ruleOf({ path: ['k'], limits: [limit] }) }));
  const decide = makeShouldRateLimit({
    ruleSet: () => ruleSet,
    store: redis.store,
    modes: { shadow: false, quota: false },
    keyPrefix: '',
    nowUs: () => 0,
    record: (decided) => {
      watch.record(decided);
    },
  });
  return { decide, queue };
}

/** The hits of a request that passed; 0 if it was denied. */
async function ask({ decide }: Instance, bucket: number, hits: number): Promise<number> {
  const [outcome] = await decide([requestOf([{ entries: entriesOf(`k=v${bucket}`), hits }])], {});
  if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('no outcome');
  return outcome.overallCode === 'OK' ? hits : 0;
}

/** The hits that are left in a bucket, as a check shows them. */
async function leftIn({ decide }: Instance, bucket: number): Promise<number> {
  const [outcome] = await decide([requestOf([{ entries: entriesOf(`k=v${bucket}`), hits: 0 }])], {});
  if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('no outcome');
  return outcome.statuses[0]!.limitRemaining;
}

interface Taken {
  readonly id: string;
  readonly name: string;
  readonly atMs: number;
}

/** Takes all events out of the outbox. */
async function takeAll(): Promise<Taken[]> {
  const outbox = outboxOn(redis);
  const taken: Taken[] = [];
  for (;;) {
    const { claimed } = await outbox.claim({ max: 50, leaseMs: 1_000 });
    if (claimed.length === 0) return taken;
    for (const { id, text, appendedMs } of claimed) {
      const { data } = JSON.parse(text) as { data: { descriptor: { value: string }[]; at_percent: number; window_end?: string } };
      taken.push({ id, name: `${data.descriptor[0]?.value} ${data.at_percent} ${data.window_end ?? ''}`, atMs: appendedMs });
    }
    await outbox.settle(claimed.map(({ number }) => ({ number, ending: 'delivered' as const, waitMs: 0 })));
  }
}

async function randomSteps(instances: Instance[], limit: Limit, { random, used }: { readonly random: Random; readonly used: number[] }) {
  const at = random(INSTANCES);
  const kind = random(10);
  if (kind === 0) instances[at] = instanceWith(limit);
  else if (kind <= 2) await instances[at]!.queue.flush();
  else {
    const bucket = random(BUCKETS);
    used[bucket]! += await ask(instances[at]!, bucket, 1 + random(4));
  }
}

test('fixed windows: the events are those of the model, each once, although instances die with their queues', async () => {
  const { numRuns, seed } = seeded(300);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    await redis.client.flushAll();
    const limit = limitWith(LINES, { requestsPerUnit: 3 + random(20) });
    const instances = Array.from({ length: INSTANCES }, () => instanceWith(limit));
    const expected: string[] = [];
    for (let window = 0; window < 3; window += 1) {
      const used = new Array<number>(BUCKETS).fill(0);
      const startUs = START_US + window * HOUR_US;
      let nowUs = startUs;
      for (let step = 0; step < 40; step += 1) {
        nowUs += random(60_000_000);
        await redis.setNow(nowUs);
        await randomSteps(instances, limit, { random, used });
      }
      // One more request each, by an instance that lives; a check changes nothing.
      for (let bucket = 0; bucket < BUCKETS; bucket += 1) await ask(instances[0]!, bucket, 0);
      // Marks may be set after the end of their window.
      if (random(2) === 0) await redis.setNow(startUs + HOUR_US + random(300_000_000));
      await instances[0]!.queue.flush();
      const end = new Date((startUs + HOUR_US) / 1_000).toISOString();
      used.forEach((hits, bucket) => {
        for (const line of LINES) if (hits >= Math.ceil((limit.capacity * line) / 100)) expected.push(`v${bucket} ${line} ${end}`);
      });
    }
    for (const { queue } of instances) await queue.flush();
    const taken = await takeAll();
    expect(taken.map(({ name }) => name).sort()).toEqual(expected.sort());
    expect(new Set(taken.map(({ id }) => id)).size).toBe(taken.length);
  }
});

test('token buckets: two events of a line are at least a period apart, and none is missing in the end', async () => {
  const { numRuns, seed } = seeded(300);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    await redis.client.flushAll();
    const limit = limitWith(LINES, { algorithm: 'token_bucket', requestsPerUnit: 10, burst: 5 + random(20) });
    const periodMs = Math.ceil(((limit.capacity / 10) * HOUR_US) / 1_000);
    const instances = Array.from({ length: INSTANCES }, () => instanceWith(limit));
    const used = new Array<number>(BUCKETS).fill(0);
    let nowUs = START_US;
    for (let step = 0; step < 150; step += 1) {
      nowUs += random(HOUR_US / 2);
      await redis.setNow(nowUs);
      await randomSteps(instances, limit, { random, used });
    }
    // A mark that has waited for longer than its period is late, and the next request marks the line again.
    for (const { queue } of instances) await queue.flush();
    const left: number[] = [];
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) left.push(await leftIn(instances[0]!, bucket));
    for (const { queue } of instances) await queue.flush();
    const timesOf = new Map<string, number[]>();
    for (const { name, atMs } of await takeAll()) timesOf.set(name, [...(timesOf.get(name) ?? []), atMs]);
    for (const times of timesOf.values()) {
      times.sort((one, other) => one - other);
      for (let i = 1; i < times.length; i += 1) expect(times[i]! - times[i - 1]!).toBeGreaterThanOrEqual(periodMs);
    }
    const sinceMs = nowUs / 1_000 - periodMs;
    left.forEach((remaining, bucket) => {
      for (const line of LINES) {
        const isPassed = limit.capacity - remaining >= Math.ceil((limit.capacity * line) / 100);
        if (isPassed) expect(timesOf.get(`v${bucket} ${line} `)?.at(-1) ?? 0).toBeGreaterThan(sinceMs);
      }
    });
  }
});
