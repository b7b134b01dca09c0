/** A change through the admin API is in force within a second, with the embedded store, Redis and workers. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { PAYMENTS, tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { freePort } from '../../support/servers/ports';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const STARTED_WITHIN_MS = 60_000;

/** Clients that list buckets without a pause, and decisions in the meantime. */
const LISTERS = 8;
const DECISIONS = 100;

let folder: string;
let redis: RedisServer;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-admin-api-'));
  writeFileSync(path.join(folder, 'limits.yaml'), PAYMENTS);
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
  redis = await startRedis();
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Served {
  readonly weir: WeirProcess;
  readonly url: string;
  readonly admin: (request: AdminRequest) => ReturnType<typeof callAdmin>;
  /** The code of a request of the merchant. */
  readonly ask: (merchant: string, hits?: number) => Promise<string>;
}

async function serve(env: Readonly<Record<string, string>>): Promise<Served> {
  const port = await freePort();
  const weir = await startWeir({
    config: path.join(folder, 'limits.yaml'),
    env: { ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: path.join(folder, 'tokens'), REDIS_OP_TIMEOUT: '1s', ...env },
  });
  const url = `http://127.0.0.1:${port}`;
  const admin = (request: AdminRequest) => callAdmin(url, { token: TOKENS.admin, ...request });
  await until(() =>
    admin({ path: '/v1/whoami' }).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  const ask = async (merchant: string, hits = 1): Promise<string> => {
    const body = { domain: 'payments', hitsAddend: hits, descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] };
    const reply = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
    return (JSON.parse(reply.body) as { overallCode: string }).overallCode;
  };
  return { weir, url, admin, ask };
}

/** A live tail, until it is closed. */
async function openTail(url: string, query: string) {
  const controller = new AbortController();
  const response = await fetch(`${url}/v1/tail?${query}`, {
    headers: { authorization: `Bearer ${TOKENS.admin}` },
    signal: controller.signal,
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
  })().catch(() => undefined);
  return {
    /** Those of whole events so far. */
    samples: () =>
      text
        .split('\n\n')
        .slice(0, -1)
        .filter((event) => event.startsWith('data: '))
        .map((event) => JSON.parse(event.slice('data: '.length)) as { readonly pid: number }),
    close: async () => {
      controller.abort();
      await reading;
    },
  };
}

const stores: readonly (readonly [string, () => Readonly<Record<string, string>>])[] = [
  ['the embedded store', () => ({ BACKEND_TYPE: 'memory' })],
  ['Redis', () => ({ REDIS_URL: `127.0.0.1:${redis.port}` })],
  ['Redis, with two workers', () => ({ REDIS_URL: `127.0.0.1:${redis.port}`, WORKERS: '2' })],
];

