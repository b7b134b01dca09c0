/** A Redis that survives mutants: what is sent together has a deadline, and a script that loops for ever costs one restart. */

import { setTimeout as pause } from 'node:timers/promises';
import { RESP_TYPES } from '@redis/client';
import { processorTimeUs } from '../../bench/support/process-usage';
import type { StoreScripts } from '../../src/state/store/redis/redis-store';
import { startRedis } from '../support/redis/redis-server';
import { makeTestClient } from '../support/redis/redis-store';
import type { SendAll } from './kill-suite';

/** Processor time of Redis, far above what a piece of a batch takes, some 10 ms. Not time that passes: a busy machine may give Redis none of it. */
const DEADLINE_MS = 500;
const LOOK_MS = 100;

export class DeadlineError extends Error {}

export interface MutantRedis {
  /** Makes EVALSHA know these scripts, and no other. */
  load(scripts: StoreScripts): Promise<void>;
  /** @throws DeadlineError if the batch did not end; the Redis is then a new, empty one */
  readonly sendAll: SendAll;
  stop(): Promise<void>;
}

export async function startMutantRedis(): Promise<MutantRedis> {
  const server = await startRedis();
  let client = await connect(server.port);
  const sendAll: SendAll = async (commands) => {
    const replies = Promise.all(
      commands.map((command) =>
        client.sendCommand(command.map((argument) => Buffer.from(argument, 'latin1'))).catch((error: unknown) => error),
      ),
    );
    const watch = new AbortController();
    const first = await Promise.race([replies, untilLate(server.pid, watch.signal)]);
    watch.abort();
    if (first !== undefined) return first;
    // Not SCRIPT KILL: what else stands in the pipeline would loop just as long.
    client.destroy();
    server.kill('SIGKILL');
    await server.restart();
    client = await connect(server.port);
    throw new DeadlineError(`no end within ${DEADLINE_MS} ms of processor time`);
  };
  return {
    load: async ({ take, adjust }) => {
      const [, ...loaded] = await sendAll([['SCRIPT', 'FLUSH'], ...[take, adjust].map(({ text }) => ['SCRIPT', 'LOAD', text])]);
      if (String(loaded) !== String([take.sha, adjust.sha])) throw new Error(`Redis does not take the scripts: ${String(loaded)}`);
    },
    sendAll,
    stop: async () => {
      client.destroy();
      await server.stop();
    },
  };
}

/** Resolves when the process of a Redis has worked for longer than what was sent can take; never once `signal` is aborted. */
export async function untilLate(pid: number, signal: AbortSignal): Promise<undefined> {
  const startUs = processorTimeUs(pid);
  while (processorTimeUs(pid) - startUs < DEADLINE_MS * 1_000) {
    const isOver = await pause(LOOK_MS, false, { signal }).catch(() => true);
    if (isOver) return new Promise(() => undefined);
  }
  return undefined;
}

async function connect(port: number) {
  const client = makeTestClient(port);
  // A server that was killed on purpose: whoever waits for an answer is told by the deadline.
  client.on('error', () => undefined);
  await client.connect();
  // A sliding window log holds any bytes.
  return client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
}
