/** `npm run bench -- shards [--short]`: decisions on a Redis Cluster of 1, 3, 6 and 12 primaries, and while slots move between two of 12. */

import path from 'node:path';
import { startWorker } from './support/worker-process';
import type { LoadJob, LoadResult } from './load/run-load';
import { measureResharding, type ReshardingFigures } from './shards/resharding';
import { measureFanIn, type FanInFigures } from './shards/fan-in';
import { renderShards } from './shards/report';
import { SHARD_LOADS, measureLoad, startSharded, type ShardFigures, type ShardLoadName } from './shards/sharded-weir';
import { findCores, pin } from './support/cores';
import { describeEnvironment, loadAverage } from './support/environment';
import { publishSection } from './support/generated-doc';

const isShort = process.argv.includes('--short');
const ROUNDS = isShort ? 1 : 5;
const LOAD_MS = isShort ? 1_000 : 3_000;
/** Moved while calls come: one after another, for as long as a load lasts. */
const SLOTS_MOVED_MAX = isShort ? 20 : 200;
const SHARDS = [1, 3, 6, 12];
const MOST_SHARDS = 12;

const RESULTS = path.join(__dirname, 'results.md');

async function main(): Promise<void> {
  const cores = findCores();
  const before = loadAverage();
  const generator = startWorker<LoadJob, LoadResult>('load/generator.ts');
  for (const pid of [process.pid, generator.pid]) pin(pid, cores?.load);
  const rounds: { readonly shards: number; readonly figures: ReadonlyMap<ShardLoadName, ShardFigures> }[] = [];
  const resharding: ReshardingFigures[] = [];
  const fanIn: FanInFigures[] = [];
  let redis = '';
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const shards of SHARDS) {
        const sharded = await startSharded({ shards, cores });
        try {
          redis = sharded.redisVersion;
          const figures = new Map<ShardLoadName, ShardFigures>();
          for (const name of SHARD_LOADS)
            figures.set(name, await measureLoad({ sharded, generator, name, durationMs: LOAD_MS, seed: round + 1 }));
          rounds.push({ shards, figures });
        } finally {
          await sharded.stop();
        }
      }
      fanIn.push(...(await measureFanIn({ durationMs: LOAD_MS, cores, seed: round + 1 })));
      resharding.push(
        await measureResharding({ shards: MOST_SHARDS, slotsMax: SLOTS_MOVED_MAX, loadMs: LOAD_MS, generator, cores, seed: round + 1 }),
      );
    }
    const markdown = renderShards({
      environment: describeEnvironment({ redis }),
      load: { before, after: loadAverage() },
      loadMs: LOAD_MS,
      rounds,
      fanIn,
      resharding,
    });
    console.log(markdown);
    if (!isShort) publishSection({ file: RESULTS, name: 'shards', command: 'npm run bench -- shards', markdown });
  } finally {
    generator.stop();
  }
}

void main();
