/** `npm run bench -- consoles [--short]`: what five open consoles cost decisions: two Weirs side by side in each round, one of them looked at. */

import path from 'node:path';
import { startRedis } from '../test/support/redis/redis-server';
import { freePort } from '../test/support/servers/ports';
import type { WeirProcess } from '../test/support/processes/weir-process';
import type { Answers, ClientsJob } from './consoles/console-clients';
import { renderConsoles, type ConsoleRound } from './consoles/report';
import { runLoad, type LoadJob } from './load/run-load';
import { CONNECTIONS, SATURATING_STREAMS, WORKLOADS } from './rows/rows';
import { startShipped } from './servers/contenders';
import { findCores, pin } from './support/cores';
import { describeEnvironment, loadAverage } from './support/environment';
import { publishSection } from './support/generated-doc';
import { redisVersion } from './support/redis-figures';
import { closeAll, openClient } from './support/redis-client';
import { startWorker } from './support/worker-process';

const isShort = process.argv.includes('--short');
const ROUNDS = isShort ? 2 : 11;
/** Of each load. The pages are opened in each round, so that each call is asked in each. */
const ROUND_MS = 4_000;
const WARM_UP_MS = isShort ? 1_000 : 5_000;
const OPEN_PER_SECOND = 2_000;

const RESULTS = path.join(__dirname, 'results.md');

interface Side {
  readonly weir: WeirProcess;
  readonly adminPort: number;
}

function jobFor({ weir }: Side, load: LoadJob['load'], durationMs: number, seed: number): LoadJob {
  const { asked, keyCount } = WORKLOADS.many;
  return {
    host: '127.0.0.1',
    port: weir.grpcPort,
    connections: CONNECTIONS,
    load,
    durationMs,
    asked,
    keys: { count: keyCount, order: { seed } },
    watchedBelow: 0,
    meteredPids: [weir.pid],
  };
}

const CLOSED = { kind: 'closed', streams: SATURATING_STREAMS } as const;
const OPEN = { kind: 'open', perSecond: OPEN_PER_SECOND } as const;

async function measure(side: Side, seed: number): Promise<ConsoleRound> {
  const closed = await runLoad(jobFor(side, CLOSED, ROUND_MS, seed));
  const open = await runLoad(jobFor(side, OPEN, ROUND_MS, seed));
  return {
    decisionsPerS: ((closed.admitted + closed.denied) * 1_000) / closed.elapsedMs,
    costUs: closed.processorUs[0]! / (closed.admitted + closed.denied),
    p50Ms: open.latencyMs?.p50 ?? NaN,
    p99Ms: open.latencyMs?.p99 ?? NaN,
    lost: closed.failed + open.failed,
  };
}

async function main(): Promise<void> {
  const cores = findCores();
  const before = loadAverage();
  const redis = await startRedis();
  const admin = await openClient(redis.port);
  const start = async (): Promise<Side> => {
    const adminPort = await freePort();
    const weir = await startShipped({
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '1s',
      CONTROL_DATA: 'true',
      TOP_KEYS: 'true',
      ADMIN_PORT: String(adminPort),
      ADMIN_AUTH: 'off',
    });
    pin(weir.pid, cores?.server);
    return { weir, adminPort };
  };
  const [alone, looked] = [await start(), await start()];
  const subject = JSON.stringify({ domain: 'bench', key: 'user', value: '1' });
  const clients = startWorker<ClientsJob, Answers>('consoles/console-clients.ts', [String(looked.adminPort), subject]);
  for (const pid of [process.pid, clients.pid, redis.pid]) pin(pid, cores?.load);
  try {
    for (const side of [alone, looked]) await runLoad(jobFor(side, CLOSED, WARM_UP_MS, 0));
    const rounds: { readonly alone: ConsoleRound; readonly looked: ConsoleRound; readonly answers: Answers }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const measureLooked = async (): Promise<{ readonly looked: ConsoleRound; readonly answers: Answers }> => {
        await clients.run({ kind: 'look' });
        const figures = await measure(looked, round + 1);
        return { looked: figures, answers: await clients.run({ kind: 'rest' }) };
      };
      // Neither is always the first.
      const first = round % 2 === 0 ? await measure(alone, round + 1) : undefined;
      const second = await measureLooked();
      rounds.push({ alone: first ?? (await measure(alone, round + 1)), ...second });
    }
    const markdown = renderConsoles({
      environment: describeEnvironment({ redis: await redisVersion(admin) }),
      load: { before, after: loadAverage() },
      openPerSecond: OPEN_PER_SECOND,
      roundMs: ROUND_MS,
      rounds,
    });
    console.log(markdown);
    if (!isShort) publishSection({ file: RESULTS, name: 'consoles', command: 'npm run bench -- consoles', markdown });
  } finally {
    clients.stop();
    await Promise.all([alone.weir.stop(), looked.weir.stop()]);
    await closeAll([admin]);
    await redis.stop();
  }
}

void main();
