/** The servers that are measured against each other: each a process that answers ShouldRateLimit, pinned to the server core. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startChild, waitUntilReady } from '../../test/support/processes/child-process';
import { freePort } from '../../test/support/servers/ports';
import { startRedis } from '../../test/support/redis/redis-server';
import type { TestClient } from '../../test/support/redis/redis-store';
import { startWeir, type WeirProcess } from '../../test/support/processes/weir-process';
import { closeAll, openClient } from '../support/redis-client';
import { coresOf, pin, type Cores } from '../support/cores';
import { LOAD_TYPESCRIPT } from '../support/load-typescript';
import { processId, redisVersion } from '../support/redis-figures';
import { forkTypeScript, nextMessage } from '../support/worker-process';

const BENCH = path.join(__dirname, '..');
const ROOT = path.join(BENCH, '..');
const LIMITS_FILE = path.join(BENCH, 'limits.yaml');
const READY_MS = 15_000;

export const CONTENDERS = {
  constant_grpc_js: 'grpc-js, constant answer',
  constant_lean: 'lean transport, constant answer',
  bare_node: 'bare Node, which asks Redis and says yes',
  embedded: 'Weir, embedded, lean',
  embedded_grpc_js: 'Weir, embedded, grpc-js',
  embedded_logged: 'Weir, embedded, with `DECISION_LOG`',
  redis: 'Weir, Redis, lean',
  redis_default: 'Weir, Redis, default `REDIS_OP_TIMEOUT`',
  redis_workers: 'Weir, Redis, `WORKERS=2` on both cores',
  redis_window: 'Weir, Redis, `REDIS_PIPELINE_WINDOW=1ms`',
  redis_newest: 'Weir, newest Redis, lean',
  redis_grpc_js: 'Weir, Redis, grpc-js',
  redis_logged: 'Weir, Redis, with `DECISION_LOG`',
  target: 'target',
} as const;

export type ContenderName = keyof typeof CONTENDERS;

/** A Redis that a contender counts in. */
export interface MeteredRedis {
  readonly port: number;
  readonly pid: number;
  readonly version: string;
  readonly admin: TestClient;
}

export interface Contender {
  readonly name: ContenderName;
  /** All processes of it: with workers, theirs too. */
  readonly pids: readonly number[];
  readonly host: string;
  readonly port: number;
  readonly redis?: MeteredRedis;
  /** One of ours that decides: it tells what remains of a bucket, and its decisions without Redis. */
  readonly weir?: WeirProcess;
  stop(): Promise<void>;
}

/** A server that runs already. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** Of its Redis, on this machine. */
  readonly redisPort?: number | undefined;
}

export interface StartInput {
  readonly names: ReadonlySet<ContenderName>;
  readonly redis: MeteredRedis;
  readonly newestRedisBinary: string | undefined;
  readonly cores: Cores | undefined;
  readonly target: Target | undefined;
}

export async function startContenders({
  names,
  redis,
  newestRedisBinary,
  cores,
  target,
}: StartInput): Promise<ReadonlyMap<ContenderName, Contender>> {
  const starts: Readonly<Record<ContenderName, () => Promise<Contender>>> = {
    constant_grpc_js: () => startListening('constant_grpc_js', 'servers/grpc-js-server.ts'),
    constant_lean: startLean,
    bare_node: async () => ({ ...(await startListening('bare_node', 'servers/bare-node-server.ts', redis.port)), redis }),
    embedded: () => startOurs('embedded', { TRANSPORT: 'lean' }),
    embedded_grpc_js: () => startOurs('embedded_grpc_js', { TRANSPORT: 'grpc-js' }),
    embedded_logged: () => withLog((log) => startOurs('embedded_logged', { TRANSPORT: 'lean', ...log })),
    redis: () => startOnRedis('redis', redis, { TRANSPORT: 'lean', ...PATIENT }),
    redis_default: () => startOnRedis('redis_default', redis, { TRANSPORT: 'lean' }),
    redis_workers: () => startOnRedis('redis_workers', redis, { TRANSPORT: 'lean', WORKERS: '2', ...PATIENT }),
    redis_window: () => startOnRedis('redis_window', redis, { TRANSPORT: 'lean', REDIS_PIPELINE_WINDOW: '1ms', ...PATIENT }),
    redis_newest: () => startOnNewestRedis(newestRedisBinary, cores),
    redis_grpc_js: () => startOnRedis('redis_grpc_js', redis, { TRANSPORT: 'grpc-js', ...PATIENT }),
    redis_logged: () => withLog((log) => startOnRedis('redis_logged', redis, { TRANSPORT: 'lean', ...PATIENT, ...log })),
    target: () => asContender(target),
  };
  const contenders = new Map<ContenderName, Contender>();
  for (const name of names) {
    const contender = await starts[name]();
    contenders.set(name, contender);
    // Workers have all cores: on one they would only wait for each other. The target's cores are its owner's choice.
    if (name !== 'target' && name !== 'redis_workers') for (const pid of contender.pids) pin(pid, cores?.server);
  }
  return contenders;
}

