/** What a start costs until the first answer: processor time, modules and memory, beside Node that serves nothing. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { SHOULD_RATE_LIMIT_PATH } from '../src/server/transport/http2/connection/request-head';
import { loadProto } from '../src/server/transport/messages/proto';
import { WarmUpCaller } from '../src/server/warm-up/warm-up-caller';
import { writeConfig, writeText } from '../test/support/config/temp-config';
import { startWeir } from '../test/support/processes/weir-process';
import { startRedis } from '../test/support/redis/redis-server';
import { table } from './support/markdown';
import { processorTimeUs, residentBytes } from './support/process-usage';
import { spreadOf } from './support/statistics';

interface Start {
  readonly cpuMs: number;
  readonly rssMib: number;
  readonly modules: number;
}

const ROUNDS = process.argv.includes('--short') ? 3 : 9;
const MIB = 2 ** 20;
const PRELOAD = path.resolve('test/support/processes/loaded-modules.cjs');
const ONE_RULE = writeConfig('domain: start\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');
const FIRST_CALL = {
  path: SHOULD_RATE_LIMIT_PATH,
  message: loadProto().rateLimit.ShouldRateLimit.requestSerialize({
    domain: 'start',
    descriptors: [{ entries: [{ key: 'k', value: 'first' }] }],
  }),
};

/** A process of Node that runs this code, and says what it has used until then. */
function startNode(code: string): Start {
  const report =
    'const { user, system } = process.cpuUsage(); console.log(JSON.stringify({ cpuMs: (user + system) / 1e3, rssMib: process.memoryUsage.rss() / 2 ** 20, modules: Object.keys(require.cache).length }))';
  return JSON.parse(execFileSync(process.execPath, ['-e', `${code}; ${report}`], { encoding: 'utf8' })) as Start;
}

async function startServer(env: Readonly<Record<string, string>>): Promise<Start> {
  const list = writeText('');
  const weir = await startWeir({
    config: ONE_RULE,
    command: [process.execPath, '--require', PRELOAD, path.resolve('dist/main.js'), 'serve'],
    env: { LOG_FORMAT: 'json', ...env, LOADED_MODULES: list },
  });
  const caller = new WarmUpCaller(weir.grpcPort);
  await caller.call([FIRST_CALL]);
  const cpuMs = processorTimeUs(weir.pid) / 1_000;
  const rssMib = residentBytes(weir.pid) / MIB;
  caller.close();
  await weir.stop();
  return { cpuMs, rssMib, modules: (JSON.parse(readFileSync(list, 'utf8')) as string[]).length };
}

async function main(): Promise<void> {
  const redis = await startRedis();
  const embedded = { BACKEND_TYPE: 'memory' };
  const onRedis = { REDIS_URL: `127.0.0.1:${redis.port}` };
  const rows: readonly { readonly name: string; readonly start: () => Promise<Start>; readonly starts: Start[] }[] = [
    { name: 'Node alone', start: () => Promise.resolve(startNode('')), starts: [] },
    {
      name: 'Node with `node:http2`, `node:http` and `node:cluster`',
      start: () => Promise.resolve(startNode("for (const name of ['http2', 'http', 'cluster']) require(`node:${name}`)")),
      starts: [],
    },
    { name: 'Weir, embedded, `WARM_UP=false`', start: () => startServer({ ...embedded, WARM_UP: 'false' }), starts: [] },
    { name: 'Weir, embedded', start: () => startServer({ ...embedded, WARM_UP: 'true' }), starts: [] },
    { name: 'Weir, Redis, `WARM_UP=false`', start: () => startServer({ ...onRedis, WARM_UP: 'false' }), starts: [] },
    { name: 'Weir, Redis', start: () => startServer({ ...onRedis, WARM_UP: 'true' }), starts: [] },
  ];
  for (let left = ROUNDS; left > 0; left -= 1) for (const { start, starts } of rows) starts.push(await start());
  await redis.stop();
  console.log(`Node ${process.versions.node}, ${ROUNDS} starts each, in turn`);
  const lines = rows.map(({ name, starts }) => {
    const cpuMs = spreadOf(starts.map((each) => each.cpuMs));
    const rssMib = spreadOf(starts.map((each) => each.rssMib));
    return [name, cpuMs.min.toFixed(0), cpuMs.median.toFixed(0), rssMib.median.toFixed(0), String(starts[0]?.modules)];
  });
  console.log(table(['process', 'CPU ms, least', 'median', 'RSS MiB', 'modules'], lines));
}

void main();
