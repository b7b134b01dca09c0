/** A real redis-server for a test: a child process on a free loopback port, without persistence. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, waitUntilReady, type Child } from '../processes/child-process';
import { freePort } from '../servers/ports';

const READY_TIMEOUT_MS = 30_000;
const PING_TIMEOUT_MS = 5_000;

export interface RedisOptions {
  /** Another server than the one that the other tests use. */
  readonly binary?: string;
  /** Further arguments, as on redis-server's command line: `['--maxmemory', '10mb']`. */
  readonly config?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface RedisServer {
  readonly port: number;
  /** Of the process that runs now: `restart` changes it. */
  readonly pid: number;
  stop(): Promise<void>;
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** A new process on the same port and folder, whether or not the old one still runs; empty, unless `config` says to keep. */
  restart(): Promise<void>;
}

export async function startRedis({
  binary = process.env.WEIR_REDIS_SERVER ?? 'redis-server',
  config = [],
  env = {},
}: RedisOptions = {}): Promise<RedisServer> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'weir-redis-'));
  const launch = () => launchRedis({ binary, port, directory, config, env });
  let child = await launch();
  return {
    port,
    get pid() {
      return child.pid;
    },
    stop: async () => {
      await child.stop();
      rmSync(directory, { recursive: true, force: true });
    },
    kill: (signal) => {
      child.kill(signal);
    },
    restart: async () => {
      await child.stop();
      child = await launch();
    },
  };
}

interface Launch extends Required<RedisOptions> {
  readonly port: number;
  readonly directory: string;
}

async function launchRedis({ binary, port, directory, config, env }: Launch): Promise<Child> {
  const child = startChild({
    command: binary,
    args: [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--save',
      '',
      '--appendonly',
      'no',
      '--daemonize',
      'no',
      ...config,
    ],
    env,
  });
  await waitUntilReady('redis-server', child, () => ping(port), READY_TIMEOUT_MS);
  return child;
}

/** Whether a Redis, or a sentinel, answers there. */
export function ping(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    const answer = (isPong: boolean): void => {
      socket.destroy();
      resolve(isPong);
    };
    socket.setTimeout(PING_TIMEOUT_MS, () => {
      answer(false);
    });
    socket.once('error', () => {
      answer(false);
    });
    socket.once('data', (data) => {
      answer(data.toString().startsWith('+PONG'));
    });
  });
}