/**
 * Redis shares its core with a generator that takes all it can get, so an answer of Redis may come later than the default timeout. Rows that
 * measure cost wait longer, so that Redis decides every call; the rows of `redis_default` tell what the default does.
 */
const PATIENT = { REDIS_OP_TIMEOUT: '1s' };

/** By the command of the image, which sets V8's memory flags. */
export function startShipped(env: Readonly<Record<string, string>>, config = LIMITS_FILE): Promise<WeirProcess> {
  return startWeir({ config, env: { WEIR_HOME: ROOT, ...env }, command: [path.join(ROOT, 'deploy', 'bin', 'ratelimit')] });
}

async function startOurs(name: ContenderName, env: Readonly<Record<string, string>>): Promise<Contender> {
  const weir = await startShipped({ FAILURE_MODE: 'local', DEFAULT_OVERDRAFT: 'true', ...env });
  return {
    name,
    pids: [weir.pid, ...childrenOf(weir.pid)],
    host: '127.0.0.1',
    port: weir.grpcPort,
    weir,
    stop: async () => {
      await weir.stop();
    },
  };
}

async function startOnRedis(name: ContenderName, redis: MeteredRedis, env: Readonly<Record<string, string>>): Promise<Contender> {
  const ours = await startOurs(name, { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, ...env });
  return { ...ours, redis };
}

/** All decisions go to a file, of which two are kept and removed at the end. */
async function withLog(start: (log: Readonly<Record<string, string>>) => Promise<Contender>): Promise<Contender> {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-bench-'));
  const contender = await start({ DECISION_LOG: path.join(folder, 'decisions.log'), DECISION_LOG_FILES: '2' });
  return {
    ...contender,
    stop: async () => {
      await contender.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** It has a Redis of its own, which ends with it. */
async function startOnNewestRedis(binary: string | undefined, cores: Cores | undefined): Promise<Contender> {
  if (binary === undefined) throw new Error('No newer Redis is installed: node scripts/install/redis-versions.mjs');
  const server = await startRedis({ binary });
  pin(server.pid, cores?.load);
  const redis = await meterRedis(server.port);
  const ours = await startOnRedis('redis_newest', redis, { TRANSPORT: 'lean', ...PATIENT });
  return {
    ...ours,
    stop: async () => {
      await ours.stop();
      await closeAll([redis.admin]);
      await server.stop();
    },
  };
}

/** A Redis of this machine, with a connection for its counters. */
export async function meterRedis(port: number): Promise<MeteredRedis> {
  const admin = await openClient(port);
  return { port, admin, pid: await processId(admin), version: await redisVersion(admin) };
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
}

/** A server of ours that prints when it listens on the given port. */
async function startListening(name: ContenderName, file: string, ...more: readonly number[]): Promise<Contender> {
  const port = await freePort();
  const child = startChild({
    command: process.execPath,
    args: [...LOAD_TYPESCRIPT, path.join(BENCH, file), ...[port, ...more].map(String)],
  });
  await waitUntilReady(CONTENDERS[name], child, () => Promise.resolve(child.output().includes('listening')), READY_MS);
  return {
    name,
    pids: [child.pid],
    host: '127.0.0.1',
    port,
    stop: async () => {
      await child.stop();
    },
  };
}

async function startLean(): Promise<Contender> {
  const child = forkTypeScript('servers/transport-server.ts', ['lean']);
  const { port } = (await nextMessage(child, 'the lean server')) as { port: number };
  return {
    name: 'constant_lean',
    pids: [child.pid!],
    host: '127.0.0.1',
    port,
    stop: () => {
      child.disconnect();
      return Promise.resolve();
    },
  };
}

/** The bench neither moves it between cores nor stops it. */
async function asContender(target: Target | undefined): Promise<Contender> {
  if (target === undefined) throw new Error('no target was named');
  const { host, port, pid, redisPort } = target;
  const redis = redisPort === undefined ? undefined : await meterRedis(redisPort);
  return {
    name: 'target',
    pids: [pid],
    host,
    port,
    ...(redis && { redis }),
    stop: () => closeAll(redis === undefined ? [] : [redis.admin]),
  };
}

export interface TargetArguments {
  /** `host:port` */
  readonly address: string;
  readonly pid: number;
  readonly redisPort?: number | undefined;
}

/** Undefined if an argument is malformed. */
export function parseTarget({ address, pid, redisPort }: TargetArguments): Target | undefined {
  const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? [];
  const isWhole = [pid, redisPort ?? 0].every((each) => Number.isInteger(each));
  return host === undefined || port === undefined || !isWhole ? undefined : { host, port: Number(port), pid, redisPort };
}

/** A note for the reader if the target may run on other cores than the servers beside it. */
export function describeTargetCores({ pid }: Target, cores: Cores | undefined): string | undefined {
  const own = coresOf(pid);
  if (cores === undefined || own === String(cores.server)) return undefined;
  return `The target (process ${pid}) may run on the cores ${own ?? 'unknown'}, the others run on core ${cores.server}: start it by \`taskset -c ${cores.server} …\`.`;
}
