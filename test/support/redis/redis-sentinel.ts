/** Real sentinels for a test, alone or around a primary with its replicas: child processes on free loopback ports. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hangLimitMs } from '../clock/hang-limit';
import { startChild, waitUntilReady } from '../processes/child-process';
import { freePort } from '../servers/ports';
import { ping, startRedis, type RedisServer } from './redis-server';
import { makeTestClient, type TestClient } from './redis-store';

export const MASTER_NAME = 'mymaster';

const READY_TIMEOUT_MS = 30_000;
const GROUP_READY_TIMEOUT_MS = 40_000;
const FAILOVER_TIMEOUT_MS = 30_000;
/** So long without an answer, and a sentinel holds the primary to be down. */
const DOWN_AFTER_MS = 500;

export interface SentinelOptions {
  /** The primary that it watches; none: it knows no name. */
  readonly watches?: { readonly host: string; readonly port: number; readonly quorum: number };
  /** Further lines of its configuration, before that of the primary. */
  readonly config?: readonly string[];
}

export interface SentinelProcess {
  readonly port: number;
  readonly client: TestClient;
  kill(signal: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
}

export async function startSentinel({ watches, config = [] }: SentinelOptions = {}): Promise<SentinelProcess> {
  const port = await freePort();
  const directory = mkdtempSync(path.join(tmpdir(), 'weir-sentinel-'));
  // A sentinel writes what it learns into its configuration.
  const file = path.join(directory, 'sentinel.conf');
  writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, ...config, ...watchLines(watches), ''].join('\n'));
  const child = startChild({ command: process.env.WEIR_REDIS_SERVER ?? 'redis-server', args: [file, '--sentinel'] });
  await waitUntilReady('redis-server --sentinel', child, () => ping(port), READY_TIMEOUT_MS);
  const client = makeTestClient(port);
  client.on('error', () => undefined);
  await client.connect();
  return {
    port,
    client,
    kill: (signal) => {
      child.kill(signal);
    },
    stop: async () => {
      client.destroy();
      await child.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function watchLines(watches: SentinelOptions['watches']): string[] {
  if (watches === undefined) return [];
  return [
    `sentinel monitor ${MASTER_NAME} ${watches.host} ${watches.port} ${watches.quorum}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} 2000`,
  ];
}

/** A primary, two replicas, and three sentinels of which two must agree. */
export interface SentinelGroup {
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly SentinelProcess[];
  /** As REDIS_URL takes it. */
  readonly url: string;
  /** Resolves when every sentinel names a server other than this one; which, and when. */
  untilMovedFrom(primary: RedisServer): Promise<{ readonly primary: RedisServer; readonly atMs: number }>;
  stop(): Promise<void>;
}

/** The first of its servers is the primary. Every sentinel knows the others and both replicas. */
export async function startSentinelGroup(): Promise<SentinelGroup> {
  const primary = await startRedis({ config: ['--repl-diskless-sync-delay', '0'] });
  const replicas = await Promise.all([1, 2].map(() => startRedis({ config: ['--replicaof', '127.0.0.1', String(primary.port)] })));
  const servers = [primary, ...replicas];
  const admin = await makeTestClient(primary.port).connect();
  await until('both replicas follow', GROUP_READY_TIMEOUT_MS, async () => {
    const followers = (await admin.info('replication')).match(/state=online/g) ?? [];
    return followers.length === replicas.length ? true : undefined;
  });
  admin.destroy();
  const watches = { host: '127.0.0.1', port: primary.port, quorum: 2 };
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel({ watches })));
  await until('the sentinels know each other', GROUP_READY_TIMEOUT_MS, async () => {
    const known = await Promise.all(sentinels.map(countKnown));
    return known.every(({ others, followers }) => others === 2 && followers === 2) ? true : undefined;
  });
  return {
    servers,
    sentinels,
    url: [MASTER_NAME, ...sentinels.map(({ port }) => `127.0.0.1:${port}`)].join(','),
    untilMovedFrom: (from) =>
      until('a failover', FAILOVER_TIMEOUT_MS, async () => {
        const ports = new Set(await Promise.all(sentinels.map(portOfPrimary)));
        const [port] = ports;
        if (ports.size !== 1 || port === from.port) return undefined;
        return { primary: servers.find((server) => server.port === port)!, atMs: performance.now() };
      }),
    stop: async () => {
      await Promise.all([...sentinels, ...servers].map((each) => each.stop()));
    },
  };
}

async function portOfPrimary({ client }: SentinelProcess): Promise<number> {
  const [, port] = (await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME])) as unknown as string[];
  return Number(port);
}

/** How many other sentinels, and how many replicas, it knows. */
async function countKnown({ client }: SentinelProcess): Promise<{ others: number; followers: number }> {
  const fields = (await client.sendCommand(['SENTINEL', 'MASTER', MASTER_NAME])) as unknown as string[];
  const count = (name: string) => Number(fields[fields.indexOf(name) + 1]);
  return { others: count('num-other-sentinels'), followers: count('num-slaves') };
}

/** Asks until there is an answer; the time being up is an error. */
export async function until<T>(what: string, timeoutMs: number, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const limitMs = hangLimitMs(timeoutMs);
  const deadlineMs = performance.now() + limitMs;
  while (performance.now() < deadlineMs) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`waited ${limitMs} ms in vain: ${what}`);
}
