/** The strategies once more on a Redis that is a network away: behind a proxy that delays each reply. */

import type { TestClient } from '../../test/support/redis/redis-store';
import { closeAll, openClient } from '../support/redis-client';
import { forkTypeScript, nextMessage } from '../support/worker-process';
import { openStrategies } from './strategies';
import { measureCost, type Cost } from './strategy-cost';

/** Enough for a median. */
const PINGS = 21;

export interface RoundTripsInput {
  readonly redisPort: number;
  readonly admin: TestClient;
  readonly delaysMs: readonly number[];
  readonly rounds: number;
  readonly roundMs: number;
  readonly callerCounts: readonly number[];
}

export interface RoundTripCosts {
  readonly delayMs: number;
  /** Of a PING by the same way: the timers of the proxy add to the delay. */
  readonly pingMs: number;
  readonly costs: readonly Cost[];
}

export async function measureRoundTrips({ redisPort, delaysMs, ...input }: RoundTripsInput): Promise<readonly RoundTripCosts[]> {
  const measured: RoundTripCosts[] = [];
  for (const delayMs of delaysMs) {
    const proxy = forkTypeScript('servers/delaying-proxy.ts', [String(redisPort), String(delayMs)]);
    const { port } = (await nextMessage(proxy, 'the delaying proxy')) as { port: number };
    const strategies = await openStrategies({ port, callersMax: Math.max(...input.callerCounts) });
    try {
      measured.push({ delayMs, pingMs: await measurePing(port), costs: await measureCost({ ...input, strategies, counts: false }) });
    } finally {
      await Promise.all(strategies.map((strategy) => strategy.close()));
      proxy.disconnect();
    }
  }
  return measured;
}

async function measurePing(port: number): Promise<number> {
  const client = await openClient(port);
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping += 1) {
    const startMs = performance.now();
    await client.sendCommand(['PING']);
    times.push(performance.now() - startMs);
  }
  await closeAll([client]);
  return times.toSorted((a, b) => a - b)[Math.floor(PINGS / 2)]!;
}
