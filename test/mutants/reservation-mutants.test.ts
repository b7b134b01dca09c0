/** Every mutant of the pure code of reservations fails a random life of reservations, or is equivalent. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import { MemoryReservations } from '../../src/state/reservation/memory-reservations';
import { RedisReservations } from '../../src/state/reservation/redis-reservations';
import type { Leg } from '../../src/domain/decide/reservation';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import type { ScriptRun } from '../../src/state/store/redis/redis-store';
import { LUA_DIR, type Script } from '../../src/state/store/redis/script-loader';
import { loadClockedScript } from '../support/redis/clocked-script';
import { LIMITS } from '../support/decisions/groups';
import { randomFrom, sampled } from '../support/random/random';
import { leg, makeStep, randomSteps, type Outcome, type ReservationStep } from '../support/random/reservation-schedules';
import { openClockedRedis, type ClockedRedis } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { untilLate } from './mutant-redis';
import { mutantsOf } from './mutate';
import { SHORT_PART } from '../support/random/short-part';
import { RESERVATION_EQUIVALENT, RESERVATION_UNREACHED } from './reservation-equivalent';
import { figure } from '../support/docs/figure';

const START_US = 1_800_000_000_000_000;
const LIVES = 150;
const SEED = 20_261_122;
const TIMEOUT_MS = 600_000;
const LISTED = { ...RESERVATION_EQUIVALENT, ...RESERVATION_UNREACHED };
const FILE = 'include/reservation.lua';

interface ExpectedStep {
  readonly nowUs: number;
  readonly step: ReservationStep;
  readonly outcome: Outcome;
}

interface Life {
  readonly tag: string;
  readonly legs: readonly Leg[];
  readonly steps: readonly ExpectedStep[];
}

const part = { file: FILE, text: readFileSync(path.join(LUA_DIR, FILE), 'utf8') };
const mutants = mutantsOf(part);
const whole = loadClockedScript('reserve');

let server: RedisServer;
let redis: ClockedRedis;
let lives: readonly Life[];

beforeAll(async () => {
  server = await startRedis();
  redis = await openClockedRedis(server);
  lives = await expectedLives();
});

afterAll(async () => {
  await redis.close();
  await server.stop();
});

/** A configuration that changes lets less be held than is. */
function legsAt(legs: readonly Leg[], step: number): readonly Leg[] {
  return step % 5 === 4 ? legs.map((each) => ({ ...each, shareMax: each.shareMax === undefined ? undefined : 1 })) : legs;
}

/** What the twin makes of random lives. */
async function expectedLives(): Promise<readonly Life[]> {
  const random = randomFrom({ seed: SEED });
  const modes = ['enforced', 'quota', 'shadow'] as const;
  const made: Life[] = [];
  for (let run = 0; run < LIVES; run += 1) {
    const limit = LIMITS[ALGORITHMS[run % ALGORITHMS.length]!];
    const startUs = START_US + random(1_000_000_000);
    const legs = Array.from({ length: 1 + random(3) }, (_, i) =>
      leg(random(3) === 0 ? 'a' : `b${i}`, {
        limit: { ...limit, requestsPerUnit: limit.requestsPerUnit * 3, capacity: limit.capacity * 3 },
        mode: modes[random(6)] ?? 'enforced',
        shareMax: random(2) === 0 ? undefined : random(limit.capacity * 3 + 1),
        overdraftMax: random(4),
        keepsOnLapse: random(3) === 0,
        descriptor: i,
      }),
    );
    const extended = ['r0', 'r1'].map((id) => ({ kind: 'extend', id, ttlUs: 90_000_000_000 }) as const);
    made.push(await lifeOf(legs, [...randomSteps(random, 4, limit.windowUs / 4), ...extended], startUs));
  }
  for (const steps of LIVES_BY_HAND) {
    for (const keepsOnLapse of [false, true]) made.push(await lifeOf([leg('a', { keepsOnLapse, overdraftMax: 9 })], steps, START_US));
  }
  return made;
}

