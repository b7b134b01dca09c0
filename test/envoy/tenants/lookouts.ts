/** Connections to every worker of every instance, which see when a change of control data is in force there. */

import { setTimeout as pause } from 'node:timers/promises';
import { RlsClient } from '../../support/clients/rls-client';
import { acceptedBy } from '../../support/processes/accepted-connections';
import { childPidsOf } from '../../support/processes/child-pids';
import type { WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

/** Connections are handed to workers in turn: each has some of a number of them. */
const CONNECTIONS = 4;
const LOOK_MS = 10;
const SEEN_WITHIN_MS = hangLimitMs(20_000);

export interface Sighting {
  /** From the write in Redis until this worker acted on it. */
  readonly tookMs: number;
  /** How long this process stood still meanwhile: a machine without time for the test has none for Weir either. */
  readonly stalledMs: number;
}

export interface Lookouts {
  /** Resolves when every connection sees this limit for the merchant, which is 0 for a block; what each took since `change` wrote. */
  see(merchant: string, limit: number, change: () => Promise<{ readonly versionUs: number }>): Promise<readonly Sighting[]>;
  close(): void;
}

/** @throws Error if a worker has none of the connections */
export async function openLookouts(instances: readonly WeirProcess[]): Promise<Lookouts> {
  const clients = instances.flatMap(({ grpcPort }) => Array.from({ length: CONNECTIONS }, () => new RlsClient(grpcPort)));
  await Promise.all(clients.map((client) => limitOf(client, 'nobody')));
  for (const { pid, grpcPort } of instances)
    for (const worker of childPidsOf(pid))
      if (acceptedBy(worker, grpcPort) === 0) throw new Error(`the worker ${worker} has no connection`);
  return {
    see: async (merchant, limit, change) => {
      const stalls = watchStalls();
      // The lookouts begin before the change is made, so that none of them comes late.
      const seen = clients.map((client) => whenSeen(client, { merchant, limit }));
      try {
        const { versionUs } = await change();
        const atMs = await Promise.all(seen);
        const stalledMs = stalls.totalMs();
        return atMs.map((each) => ({ tookMs: Math.max(0, each - versionUs / 1_000), stalledMs }));
      } finally {
        stalls.stop();
        await Promise.allSettled(seen);
      }
    },
    close: () => {
      for (const client of clients) client.close();
    },
  };
}

interface Wanted {
  readonly merchant: string;
  readonly limit: number;
}

async function whenSeen(client: RlsClient, { merchant, limit }: Wanted): Promise<number> {
  const endMs = performance.now() + SEEN_WITHIN_MS;
  let last: number | undefined;
  while (performance.now() < endMs) {
    last = await limitOf(client, merchant);
    if (last === limit) return Date.now();
    await pause(LOOK_MS);
  }
  throw new Error(`${merchant} still has the limit ${last} instead of ${limit} after ${SEEN_WITHIN_MS} ms`);
}

/** The limit that a check names, which charges nothing. */
async function limitOf(client: RlsClient, merchant: string): Promise<number> {
  const { statuses } = await client.ask('payments', [{ entries: { merchant }, hits_addend: { value: '0' } }]);
  return statuses[0]?.current_limit?.requests_per_unit ?? 0;
}

const TICK_MS = 20;

/** Adds up by how much timers of this process come too late. */
function watchStalls(): { readonly totalMs: () => number; readonly stop: () => void } {
  let totalMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    totalMs += Math.max(0, nowMs - lastMs - 2 * TICK_MS);
    lastMs = nowMs;
  }, TICK_MS);
  return {
    totalMs: () => totalMs,
    stop: () => {
      clearInterval(timer);
    },
  };
}
