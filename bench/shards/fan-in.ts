/** Many instances on one primary: as many connections as instances, of which each has few calls under way. */

import { startRedis } from '../../test/support/redis/redis-server';
import type { OneEvalshaJob, OneEvalshaResult } from '../servers/one-evalsha';
import { pin, type Cores } from '../support/cores';
import { processorTimeUs } from '../support/process-usage';
import { startWorker } from '../support/worker-process';
import { TENANTS } from './sharded-weir';

export const INSTANCES = [1, 10, 40];
export const UNDER_WAY = [1, 4];
const WARM_UP_MS = 1_000;

export interface FanInFigures {
  readonly instances: number;
  /** Calls under way on each connection. */
  readonly underWay: number;
  readonly perSecond: number;
  readonly redisUs: number;
  /** The part of its core that Redis used. */
  readonly busy: number;
  readonly failed: number;
}

export interface FanInInput {
  readonly durationMs: number;
  readonly cores: Cores | undefined;
  readonly seed: number;
}

export async function measureFanIn({ durationMs, cores, seed }: FanInInput): Promise<readonly FanInFigures[]> {
  const redis = await startRedis();
  pin(redis.pid, cores?.load);
  try {
    const figures: FanInFigures[] = [];
    for (const instances of INSTANCES) {
      const callers = startWorker<OneEvalshaJob, OneEvalshaResult>('servers/one-evalsha.ts', [String(redis.port), String(instances)]);
      pin(callers.pid, cores?.server);
      try {
        for (const underWay of UNDER_WAY) {
          const job: OneEvalshaJob = {
            callers: instances * underWay,
            durationMs,
            entryKey: 'tenant',
            limit: { requests: 10_000, perSeconds: 86_400, unit: 'day' },
            keys: { count: TENANTS, order: { seed } },
          };
          await callers.run({ ...job, durationMs: WARM_UP_MS });
          const beforeUs = processorTimeUs(redis.pid);
          const { decisions, failed, elapsedMs } = await callers.run(job);
          const usedUs = processorTimeUs(redis.pid) - beforeUs;
          figures.push({
            instances,
            underWay,
            perSecond: (decisions * 1_000) / elapsedMs,
            redisUs: usedUs / decisions,
            busy: usedUs / (elapsedMs * 1_000),
            failed,
          });
        }
      } finally {
        callers.stop();
      }
    }
    return figures;
  } finally {
    await redis.stop();
  }
}
