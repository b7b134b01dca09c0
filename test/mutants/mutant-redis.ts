/** A Redis that survives mutants: each batch has a deadline, and a script that loops for ever costs one restart. */

import { RESP_TYPES } from 'redis';
import type { StoreScripts } from '../../src/store/redis-store';
import { startRedis } from '../support/redis-server';
import { makeTestClient } from '../support/redis-store';
import type { SendAll } from './kill-suite';

/** Far above what a batch takes, also with the other cores busy. */
const DEADLINE_MS = 3_000;

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
    const replies = Promise.all(commands.map((command) => client.sendCommand([...command]).catch((error: unknown) => error)));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, DEADLINE_MS, 'late');
    });
    const first = await Promise.race([replies, late]);
    clearTimeout(timer);
    if (first !== 'late') return first;
    // Not SCRIPT KILL: what else stands in the pipeline would loop just as long.
    client.destroy();
    server.kill('SIGKILL');
    await server.restart();
    client = await connect(server.port);
    throw new DeadlineError(`no end within ${DEADLINE_MS} ms`);
  };
  return {
    load: async ({ take, settle }) => {
      const [, ...loaded] = await sendAll([['SCRIPT', 'FLUSH'], ...[take, settle].map(({ text }) => ['SCRIPT', 'LOAD', text])]);
      if (String(loaded) !== String([take.sha, settle.sha])) throw new Error(`Redis does not take the scripts: ${String(loaded)}`);
    },
    sendAll,
    stop: async () => {
      client.destroy();
      await server.stop();
    },
  };
}

async function connect(port: number) {
  const client = makeTestClient(port);
  // A server that was killed on purpose: whoever waits for an answer is told by the deadline.
  client.on('error', () => undefined);
  await client.connect();
  // A sliding window log holds any bytes.
  return client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
}