describe.each(stores)('on %s', (name, env) => {
  let served: Served;
  const merchant = (text: string) => `${text} ${name}`;
  const one = (value: string) => ({ domain: 'payments', entries: [{ key: 'merchant', value }] });

  beforeAll(async () => {
    served = await serve({ ...env(), CACHE_KEY_PREFIX: `${name.replace(/\W/g, '')}:` });
  }, STARTED_WITHIN_MS);

  afterAll(async () => {
    expect(await served.weir.stop()).toBe(0);
  });

  test('a look-up shows what decisions left, a reset is in force within a second, and the list has the key', async () => {
    const { admin, ask } = served;
    expect(await ask(merchant('m1'), 100)).toBe('OK');
    expect(await ask(merchant('m1'), 50)).toBe('OVER_LIMIT');
    const { entries } = one(merchant('m1'));
    const look = await admin({ method: 'POST', path: '/v1/buckets/lookup', body: { domain: 'payments', descriptors: [{ entries }] } });
    const [bucket] = (look.json as { buckets: readonly { key: string; remaining: number }[] }).buckets;
    expect(bucket!.remaining).toBeLessThan(50);
    const { json } = await admin({ path: '/v1/buckets', query: 'domain=payments' });
    expect((json as { items: readonly object[] }).items).toContainEqual({ key: bucket!.key });
    const reset = await admin({ method: 'POST', path: '/v1/buckets/reset', body: { ...one(merchant('m1')), reason: 'test' } });
    expect(reset.json).toMatchObject({ deleted: 1 });
    await until(async () => (await ask(merchant('m1'), 90)) === 'OK', { timeoutMs: 2_000 });
  });

  test('a block and an override decide within a second, and the audit log has both', async () => {
    const { admin, ask } = served;
    const { entries } = one(merchant('m2'));
    const put = await admin({ method: 'PUT', path: '/v1/blocks/payments/b1', body: { entries, reason: 'fraud' } });
    expect(put.json).toMatchObject({ changed: true });
    await until(async () => (await ask(merchant('m2'))) === 'OVER_LIMIT', { timeoutMs: 2_000 });
    const explained = await admin({ method: 'POST', path: '/v1/explain', body: { domain: 'payments', descriptors: [{ entries }] } });
    expect(explained.json).toMatchObject({ over_limit: true, control: [{ kind: 'block', id: 'b1' }] });
    expect(await admin({ method: 'DELETE', path: '/v1/blocks/payments/b1' })).toMatchObject({ status: 200 });
    await until(async () => (await ask(merchant('m2'))) === 'OK', { timeoutMs: 2_000 });
    const limit = { requests_per_unit: 300, unit: 'minute' };
    expect(await admin({ method: 'PUT', path: '/v1/overrides/payments/o1', body: { entries, limit } })).toMatchObject({ status: 200 });
    await until(async () => (await ask(merchant('m2'), 150)) === 'OK', { timeoutMs: 2_000 });
    const { lines } = await admin({ path: '/v1/audit/export' });
    expect(lines!.map((line) => (line as { action: string; kind?: string }).kind)).toEqual(expect.arrayContaining(['block', 'override']));
  });

  test('a credit is given once', async () => {
    const { admin, ask } = served;
    expect(await ask(merchant('m3'), 100)).toBe('OK');
    const credit = { method: 'POST', path: '/v1/credits', body: { ...one(merchant('m3')), hits: 40, id: 'c1' } };
    expect((await admin(credit)).json).toMatchObject({ repeated: false, given: [{ hits: 40 }] });
    expect((await admin(credit)).json).toMatchObject({ repeated: true, given: [] });
    await until(async () => (await ask(merchant('m3'), 35)) === 'OK', { timeoutMs: 2_000 });
  });

  test('every serving process is an instance that reports its load, its store, its last error of Redis and how it follows control data', async () => {
    const count = name.includes('workers') ? 2 : 1;
    interface Instance {
      readonly generation: number;
      readonly load?: { readonly event_loop_utilization: number; readonly decisions_per_s: number };
      readonly engines?: readonly object[];
      readonly store_error?: object;
      readonly control?: {
        readonly state: string;
        readonly lag_seconds: number;
        readonly version: number;
        readonly entries_behind: number;
      };
    }
    const list = async () =>
      (await served.admin({ path: '/v1/instances' })).json as { items: readonly Instance[]; degraded: readonly object[] };
    const read = async () => (await list()).items;
    await until(async () => (await read()).length === count);
    expect((await read()).map(({ generation }) => generation)).toEqual(Array.from({ length: count }, () => 1));
    // A report is up to 5 s old: the writes of the tests before are in one that comes.
    await until(async () => (await read()).every(({ control }) => control !== undefined && control.version > 0));
    for (const { control } of await read()) expect(control).toMatchObject({ state: 'following', entries_behind: 0 });
    const redis = [{ store: 'redis', engine: 'redis', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as unknown }];
    for (const { load, engines, store_error: error } of await read()) {
      expect(engines).toEqual(name.includes('embedded') ? [] : redis);
      expect(load?.event_loop_utilization).toBeGreaterThan(0);
      expect(load?.event_loop_utilization).toBeLessThanOrEqual(1);
      expect(load?.decisions_per_s).toBeGreaterThanOrEqual(0);
      expect(error).toBeUndefined();
    }
    expect((await list()).degraded).toEqual([]);
  });

  test('the top keys of all processes are there without TOP_KEYS', async () => {
    const { admin } = served;
    const read = async () => {
      const { status, json } = await admin({ path: '/v1/top', query: 'question=denied&minutes=1' });
      expect(status).toBe(200);
      return json as { items: readonly { entries: string; count: number }[]; instances: number };
    };
    await until(async () => (await read()).items.some(({ entries }) => entries.startsWith('merchant=m1 ')), { timeoutMs: 60_000 });
    await until(async () => (await read()).instances === (name.includes('workers') ? 2 : 1), { timeoutMs: 60_000 });
  });

  test('a tail has the decisions of every serving process', async () => {
    const { url, weir } = served;
    const tail = await openTail(url, 'entry=merchant');
    // Each request on a connection of its own, so that both workers get some.
    const pids = new Set<number>();
    await until(
      async () => {
        await served.ask(merchant('seen'));
        for (const { pid } of tail.samples()) pids.add(pid);
        return pids.size === (name.includes('workers') ? 2 : 1);
      },
      { timeoutMs: 60_000 },
    );
    expect(name.includes('workers')).toBe(!pids.has(weir.pid));
    await tail.close();
  });

  test('the metrics count the requests of the API by operation and class of status, and failed tries', async () => {
    await served.admin({ path: '/v1/whoami', token: 'wrong' });
    const text = async () => (await httpRequest(`http://127.0.0.1:${served.weir.debugPort}/metrics`)).body;
    await until(async () => (await text()).includes('weir_admin_requests_total{operation="whoami",status="4xx"}'));
    expect(await text()).toMatch(/weir_admin_requests_total\{operation="whoami",status="2xx"\} [1-9]/);
    expect(await text()).toMatch(/weir_admin_failed_tries_total [1-9]/);
    expect(await text()).toMatch(/weir_admin_request_duration_seconds_count [1-9]/);
    expect(await text()).toContain('weir_admin_streams 0');
  });

  test('rules that are reloaded are those of the API, and no secret is in the log', async () => {
    writeFileSync(path.join(folder, 'limits.yaml'), `${PAYMENTS}  - key: added\n    rate_limit: { unit: hour, requests_per_unit: 7 }\n`);
    served.weir.kill('SIGHUP');
    await until(async () => (await served.admin({ path: '/v1/rules' })).body.includes('"added"'));
    expect(served.weir.output()).not.toContain(TOKENS.admin);
    writeFileSync(path.join(folder, 'limits.yaml'), PAYMENTS);
  });
});

