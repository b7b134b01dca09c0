/** Moves slots between two primaries while calls come, and compares what was admitted with what was charged. */

import { slotOf } from '../../src/state/store/redis/cluster-slots';
import { keyValue } from '../load/calls';
import type { LoadJob, LoadResult } from '../load/run-load';
import type { Cores } from '../support/cores';
import type { WorkerProcess } from '../support/worker-process';
import { jobFor, startSharded, TENANT, type Sharded } from './sharded-weir';

/** A fixed window of a year refills nothing during a run, so its count is the number of hits that were charged. */
const LIMIT = 4_000_000_000;
const COUNTED = `
domain: ${TENANT.domain}
hash_tag: tenant
descriptors: [{ key: tenant, rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window } }]
`;
const TENANTS = 2_000;
const PER_SECOND = 3_000;

export interface ReshardingFigures {
  readonly slots: number;
  readonly failed: number;
  readonly admitted: number;
  /** Hits that the buckets hold for the calls that were admitted. */
  readonly charged: number;
  /** Of the same load, without and with moves. */
  readonly p99StillMs: number;
  readonly p99MovingMs: number;
}

export interface ReshardingInput {
  readonly shards: number;
  readonly slotsMax: number;
  readonly loadMs: number;
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly cores: Cores | undefined;
  readonly seed: number;
}

export async function measureResharding({ shards, slotsMax, loadMs, generator, cores, seed }: ReshardingInput): Promise<ReshardingFigures> {
  const sharded = await startSharded({ shards, cores, config: COUNTED });
  try {
    const load = { kind: 'open', perSecond: PER_SECOND } as const;
    const job = jobFor({ sharded, asked: TENANT, load, durationMs: loadMs, seed, tenants: TENANTS });
    await generator.run(job);
    const before = await chargedIn(sharded);
    const still = await generator.run(job);
    let isLoaded = true;
    const moving = generator.run(job).finally(() => {
      isLoaded = false;
    });
    const slots = await moveSlots({ sharded, slotsMax, goesOn: () => isLoaded });
    const moved = await moving;
    return {
      slots,
      failed: still.failed + moved.failed,
      admitted: still.admitted + moved.admitted,
      charged: (await chargedIn(sharded)) - before,
      p99StillMs: still.latencyMs!.p99,
      p99MovingMs: moved.latencyMs!.p99,
    };
  } finally {
    await sharded.stop();
  }
}

/** Slots of the first primary that hold buckets go to the last, one after another. */
async function moveSlots({
  sharded: { cluster },
  slotsMax,
  goesOn,
}: {
  readonly sharded: Sharded;
  readonly slotsMax: number;
  readonly goesOn: () => boolean;
}): Promise<number> {
  const [from, to] = [cluster.servers[0]!, cluster.servers.at(-1)!];
  const last = Math.floor(16_384 / cluster.servers.length) - 1;
  const used = Array.from({ length: TENANTS }, (_, key) => slotOf(`{${TENANT.domain}|${keyValue(key)}}`));
  const slots = [...new Set(used)].filter((slot) => slot <= last).slice(0, slotsMax);
  let moved = 0;
  for (const slot of slots) {
    if (!goesOn()) break;
    await cluster.moveSlot({ slot, from, to });
    moved += 1;
  }
  return moved;
}

async function chargedIn({ client }: Sharded): Promise<number> {
  let charged = 0;
  for (let key = 0; key < TENANTS; key += 1) {
    const { statuses } = await client.ask(TENANT.domain, [{ entries: { tenant: keyValue(key) }, hits_addend: { value: '0' } }]);
    charged += LIMIT - statuses[0]!.limit_remaining;
  }
  return charged;
}
