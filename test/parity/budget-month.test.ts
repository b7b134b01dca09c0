/** After a month of an LLM gateway on a budget of 2^40 micro-dollars, both stores agree with a ledger to the last unit. */

import { NEVER } from '../../src/domain/algorithm/engine';
import type { Group } from '../../src/domain/bucket/take';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import type { Store } from '../../src/state/store/port/store';
import { groupOf, take } from '../support/decisions/groups';
import { decided } from '../support/decisions/outcomes';
import { randomFrom } from '../support/random/random';
import { redisOfFile } from '../support/redis/redis-of-file';

const BUDGET = 2 ** 40;
const MONTH_US = 30 * 86_400_000_000;
/** The first moment of a window. */
const START_US = 700 * MONTH_US;
const REQUESTS = process.env.WEIR_LONG === '1' ? 50_000 : 1_500;
const OVERDRAFT = 2 ** 33;
const TIMEOUT_MS = 300_000;

const MONTHLY = { algorithm: 'fixed_window', windowUs: MONTH_US, requestsPerUnit: BUDGET, capacity: BUDGET } as const;

/** The cost of one call in micro-dollars: mostly cents, and at times a batch above 2^32. */
interface Call {
  readonly atUs: number;
  readonly cost: number;
  readonly isReport: boolean;
}

const redis = redisOfFile();
let memoryNowUs = START_US;

function monthOfCalls(): readonly Call[] {
  const random = randomFrom();
  const typical = Math.floor((1.2 * BUDGET) / REQUESTS);
  return Array.from({ length: REQUESTS }, (_, i) => {
    const isBatch = random(50) === 0;
    const cost = 1 + Math.floor((random(2 ** 31) / 2 ** 31) * (isBatch ? 2 ** 34 : 2 * typical));
    return { atUs: START_US + Math.floor((MONTH_US * i) / REQUESTS), cost, isReport: random(3) === 0 };
  });
}

function groupOfCall({ cost, isReport }: Call): Group {
  const call = take('team', { limit: MONTHLY, hits: cost });
  return groupOf([isReport ? { ...call, overdraftMax: OVERDRAFT } : call]);
}

/** What a ledger on paper has: charged so far, exact at any size. */
function charge(charged: bigint, { cost, isReport }: Call): bigint {
  const left = BigInt(BUDGET) - charged;
  if (BigInt(cost) <= left) return charged + BigInt(cost);
  if (!isReport) return charged;
  const most = left + BigInt(OVERDRAFT);
  return charged + (BigInt(cost) < most ? BigInt(cost) : most);
}

test(
  'every call of the month leaves what a ledger has, on both stores, and the next month begins full',
  async () => {
    const memory = new MemoryStore({ nowUs: () => memoryNowUs, bucketsMax: 10 });
    const stores: readonly Store[] = [memory, redis.store];
    const setNow = async (nowUs: number) => {
      memoryNowUs = nowUs;
      await redis.setNow(nowUs);
    };
    let charged = 0n;
    let denials = 0;
    for (const call of monthOfCalls()) {
      await setNow(call.atUs);
      const after = charge(charged, call);
      for (const store of stores) {
        const [outcome] = await store.take([groupOfCall(call)]);
        const { verdicts } = decided(outcome);
        const { remaining, debt = 0, fits, retryAfterUs } = verdicts[0]!;
        expect({ left: BigInt(remaining) - BigInt(debt), fits }).toEqual({
          left: BigInt(BUDGET) - after,
          fits: BigInt(call.cost) <= BigInt(BUDGET) - charged,
        });
        if (!fits) denials += 1;
        if (!fits) expect(retryAfterUs).not.toBe(NEVER);
      }
      charged = after;
    }
    // The budget did run out, and into its overdraft.
    expect(denials).toBeGreaterThan(0);
    expect(charged).toBeGreaterThan(BigInt(BUDGET));
    await setNow(START_US + MONTH_US);
    for (const store of stores) {
      const [outcome] = await store.take([groupOf([take('team', { limit: MONTHLY, hits: BUDGET })])]);
      expect(decided(outcome)).toMatchObject({ overLimit: false, verdicts: [{ remaining: 0 }] });
    }
    await memory.close();
  },
  TIMEOUT_MS,
);