test('decisions go on while the thread of the admin API is busy with lists', async () => {
  const { weir, admin, ask } = await serve({ BACKEND_TYPE: 'memory' });
  try {
    for (let i = 0; i < 50; i += 1) await ask(`busy-${i}`);
    let lists = 0;
    let isOver = false;
    const clients = Array.from({ length: LISTERS }, async () => {
      while (!isOver && lists < 5_000) {
        const { status } = await admin({ path: '/v1/buckets', query: 'domain=payments' });
        expect(status).toBe(200);
        lists += 1;
      }
    });
    // A count, not a time: a decision on the thread of the lists would wait for one of each client.
    for (let i = 0; i < DECISIONS; i += 1) expect(await ask(`steady-${i}`)).toBe('OK');
    isOver = true;
    await Promise.all(clients);
    expect(lists).toBeGreaterThan(0);
    figure(`${lists} lists of ${LISTERS} clients during ${DECISIONS} decisions`);
    expect(lists).toBeLessThan((LISTERS / 2) * DECISIONS);
  } finally {
    await weir.stop();
  }
});

test('a tail shows the decisions that match, and no others', async () => {
  const { weir, url, ask } = await serve({ BACKEND_TYPE: 'memory' });
  try {
    const tail = await openTail(url, 'entry=merchant%3Dseen');
    await until(async () => {
      await ask('unseen');
      await ask('seen');
      return tail.samples().length > 0;
    });
    await tail.close();
    const text = JSON.stringify(tail.samples());
    expect(text).toContain('"seen"');
    expect(text).not.toContain('unseen');
    expect(text).toContain('"rule":"merchant"');
  } finally {
    await weir.stop();
  }
});

test('a port that is taken stops the start, with the name of the setting', async () => {
  const { weir, url } = await serve({ BACKEND_TYPE: 'memory' });
  try {
    const second = startWeir({
      config: path.join(folder, 'limits.yaml'),
      env: { BACKEND_TYPE: 'memory', ADMIN_PORT: new URL(url).port, ADMIN_TOKENS_FILE: path.join(folder, 'tokens') },
    });
    // It may answer its health check before the admin port fails.
    await second.then(
      async (other) => {
        await until(() => other.output().includes('is in use already'));
        expect(await other.stop()).toBe(1);
      },
      (error: unknown) => {
        expect(String(error)).toContain('ADMIN_PORT');
      },
    );
  } finally {
    await weir.stop();
  }
});
