/** Readers of the admin API push no decision into the failure mode, and do not wait for the deadlines of others. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CHANGES_MAX } from '../../../src/state/control/control-store';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { slowness } from '../../support/clock/slowness';
import { until } from '../../support/clock/until';
import { httpRequest } from '../../support/clients/http-client';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { instanceOnRedis, NOTE } from '../../support/control/control-harness';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, type TestClient } from '../../support/redis/redis-store';
import { freePort } from '../../support/servers/ports';

const TIMEOUT_MS = 300_000;

/** Blocks, each with an entry of the audit log. */
const BLOCKS = 10_000;

const DECISIONS = 200;
const TRIES = 8;

/** Without turns it is busy all the time. */
const BUSY_MAX = 0.7;

const DECISION_EVERY_MS = 5;

const EXPLAINERS = 32;
const DESCRIPTORS = 50;
const EXPORTS = 100;
const LISTERS = 64;

/** Those who search buckets among many keys of others: Redis looks at a thousand keys in each command. */
const SEARCHERS = 32;
const KEYS = 500_000;

/** Readers while Redis hangs, the deadline of one read, and after how long the next one begins beside it, in milliseconds. */
const READERS = 60;
const READ_MS = 2_000;
const TURN_MS = 100;

const CALL = { timeoutMs: hangLimitMs(10_000) };

let folder: string;
let redis: RedisServer;
let weir: WeirProcess;
let toRedis: TestClient;
let client: RlsClient;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-busy-viewers-'));
  const config = path.join(folder, 'limits.yaml');
  writeFileSync(
    config,
    'domain: shop\ndescriptors:\n  - { key: user, rate_limit: { unit: hour, requests_per_unit: 1000000, failure_mode: open } }\n',
  );
  writeFileSync(
    path.join(folder, 'tokens'),
    `${tokenLine('val', 'viewer', TOKENS.viewer)}\n${tokenLine('sue', 'support', TOKENS.support)}\n`,
  );
  redis = await startRedis({ config: ['--enable-debug-command', 'yes'] });
  toRedis = await makeTestClient(redis.port).connect();
  await fill();
  const port = await freePort();
  weir = await startWeir({
    config,
    env: {
      REDIS_URL: `127.0.0.1:${redis.port}`,
      ADMIN_PORT: String(port),
      ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
    },
  });
  url = `http://127.0.0.1:${port}`;
  client = new RlsClient(weir.grpcPort);
}, TIMEOUT_MS);

afterAll(async () => {
  client.close();
  toRedis.destroy();
  await weir.stop();
  await redis.stop();
  rmSync(folder, { recursive: true });
});

async function fill(): Promise<void> {
  const { store, close } = await instanceOnRedis(redis.port);
  for (let from = 0; from < BLOCKS; from += CHANGES_MAX) {
    const changes = Array.from({ length: CHANGES_MAX }, (_, i) => {
      const name = `${from + i}`;
      return { put: { kind: 'block', domain: 'shop', id: name, entries: [{ key: 'ip', value: name }] } as const };
    });
    await store.write({ changes, audit: NOTE });
  }
  await close();
  await fillKeys();
}

async function fillKeys(): Promise<void> {
  await toRedis.sendCommand(['DEBUG', 'POPULATE', String(KEYS), 'other', '1']);
}

const view = (asked: AdminRequest) => callAdmin(url, { token: TOKENS.viewer, ...asked });

async function withoutRedis(): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(/^weir_fallback_decisions_total (\d+)/m.exec(body)?.[1] ?? NaN);
}

/** Processor time that Redis has taken, in milliseconds. */
async function redisMs(): Promise<number> {
  const info = await toRedis.info('cpu');
  const [, system] = /^used_cpu_sys:([\d.]+)/m.exec(info) ?? [];
  const [, user] = /^used_cpu_user:([\d.]+)/m.exec(info) ?? [];
  return (Number(system) + Number(user)) * 1_000;
}

interface Decided {
  /** Decisions that Redis did not make. */
  readonly withoutRedis: number;
  /** The part of the time in which Redis was busy. */
  readonly busy: number;
}

/** Some decisions, one after the other. */
async function decide(): Promise<Decided> {
  const [before, usedMs, startedMs] = [await withoutRedis(), await redisMs(), performance.now()];
  for (let i = 0; i < DECISIONS; i += 1) {
    await client.ask('shop', [{ entries: { user: `u${i}` } }], CALL);
    await pause(DECISION_EVERY_MS);
  }
  const busy = ((await redisMs()) - usedMs) / (performance.now() - startedMs);
  return { withoutRedis: (await withoutRedis()) - before, busy };
}

