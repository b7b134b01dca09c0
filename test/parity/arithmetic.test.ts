/** Both twins compute the same as BigInt, on both sides of the limit of exact doubles. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { refill, timeToRefill } from '../../src/domain/algorithm/arithmetic';
import { LUA_DIR } from '../../src/state/store/redis/script-loader';
import { randomFrom } from '../support/random/random';
import { makeTestClient, type TestClient } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';

const ARITHMETIC = ['numbers', 'arithmetic'].map((name) => readFileSync(path.join(LUA_DIR, 'include', `${name}.lua`), 'utf8')).join('');
const EXACT_MAX = Number.MAX_SAFE_INTEGER;
const CENTURY_US = 100 * 365 * 86_400_000_000;
const RUNS = 4_000;
/** How far from the border the products lie that are made for it. */
const NEAR = 5;

/** What is asked of one function: `amount` is a time of refill, hits of timeToRefill. */
interface Question {
  readonly amount: number;
  readonly rest: number;
  readonly requests: number;
  readonly windowUs: number;
}

let server: RedisServer;
let client: TestClient;

beforeAll(async () => {
  server = await startRedis();
  client = makeTestClient(server.port);
  await client.connect();
});

afterAll(async () => {
  client.destroy();
  await server.stop();
});

/** What the Lua function gives for each question, as digits. */
async function askLua(name: string, questions: readonly Question[]): Promise<readonly string[]> {
  const script = `${ARITHMETIC}
local reply = {}
for at = 1, #ARGV, 4 do
  local first, second = ${name}(tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]))
  reply[#reply + 1] = format('%.0f %.0f', first, second or 0)
end
return reply`;
  const args = questions.flatMap(({ amount, rest, requests, windowUs }) => [amount, rest, requests, windowUs].map(String));
  const reply = await client.sendCommand<string[]>(['EVAL', script, '0', ...args]);
  return reply;
}

/** Questions on all sides: products small and large, those right at the border, and quotients just below a whole number. */
function questions(amountMax: number, multiplier: (question: Omit<Question, 'amount'>) => number): readonly Question[] {
  const random = randomFrom();
  /** Each length of number as often as any other. */
  const upTo = (max: number): number =>
    1 + Math.floor((random(2 ** 32) / 2 ** 32) * Math.min(max, 2 ** (1 + random(Math.ceil(Math.log2(max + 1))))));
  return Array.from({ length: RUNS }, (_, run) => {
    const [requests, windowUs] = [Math.min(EXACT_MAX, upTo(EXACT_MAX)), Math.min(CENTURY_US, upTo(CENTURY_US))];
    const rate = { rest: Math.floor((random(2 ** 32) / 2 ** 32) * windowUs), requests, windowUs };
    const by = multiplier(rate);
    const near = Math.floor(EXACT_MAX / by) + random(NEAR) - 2;
    const amounts = [upTo(amountMax), Math.max(1, near), Math.max(1, Math.ceil((windowUs * upTo(1_000)) / requests) - 1)];
    return { amount: Math.min(amountMax, amounts[run % amounts.length] ?? 1), ...rate };
  });
}

test('refill gives the same in both twins', async () => {
  const asked = [
    ...questions(CENTURY_US, ({ requests }) => requests),
    // Exactly at the border, one below and one above: 2^53 - 1 is 6361 * 69431 * 20394401.
    ...[6361, 69_431].flatMap((requests) =>
      [-1, 0, 1].map((off) => ({ amount: EXACT_MAX / requests - 1, rest: requests + off, requests, windowUs: 1_000_000 })),
    ),
  ];
  // A remainder of half the window, less a half, where one factor is halved.
  asked.push({ amount: 1_000_000, rest: 0, requests: 12_001_012_002, windowUs: 1_000_001 });
  const inLua = await askLua('refill', asked);
  const sides = { exact: 0, long: 0 };
  for (const [i, { amount, rest, requests, windowUs }] of asked.entries()) {
    const parts = BigInt(amount) * BigInt(requests) + BigInt(rest);
    const { hits, rest: left } = refill({ elapsedUs: amount, rest, requests, windowUs });
    // Above 2^53 hits lose digits, and are above every capacity.
    if (parts / BigInt(windowUs) <= BigInt(EXACT_MAX)) expect(String(hits)).toBe(String(parts / BigInt(windowUs)));
    expect(String(left)).toBe(String(parts % BigInt(windowUs)));
    expect(inLua[i]).toBe(`${BigInt(hits)} ${left}`);
    sides[parts <= BigInt(EXACT_MAX) ? 'exact' : 'long'] += 1;
  }
  expect(Math.min(sides.exact, sides.long)).toBeGreaterThan(RUNS / 10);
});

test('timeToRefill gives the same in both twins', async () => {
  const asked = questions(EXACT_MAX, ({ windowUs }) => windowUs);
  const inLua = await askLua('time_to_refill', asked);
  const sides = { exact: 0, long: 0 };
  for (const [i, { amount, rest, requests, windowUs }] of asked.entries()) {
    const product = BigInt(amount) * BigInt(windowUs);
    const exact = (product - BigInt(rest) + BigInt(requests) - 1n) / BigInt(requests);
    const isNever = product > BigInt(CENTURY_US) * BigInt(requests);
    const us = timeToRefill({ hits: amount, rest, requests, windowUs });
    expect(String(us)).toBe(String(isNever ? CENTURY_US : exact));
    expect(inLua[i]).toBe(`${us} 0`);
    if (!isNever) sides[product <= BigInt(EXACT_MAX) ? 'exact' : 'long'] += 1;
  }
  expect(Math.min(sides.exact, sides.long)).toBeGreaterThan(RUNS / 20);
});

test('a fractional quotient of whole numbers below 2^53 never rounds to a whole one', () => {
  const random = randomFrom();
  for (let run = 0; run < 100_000; run += 1) {
    const b = 1 + Math.floor((random(2 ** 32) / 2 ** 32) * 2 ** (1 + random(53)));
    // The closest to a whole number that there is, as large as it may be.
    const below = Math.floor(EXACT_MAX / b) * b - 1;
    const above = Math.max(0, Math.floor((EXACT_MAX - 1) / b)) * b + 1;
    if (b < 2 || below < 1) continue;
    if (Math.floor(below / b) !== Math.floor(EXACT_MAX / b) - 1) throw new Error(`${below} / ${b} is rounded up`);
    if (Math.ceil(above / b) !== Math.floor((EXACT_MAX - 1) / b) + 1) throw new Error(`${above} / ${b} is rounded down`);
  }
});