/** The very microsecond in which a reservation is over, and sweeps that come too early or twice. */
const LIVES_BY_HAND: readonly (readonly ReservationStep[])[] = [
  [
    { kind: 'reserve', id: 'r', asked: 3, ttlUs: 1_000 },
    { kind: 'wait', us: 1_000 },
    { kind: 'commit', id: 'r', actual: 2 },
  ],
  [
    { kind: 'reserve', id: 'r', asked: 3, ttlUs: 1_000 },
    { kind: 'wait', us: 1_000 },
    { kind: 'lapse', id: 'r' },
    { kind: 'lapse', id: 'r' },
    { kind: 'commit', id: 'r', actual: 1 },
  ],
  [
    { kind: 'reserve', id: 'r', asked: 3, ttlUs: 1_000 },
    { kind: 'lapse', id: 'r' },
    { kind: 'wait', us: 999 },
    { kind: 'lapse', id: 'r' },
    { kind: 'commit', id: 'r', actual: 2 },
    { kind: 'lapse', id: 'r' },
  ],
];

/** What the twin makes of these steps. */
async function lifeOf(legs: readonly Leg[], planned: readonly ReservationStep[], startUs: number): Promise<Life> {
  let nowUs = startUs;
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1_000 });
  const twin = new MemoryReservations({ store, nowUs: () => nowUs, recordsMax: 1_000, bytesMax: 10_000_000 });
  const steps: ExpectedStep[] = [];
  for (const step of planned) {
    if (step.kind === 'wait') nowUs += step.us;
    else steps.push({ nowUs, step, outcome: await makeStep(twin, step, { tag: 't', legs: legsAt(legs, steps.length) }) });
  }
  return { tag: 't', legs, steps };
}

/**
 * A mutant may loop for ever, also when it has written: then Redis is killed, and another one begun. What it answers is read out here, as
 * a connection is given up for a reply that is none.
 */
async function runBounded<Answer>(call: ScriptRun<Answer>): Promise<Answer> {
  const watch = new AbortController();
  const first = await Promise.race([redis.store.run({ ...call, read: (reply) => ({ reply }) }), untilLate(server.pid, watch.signal)]);
  watch.abort();
  if (first !== undefined) return call.read(first.reply);
  server.kill('SIGKILL');
  await redis.close();
  await server.restart();
  redis = await openClockedRedis(server);
  throw new Error('the script does not end');
}

/** The first difference that the script shows; undefined if there is none. */
async function faultOf(script: Script): Promise<string | undefined> {
  let nowUs = START_US;
  const mutated = new RedisReservations({
    run: async (call) => {
      await redis.setNow(nowUs);
      return runBounded(call);
    },
    slotOf: () => 0,
    keyPrefix: '',
    onGivenBack: () => undefined,
    script,
  });
  for (const [i, { tag, legs, steps }] of lives.entries()) {
    await redis.client.flushDb();
    for (const [at, { nowUs: atUs, step, outcome }] of steps.entries()) {
      nowUs = atUs;
      const given = await makeStep(mutated, step, { tag, legs: legsAt(legs, at) }).catch((error: unknown) => String(error));
      if (JSON.stringify(sorted(given)) !== JSON.stringify(sorted(outcome))) return `life ${i + 1}, ${step.kind}`;
    }
  }
  return undefined;
}

/** Fields in an order of their own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, of]) => [name, sorted(of)]),
  );
}

function withPart(text: string): Script {
  const around = whole.text.split(part.text);
  if (around.length !== 2) throw new Error(`${around.length - 1} times in the script, not once: ${FILE}`);
  const mutated = around.join(text);
  return { text: mutated, sha: createHash('sha1').update(mutated).digest('hex') };
}

test('the unchanged script has no fault', async () => {
  expect(await faultOf(whole)).toBeUndefined();
});

test(
  'the scenarios kill every mutant',
  async () => {
    const survivors: string[] = [];
    const killedThoughListed: string[] = [];
    const tried = sampled(mutants, { part: SHORT_PART });
    for (const { id, text } of tried) {
      const fault = await faultOf(withPart(text));
      const isListed = id in LISTED;
      if (fault === undefined && !isListed) survivors.push(id);
      if (fault !== undefined && isListed) killedThoughListed.push(id);
    }
    figure(`${tried.length} of ${mutants.length} tried: ${tried.length - survivors.length} killed or listed`);
    expect({ survivors, killedThoughListed }).toEqual({ survivors: [], killedThoughListed: [] });
  },
  TIMEOUT_MS,
);

test('each listed mutant exists', () => {
  const ids = mutants.map(({ id }) => id);
  expect(Object.keys(LISTED).filter((id) => !ids.includes(id))).toEqual([]);
});
