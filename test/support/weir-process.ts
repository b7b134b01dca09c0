/** A Weir process for a test: `dist/main.js serve` as a person would start it, on free loopback ports. */
import { resolve } from 'node:path';
import { startChild, waitUntilReady } from './child-process';
import { isLong } from './form';
import { httpRequest } from './http-client';
import { freePort } from './ports';

const READY_TIMEOUT_MS = 15_000;
const ROOT = resolve(__dirname, '..', '..');
const SERVE: Command = [process.execPath, resolve(ROOT, 'dist', 'main.js'), 'serve'];

/** A program and its first arguments. */
type Command = readonly [string, ...string[]];

export interface WeirOptions {
  /** The file or folder given to --config; without it the server looks where its environment says. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
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

export async function startWeir({ config, env = {}, args = [], command = SERVE, healthStatus = 200 }: WeirOptions = {}): Promise<WeirProcess> {
  const [httpPort, grpcPort, debugPort] = [await freePort(), await freePort(), await freePort()];
  const [program, ...firstArgs] = command;
  const child = startChild({
    command: program,
    args: [...firstArgs, ...(config === undefined ? [] : ['--config', config]), ...args],
    cwd: ROOT,
    env: {
      HOST: '127.0.0.1',
      GRPC_HOST: '127.0.0.1',
      DEBUG_HOST: '127.0.0.1',
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
  const isHealthy = async (): Promise<boolean> => (await httpRequest(`http://127.0.0.1:${httpPort}/healthcheck`)).status === healthStatus;
  await waitUntilReady('Weir', child, isHealthy, READY_TIMEOUT_MS);
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
