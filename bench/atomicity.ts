/** `npm run bench -- atomicity [--short]`: a decision by one script beside a decision by several commands, and the clocks they may use. */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { startRedis } from '../test/support/redis/redis-server';
import { redisVersion, startAfresh } from './support/redis-figures';
import { renderAtomicity, type AtomicityResult } from './atomicity/atomicity-report';
import { openClockVariants } from './atomicity/caller-clocks';
import { countSent, measureCost } from './atomicity/strategy-cost';
import { describeEnvironment, loadAverage } from './support/environment';
import { publishSection } from './support/generated-doc';
import { closeAll, openClient } from './support/redis-client';
import { measureOverGrant } from './atomicity/over-grant';
import { measureRoundTrips } from './atomicity/round-trips';
import { openStrategies } from './atomicity/strategies';

const RESULTS = path.join(__dirname, 'results.md');

interface Size {
  readonly rounds: number;
  readonly roundMs: number;
  readonly overGrantMs: number;
  readonly callerCounts: readonly number[];
  /** Round trips of a Redis that is a network away, and callers there. */
  readonly delaysMs: readonly number[];
  readonly distantCallerCounts: readonly number[];
}

/** About fifteen minutes. */
const FULL: Size = {
  rounds: 5,
  roundMs: 800,
  overGrantMs: 3_000,
  callerCounts: [1, 16, 64, 256],
  delaysMs: [1, 10],
  distantCallerCounts: [1, 64],
};
/** A few seconds: shows that the benchmark works and that nothing is over-granted, measures nothing. */
const SHORT: Size = { rounds: 1, roundMs: 100, overGrantMs: 500, callerCounts: [1, 64], delaysMs: [1], distantCallerCounts: [64] };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { short: { type: 'boolean', default: false } } });
  const redis = await startRedis();
  try {
    const result = await measure(redis.port, values.short ? SHORT : FULL);
    const markdown = renderAtomicity(result);
    console.log(`\n${markdown}\n`);
    // The published figures are those of a full run.
    if (!values.short) publishSection({ file: RESULTS, name: 'atomicity', command: 'npm run bench -- atomicity', markdown });
    failIfOverGranted(result);
  } finally {
    await redis.stop();
  }
}

async function measure(port: number, size: Size): Promise<AtomicityResult> {
  const { rounds, roundMs, overGrantMs, callerCounts, delaysMs, distantCallerCounts } = size;
  const loadBefore = loadAverage();
  const admin = await openClient(port);
  const strategies = await openStrategies({ port, callersMax: Math.max(...callerCounts) });
  const { variants, close } = await openClockVariants(port);
  const prepare = (): Promise<void> => startAfresh(admin);

  tell('what a decision costs');
  const costs = await measureCost({ strategies, admin, rounds, roundMs, callerCounts });
  tell('over-grant');
  const overGrants = await measureOverGrant({
    contenders: strategies,
    rounds,
    durationMs: overGrantMs,
    prepare,
    countSent: (strategy) => countSent(admin, strategy),
  });
  tell('a Redis that is a network away');
  const roundTrips = await measureRoundTrips({ redisPort: port, admin, delaysMs, rounds, roundMs, callerCounts: distantCallerCounts });
  tell('whose clock');
  const clocks = await measureOverGrant({ contenders: variants, rounds, durationMs: overGrantMs, prepare });

  const environment = describeEnvironment({ redis: await redisVersion(admin) });
  await Promise.all([...strategies.map((strategy) => strategy.close()), close(), closeAll([admin])]);
  return { environment, loadBefore, loadAfter: loadAverage(), rounds, roundMs, overGrantMs, costs, overGrants, roundTrips, clocks };
}

function tell(part: string): void {
  console.log(`${new Date().toISOString()} measuring ${part} …`);
}

/** Exactness is a promise; times are not. */
function failIfOverGranted({ overGrants }: AtomicityResult): void {
  for (const { contender, excess } of overGrants) {
    if (contender.name !== 'evalsha' || excess.max <= 0) continue;
    console.error(`Over-granted: a round of Weir's own strategy admitted ${(excess.max * 100).toFixed(2)} % more than the limit allows.`);
    process.exitCode = 1;
  }
}

void main();