/** Repeats a request on several connections until it is stopped; how many were answered. */
function repeat(connections: number, ask: () => Promise<unknown>) {
  let isStopped = false;
  let answered = 0;
  const all = Array.from({ length: connections }, async () => {
    while (!isStopped) {
      await ask();
      answered += 1;
    }
  });
  return {
    stop: async (): Promise<number> => {
      isStopped = true;
      await Promise.all(all);
      return answered;
    },
  };
}

const descriptors = Array.from({ length: DESCRIPTORS }, (_, i) => ({ entries: [{ key: 'user', value: `v${i}` }] }));
const explain = () => view({ method: 'POST', path: '/v1/explain', body: { domain: 'shop', descriptors } });
const searchBuckets = () => view({ path: '/v1/buckets', query: 'domain=shop' });
const listBlocks = () => view({ path: '/v1/blocks', query: 'limit=200' });

/** Exports whose readers take nothing after the first bytes. */
async function openSlowExports(): Promise<{ stop(): Promise<number> }> {
  const open = await Promise.all(
    Array.from({ length: EXPORTS }, async () => {
      const asked = request(`${url}/v1/audit/export`, { agent: false, headers: { authorization: `Bearer ${TOKENS.support}` } });
      asked.on('error', () => undefined);
      asked.end();
      const [response] = (await once(asked, 'response')) as [{ statusCode: number }];
      return { asked, isOpen: response.statusCode === 200 };
    }),
  );
  return {
    stop: () => {
      for (const { asked } of open) asked.destroy();
      return Promise.resolve(open.filter(({ isOpen }) => isOpen).length);
    },
  };
}

const FLOODS: readonly (readonly [string, () => Promise<{ stop(): Promise<number> }>])[] = [
  [`${EXPLAINERS} callers explain ${DESCRIPTORS} descriptors`, () => Promise.resolve(repeat(EXPLAINERS, explain))],
  [`${EXPORTS} exports of the audit log are read slowly`, openSlowExports],
  [`${SEARCHERS} callers search buckets among ${KEYS.toLocaleString('en')} keys`, () => Promise.resolve(repeat(SEARCHERS, searchBuckets))],
  [`${LISTERS} connections list blocks`, () => Promise.resolve(repeat(LISTERS, listBlocks))],
];

test.each(FLOODS)(
  'Redis makes every decision while %s',
  async (_what, flood) => {
    const calm = await decide();
    const flooding = await flood();
    let flooded = await decide();
    // On a busy machine a decision may be late once; what readers delay is late each time.
    for (let tries = 1; flooded.withoutRedis > 0 && tries < TRIES; tries += 1) flooded = await decide();
    const answered = await flooding.stop();
    const percent = ({ busy }: Decided): string => `${(100 * busy).toFixed(0)} %`;
    figure(
      `${flooded.withoutRedis} of ${DECISIONS} decisions without Redis, ${calm.withoutRedis} before; Redis busy for ${percent(flooded)} of the time, ${percent(calm)} before; ${answered} answers`,
    );
    expect(flooded.withoutRedis).toBe(0);
    expect(flooded.busy).toBeLessThan(BUSY_MAX);
  },
  TIMEOUT_MS,
);

test(
  'while Redis hangs, reads fail after their own deadline, not after those of all others, and decisions go on',
  async () => {
    redis.kill('SIGSTOP');
    const startedMs = performance.now();
    const statuses = await Promise.all([
      ...Array.from({ length: READERS }, async () => (await listBlocks()).status),
      client.ask('shop', [{ entries: { user: 'u' } }], CALL).then(({ overall_code: code }) => code),
    ]);
    const tookMs = performance.now() - startedMs;
    redis.kill('SIGCONT');
    figure(`${READERS} readers answered after ${(tookMs / 1_000).toFixed(1)} s`);
    expect(statuses).toEqual([...Array<number>(READERS).fill(503), OK]);
    expect(tookMs).toBeLessThan(Math.max(slowness(), 2) * (READ_MS + READERS * TURN_MS));
    await until(async () => (await listBlocks()).status === 200);
    await until(async () => (await decide()).withoutRedis === 0);
  },
  TIMEOUT_MS,
);
