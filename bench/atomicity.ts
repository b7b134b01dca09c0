/** `npm run bench:atomicity [-- --short]`: a decision by one script against a decision by commands, and whose clock it may be on. */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { startRedis } from '../test/support/redis-server';
import { redisVersion, startAfresh } from './admin';
import { renderAtomicity, type AtomicityResult } from './atomicity-report';
import { openClockVariants } from './caller-clocks';
import { measureCost } from './cost';
import { describeEnvironment, loadAverage } from './environment';
import { publishSection } from './generated-doc';
import { measureOverGrant } from './over-grant';
import { closeAll, openClient, openWays } from './ways';

const BENCHMARKS_PAGE = path.join(__dirname, '..', 'docs', 'benchmarks.md');

interface Size {
  readonly rounds: number;
  readonly roundMs: number;
  readonly overGrantMs: number;
  readonly callerCounts: readonly number[];
}

/** About five minutes. */
const FULL: Size = { rounds: 5, roundMs: 800, overGrantMs: 3_000, callerCounts: [1, 16, 64, 256] };
/** A few seconds: shows that the benchmark works and that nothing is over-granted, measures nothing. */
const SHORT: Size = { rounds: 1, roundMs: 100, overGrantMs: 500, callerCounts: [1, 64] };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { short: { type: 'boolean', default: false } } });
  const redis = await startRedis();
  try {
    const result = await measure(redis.port, values.short ? SHORT : FULL);
    const markdown = renderAtomicity(result);
    console.log(`\n${markdown}\n`);
    // The published figures are those of a full run.
    if (!values.short) publishSection({ file: BENCHMARKS_PAGE, name: 'atomicity', command: 'npm run bench:atomicity', markdown });
    failIfOverGranted(result);
  } finally {
    await redis.stop();
  }
}

async function measure(port: number, size: Size): Promise<AtomicityResult> {
  const { rounds, roundMs, overGrantMs, callerCounts } = size;
  const loadBefore = loadAverage();
  const admin = await openClient(port);
  const ways = await openWays({ port, callersMax: Math.max(...callerCounts) });
  const { variants, close } = await openClockVariants(port);
  const prepare = (): Promise<void> => startAfresh(admin);

  tell('what a decision costs');
  const costs = await measureCost({ ways, admin, rounds, roundMs, callerCounts });
  tell('over-grant');
  const overGrants = await measureOverGrant({ contenders: ways, rounds, durationMs: overGrantMs, prepare });
  tell('whose clock');
  const clocks = await measureOverGrant({ contenders: variants, rounds, durationMs: overGrantMs, prepare });

  const environment = describeEnvironment({ redis: await redisVersion(admin) });
  await Promise.all([...ways.map((way) => way.close()), close(), closeAll([admin])]);
  return { environment, loadBefore, loadAfter: loadAverage(), rounds, roundMs, overGrantMs, costs, overGrants, clocks };
}

function tell(part: string): void {
  console.log(`${new Date().toISOString()} measuring ${part} …`);
}

/** Exactness is a promise; times are only told. */
function failIfOverGranted({ overGrants }: AtomicityResult): void {
  for (const { contender, excess } of overGrants) {
    if (contender.name !== 'evalsha' || excess.max <= 0) continue;
    console.error(`Over-granted: a round of Weir's own way admitted ${(excess.max * 100).toFixed(2)} % more than the limit allows.`);
    process.exitCode = 1;
  }
}

void main();
