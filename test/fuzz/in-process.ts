/** Sends frames on many connections at a time, in this process, and reads its memory on the way. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ByteBudget, UNFINISHED_BYTES_MAX } from '../../src/server/transport/byte-budget';
import { randomFrom } from '../support/random/random';
import { TEMPERS } from './frame-source';
import { FuzzedConnection } from './fuzzed-connection';

const CONNECTIONS = 16;

const ROUNDS_MAX = 5_000;
const ROUND_MS = 2;

export interface InProcessResult {
  readonly frames: number;
  readonly connections: number;
}

export interface InProcessOptions {
  readonly seed: number;
  readonly frames: number;
  /** Called now and then with the frames so far. */
  readonly onProgress?: (frames: number) => void;
}

/** @throws Error that names the connection's own seed, which is enough to have it again */
export async function fuzzInProcess({ seed, frames, onProgress }: InProcessOptions): Promise<InProcessResult> {
  const random = randomFrom({ seed });
  const budget = new ByteBudget();
  const open = (): Fuzzed => {
    const own = random(2 ** 31);
    return { seed: own, connection: openConnection(own, budget) };
  };
  const running = Array.from({ length: CONNECTIONS }, open);
  const result = { frames: 0, connections: 0 };
  while (result.frames < frames) {
    const at = random(running.length);
    const fuzzed = running[at]!;
    if (await isGoingOn(fuzzed)) continue;
    result.frames += fuzzed.connection.frames;
    result.connections += 1;
    running[at] = open();
    onProgress?.(result.frames);
  }
  for (const { connection } of running) await connection.finish();
  // What is being unpacked in another thread is given back once it has been.
  for (let round = 0; round < ROUNDS_MAX && !budget.take(UNFINISHED_BYTES_MAX); round += 1) {
    if (round === ROUNDS_MAX - 1) throw new Error('bytes of unfinished messages were never given back');
    await sleep(ROUND_MS);
  }
  return result;
}

interface Fuzzed {
  readonly seed: number;
  readonly connection: FuzzedConnection;
}

/** One connection alone, by the seed that a failure named. */
export async function fuzzOne(seed: number): Promise<void> {
  const connection = openConnection(seed, new ByteBudget());
  while (await connection.step());
  await connection.finish();
}

function openConnection(seed: number, budget: ByteBudget): FuzzedConnection {
  const random = randomFrom({ seed });
  return new FuzzedConnection({ random, temper: TEMPERS[random(TEMPERS.length)]!, budget });
}

async function isGoingOn({ seed, connection }: Fuzzed): Promise<boolean> {
  try {
    if (await connection.step()) return true;
    await connection.finish();
    return false;
  } catch (error) {
    throw new Error(`the connection of seed ${seed} broke a rule: ${String(error)}`, { cause: error });
  }
}
