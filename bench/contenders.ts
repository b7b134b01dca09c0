/** The servers that are measured against each other: each a process that answers ShouldRateLimit, tied to the one core. */

import path from 'node:path';
import { startChild, waitUntilReady } from '../test/support/child-process';
import { freePort } from '../test/support/ports';
import { startWeir, type WeirProcess } from '../test/support/weir-process';
import { coresOf, pin, type Cores } from './cores';
import { LOAD_TYPESCRIPT } from './load-typescript';
import { forkTypeScript, nextMessage } from './worker-process';

const ROOT = path.join(__dirname, '..');
const LIMITS_FILE = path.join(__dirname, 'limits.yaml');
const READY_MS = 15_000;

export const CONTENDERS = {
  constant_grpc_js: 'grpc-js, constant answer',
  constant_lean: 'lean transport, constant answer',
  bare_node: 'bare Node, which asks Redis and says yes',
  embedded: 'Weir, embedded, lean',
  embedded_grpc_js: 'Weir, embedded, grpc-js',
  redis: 'Weir, Redis, lean',
  redis_grpc_js: 'Weir, Redis, grpc-js',
  target: 'target',
} as const;

export type ContenderName = keyof typeof CONTENDERS;

export interface Contender {
  readonly name: ContenderName;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  /** One of ours that decides: it can be asked what remains of a bucket, and what it decided without Redis. */
  readonly weir?: WeirProcess;
  stop(): Promise<void>;
}

/** A server that runs already. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
}

export interface StartInput {
  readonly names: ReadonlySet<ContenderName>;
  readonly redisPort: number;
  readonly cores: Cores | undefined;
  readonly target: Target | undefined;
}

export async function startContenders({ names, redisPort, cores, target }: StartInput): Promise<ReadonlyMap<ContenderName, Contender>> {
  const redis = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redisPort}`, ...PATIENT };
  const starts: Readonly<Record<Exclude<ContenderName, 'target'>, () => Promise<Contender>>> = {
    constant_grpc_js: () => startListening('constant_grpc_js', 'grpc-js-server.ts'),
    constant_lean: startLean,
    bare_node: () => startListening('bare_node', 'bare-node-server.ts', redisPort),
    embedded: () => startOurs('embedded', { TRANSPORT: 'lean' }),
    embedded_grpc_js: () => startOurs('embedded_grpc_js', { TRANSPORT: 'grpc-js' }),
    redis: () => startOurs('redis', { TRANSPORT: 'lean', ...redis }),
    redis_grpc_js: () => startOurs('redis_grpc_js', { TRANSPORT: 'grpc-js', ...redis }),
  };
  const contenders = new Map<ContenderName, Contender>(target && [['target', asContender(target)]]);
  for (const name of names) {
    if (name === 'target') continue;
    const contender = await starts[name]();
    pin(contender.pid, cores?.server);
    contenders.set(name, contender);
  }
  return contenders;
}

/**
 * Redis shares its core with a generator that takes all it can get: an answer of Redis's may come later than any deadline
 * for operators. So it may take as long as the setting allows: what decides without Redis is not what is measured.
 */
const PATIENT = { REDIS_OP_TIMEOUT: '1s' };

/** As the image starts it: its command says how much V8 may hold for young objects. */
export function startShipped(env: Readonly<Record<string, string>>): Promise<WeirProcess> {
  return startWeir({ config: LIMITS_FILE, env: { WEIR_HOME: ROOT, ...env }, command: [path.join(ROOT, 'deploy', 'bin', 'ratelimit')] });
}

async function startOurs(name: ContenderName, env: Readonly<Record<string, string>>): Promise<Contender> {
  const weir = await startShipped({ FAILURE_MODE: 'local', DEFAULT_OVERDRAFT: 'true', ...env });
  return {
    name,
    pid: weir.pid,
    host: '127.0.0.1',
    port: weir.grpcPort,
    weir,
    stop: async () => {
      await weir.stop();
    },
  };
}

/** A server of ours that says when it listens on the port that it is given. */
async function startListening(name: ContenderName, file: string, ...more: readonly number[]): Promise<Contender> {
  const port = await freePort();
  const child = startChild({ command: process.execPath, args: [...LOAD_TYPESCRIPT, path.join(__dirname, file), ...[port, ...more].map(String)] });
  await waitUntilReady(CONTENDERS[name], child, () => Promise.resolve(child.output().includes('listening')), READY_MS);
  return {
    name,
    pid: child.pid,
    host: '127.0.0.1',
    port,
    stop: async () => {
      await child.stop();
    },
  };
}

async function startLean(): Promise<Contender> {
  const child = forkTypeScript('transport-server.ts', ['lean']);
  const { port } = (await nextMessage(child, 'the lean server')) as { port: number };
  return {
    name: 'constant_lean',
    pid: child.pid!,
    host: '127.0.0.1',
    port,
    stop: () => {
      child.disconnect();
      return Promise.resolve();
    },
  };
}

/** It is not ours to move between cores, or to stop. */
function asContender(target: Target): Contender {
  return { name: 'target', ...target, stop: () => Promise.resolve() };
}

/** `host:port`; undefined if it is none. */
export function parseTarget(text: string, pid: number): Target | undefined {
  const [, host, port] = /^(.+):(\d+)$/.exec(text) ?? [];
  return host === undefined || port === undefined || !Number.isInteger(pid) ? undefined : { host, port: Number(port), pid };
}

/** What a reader has to know of a target that does not run where the others do. */
export function describeTargetCores({ pid }: Target, cores: Cores | undefined): string | undefined {
  const own = coresOf(pid);
  if (cores === undefined || own === String(cores.server)) return undefined;
  return `The target (process ${pid}) may run on the cores ${own ?? 'unknown'}, the others run on core ${cores.server}: start it by \`taskset -c ${cores.server} …\`.`;
}
