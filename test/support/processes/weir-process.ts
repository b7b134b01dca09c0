/** A Weir process for a test: `dist/main.js serve` as a person would start it, on free loopback ports. */
import { resolve } from 'node:path';
import { CODE_CACHE } from './command';
import { startChild, waitUntilReady } from './child-process';
import { isLong } from '../random/form';
import { httpRequest } from '../clients/http-client';
import { freePort } from '../servers/ports';

const READY_TIMEOUT_MS = 30_000;

/** A Weir that can't reach its Redis serves all the same. This long after it is healthy a test gets it without Redis. */
const REDIS_TIMEOUT_MS = 10_000;
const ROOT = resolve(__dirname, '..', '..', '..');
const SERVE: Command = [process.execPath, ...CODE_CACHE, resolve(ROOT, 'dist', 'main.js'), 'serve'];

/** A program and its first arguments. */
type Command = readonly [string, ...string[]];

export interface WeirOptions {
  /** The file or folder given to --config; without it the server looks where its environment says. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** The address that it listens on and is asked at; default 127.0.0.1. */
  readonly host?: string;
  /** Another way to the same server, as a container's entry point. */
  readonly command?: Command;
  /** What /healthcheck answers once it is there; default 200. */
  readonly healthStatus?: number;
}

export interface WeirProcess {
  readonly pid: number;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly debugPort: number;
  /** The last lines that it wrote. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL when it takes too long; resolves to the exit code, or null when a signal ended it. */
  stop(): Promise<number | null>;
}

/**
 * Whether a first answer may be late: no Redis, or one with seconds to answer. Half of the cost of a start is to make it fast, which the
 * short form saves. A cluster or sentinels are not all connected by the time of a first call that comes so early.
 */
function isPatient({ BACKEND_TYPE: backend, REDIS_TYPE: type, REDIS_OP_TIMEOUT: timeout = '' }: Readonly<Record<string, string>>): boolean {
  return backend === 'memory' || (type === undefined && /^\d+s$/.test(timeout));
}

/**
 * Whether Redis is still awaited: on a busy machine the first connection may take longer than a start waits for it. A Redis that
 * refused the connection or the password is not awaited: the log has the cause, which is not that it took too long.
 */
function isConnecting({ health, output }: { readonly health: string; readonly output: string }): boolean {
  if (!health.includes('degraded: redis')) return false;
  return output.split('\n').every((line) => !line.includes('no Redis at') || /no answer within|timeout/i.test(line));
}

export async function startWeir({
  config,
  env = {},
  args = [],
  host = '127.0.0.1',
  command = SERVE,
  healthStatus = 200,
}: WeirOptions = {}): Promise<WeirProcess> {
  const [httpPort, grpcPort, debugPort] = [await freePort(), await freePort(), await freePort()];
  const [program, ...firstArgs] = command;
  const child = startChild({
    command: program,
    args: [...firstArgs, ...(config === undefined ? [] : ['--config', config]), ...args],
    cwd: ROOT,
    env: {
      HOST: host,
      GRPC_HOST: host,
      DEBUG_HOST: host,
      PORT: String(httpPort),
      GRPC_PORT: String(grpcPort),
      DEBUG_PORT: String(debugPort),
      // A test of Redis must not pass by what decides without it; one of the fallback says otherwise.
      FAILURE_MODE: 'unavailable',
      // A test that ends has nobody to warn.
      DRAIN_DELAY: '0s',
      ...(!isLong && isPatient(env) && { WARM_UP: 'false' }),
      ...env,
    },
  });
  let healthyMs: number | undefined;
  const isReady = async (): Promise<boolean> => {
    const { status, body } = await httpRequest(`http://${host}:${httpPort}/healthcheck`);
    if (status !== healthStatus) return false;
    healthyMs ??= performance.now();
    return !isConnecting({ health: body, output: child.output() }) || performance.now() - healthyMs > REDIS_TIMEOUT_MS;
  };
  await waitUntilReady('Weir', child, isReady, READY_TIMEOUT_MS);
  return {
    pid: child.pid,
    httpPort,
    grpcPort,
    debugPort,
    output: () => child.output(),
    kill: (signal) => {
      child.kill(signal);
    },
    stop: () => child.stop(),
  };
}
