/** Every key in Redis is in the table of docs/redis.md and expires as it says. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { readAclLine } from '../../support/docs/acl-line';
import { tableRows } from '../../support/docs/markdown';
import { startReceiver, type EventReceiver } from '../../support/events/receiver';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, type TestClient } from '../../support/redis/redis-store';
import { freePort } from '../../support/servers/ports';

/** One limit of each algorithm, and what else writes to Redis. */
const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 100, reservations: { max_share: 0.5 }, algorithm: fixed_window, events: { at: [1%] } }
  - key: token
    rate_limit: { unit: hour, requests_per_unit: 100, algorithm: token_bucket }
  - key: leaky
    rate_limit: { unit: hour, requests_per_unit: 100, algorithm: leaky_bucket }
  - key: counter
    rate_limit:
      unit: hour
      requests_per_unit: 100
      algorithm: sliding_window_counter
      candidate: { requests_per_unit: 90, rollout: { by: counter, percent: 50 } }
  - key: log
    rate_limit: { unit: hour, requests_per_unit: 100, algorithm: sliding_window_log }
  - key: prepaid
    rate_limit: { unit: total, requests_per_unit: 100 }
  - key: shared
    rate_limit: { unit: second, requests_per_unit: 5 }
    fair: { entry: tenant }
  - key: slots
    in_flight: { max: 5, hold: 60s, id: slots }
  - key: address
    rate_limit: { unit: hour, requests_per_unit: 1 }
    penalty: { denials: 1, within: 1m, block: 1m }
`);

const { rules, prefix } = readAclLine();

/** The commands that the page says reservations need beside the line. */
const RESERVATION_COMMANDS = /^- \[Reservations\].* also need `([^`]+)`/m.exec(readFileSync('docs/redis.md', 'utf8'))![1]!.split(' ');

/** The same for events. */
const EVENT_COMMANDS = /^- \[Events\].* need `([^`]+)`/m.exec(readFileSync('docs/redis.md', 'utf8'))![1]!.split(' ');

/** The same for fair shares. */
const FAIR_COMMANDS = /^- \[Fair shares\].* need `([^`]+)`/m.exec(readFileSync('docs/redis.md', 'utf8'))![1]!.split(' ');

const EVENTS_SECRET = 'a secret of at least 24 bytes';

/** An event goes through every step of its delivery, on a busy machine too. */
const DELIVERED_WITHIN_MS = 60_000;

/** Needed only for a record that cannot be read. */
const FOR_DAMAGE = '+zscore';

let redis: RedisServer;
let root: TestClient;
let folder: string;
let receiver: EventReceiver;

beforeAll(async () => {
  redis = await startRedis();
  root = await makeTestClient(redis.port).connect();
  folder = mkdtempSync(path.join(tmpdir(), 'weir-keys-'));
  receiver = await startReceiver(EVENTS_SECRET);
  writeFileSync(path.join(folder, 'events'), EVENTS_SECRET);
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
});

afterAll(async () => {
  root.destroy();
  await redis.stop();
  await receiver.close();
  rmSync(folder, { recursive: true });
});

const eventsEnv = () => ({
  EVENTS_URL: receiver.url,
  EVENTS_SECRET_FILE: path.join(folder, 'events'),
  EVENTS_ALLOW_PRIVATE_ADDRESSES: 'true',
});

interface KeyRow {
  readonly pattern: RegExp;
  readonly stays: boolean;
}

function keyRows(): readonly KeyRow[] {
  return tableRows('docs/redis.md')
    .filter(([, , ends = '']) => /^(?:TTL|stays): /.test(ends))
    .map(([key = '', , ends = '']) => {
      const variable = /[A-Z]+…?|…/g;
      const fixed = key.replaceAll('`', '').split(variable);
      return { pattern: new RegExp(`^${fixed.map((text) => text.replace(/[{}]/g, '\\$&')).join('.*')}$`), stays: ends.startsWith('stays') };
    });
}

async function post(weir: WeirProcess, at: string, body: object): Promise<number> {
  return (await httpRequest(`http://127.0.0.1:${weir.httpPort}${at}`, { body })).status;
}

function asked(key: string, value = 'a'): object {
  return { domain: 'd', descriptors: [{ entries: [{ key, value }] }] };
}

/** Each step of reservations: held, repeated, extended, committed, released, lapsed, never made. The last one is denied. */
async function makeReservations(weir: WeirProcess, round = 'r'): Promise<readonly number[]> {
  const user = { ...asked('user', round), hits: 5 };
  const step = (id: string, name: string, fields: object = {}) =>
    post(weir, `/v1/reservations/${round}-${id}:${name}`, { ...user, ...fields });
  const statuses: number[] = [];
  for (const id of ['c', 'c', 'r', 'held'])
    statuses.push(await post(weir, '/v1/reservations', { ...user, id: `${round}-${id}`, ttl: '600s' }));
  statuses.push(await post(weir, '/v1/reservations', { ...user, id: `${round}-lapses`, ttl: '0.001s' }));
  statuses.push(await step('c', 'extend', { ttl: '900s' }), await step('c', 'commit', { hits: 3 }), await step('r', 'release'));
  statuses.push(await step('unknown', 'release'), await step('late', 'commit', { hits: 1 }));
  // The first takes what is left of the share, and the second what has lapsed meanwhile.
  for (const id of ['rest', 'lapsed', 'denied'])
    statuses.push(await post(weir, '/v1/reservations', { ...user, id: `${round}-${id}`, hits: 100 }));
  // Only the sweeper ends this one.
  await post(weir, '/v1/reservations', { ...asked('user', `${round} swept`), hits: 5, id: `${round}-swept`, ttl: '0.001s' });
  return statuses;
}

function expectSteps(statuses: readonly number[]): void {
  expect(statuses.slice(0, 11)).toEqual(Array<number>(11).fill(200));
  expect(statuses.at(-1)).toBe(429);
}

test('every key is in the table of the page, and has a TTL unless the table says that it stays', async () => {
  await root.flushAll();
  const port = await freePort();
  const weir = await startWeir({
    config: CONFIG,
    env: {
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '1s',
      CACHE_KEY_PREFIX: prefix,
      TOP_KEYS: 'true',
      ...eventsEnv(),
      CONTROL_DATA: 'true',
      ADMIN_PORT: String(port),
      ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
    },
  });
  const admin = async (request: AdminRequest) =>
    (await callAdmin(`http://127.0.0.1:${port}`, { token: TOKENS.admin, ...request }).catch(() => undefined))?.status;
  await until(async () => (await admin({ path: '/v1/whoami' })) === 200);
  for (const key of ['shared', 'token', 'leaky', 'counter', 'log', 'prepaid', 'user'])
    expect(await post(weir, '/json', asked(key))).toBe(200);
  const slot = { domain: 'd', descriptors: [{ entries: [{ key: 'slots', value: 'a' }] }] };
  expect(await post(weir, '/json', slot)).toBe(200);
  expectSteps(await makeReservations(weir));
  for (let i = 0; i < 3; i += 1) await post(weir, '/json', asked('address'));
  const entries = [{ key: 'user', value: 'b' }];
  const block = { method: 'PUT', path: '/v1/blocks/d/b', body: { entries, until: '2100-01-01T00:00:00Z' } } as const;
  expect(await admin(block)).toBeLessThan(300);
  const member = { method: 'PUT', path: '/v1/tenants/d/member', body: { parent: 'organization' } } as const;
  expect(await admin(member)).toBeLessThan(300);
  const credit = { domain: 'd', entries: [{ key: 'token', value: 'a' }], hits: 1, id: 'ticket-7' };
  expect(await admin({ method: 'POST', path: '/v1/credits', body: credit })).toBe(200);

  const rows = keyRows();
  const seen = new Set<KeyRow>();
  const shown = async (): Promise<readonly string[]> => {
    const wrong: string[] = [];
    for await (const page of root.scanIterator()) {
      for (const key of page) {
        const row = rows.find(({ pattern }) => key.startsWith(prefix) && pattern.test(key.slice(prefix.length)));
        const ttlMs = await root.pTTL(key);
        if (row === undefined) wrong.push(`${key} is not in the table`);
        else seen.add(row);
        // -2: it has ended meanwhile.
        if (row?.stays === false && ttlMs === -1) wrong.push(`${key} has no TTL`);
        if (row?.stays === true && ttlMs >= 0) wrong.push(`${key} has a TTL`);
      }
    }
    return wrong;
  };
  await until(async () => {
    expect(await shown()).toEqual([]);
    return seen.size === rows.length;
  });
  await weir.stop();
  // A lapse, a stop and a crash leave nothing else.
  expect(await shown()).toEqual([]);
});

describe('the rights of the page', () => {
  async function refused(): Promise<readonly string[]> {
    const entries = (await root.sendCommand(['ACL', 'LOG'])) as unknown as readonly (readonly unknown[])[];
    return entries.map((fields) => String(fields[fields.indexOf('object') + 1]));
  }

  /** The sweeper may be the only one that needs it. */
  async function isRefusedSoon(command: string, timeoutMs = 2_000): Promise<boolean> {
    return until(async () => (await refused()).includes(command), { timeoutMs }).then(
      () => true,
      () => false,
    );
  }

  test('suffice for reservations, and each is needed', async () => {
    await root.flushAll();
    await root.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...rules, ...RESERVATION_COMMANDS]);
    await root.sendCommand(['ACL', 'LOG', 'RESET']);
    const weir = await startWeir({
      config: CONFIG,
      env: {
        REDIS_URL: `127.0.0.1:${redis.port}`,
        REDIS_AUTH: 'weir:PASSWORD',
        REDIS_OP_TIMEOUT: '1s',
        CACHE_KEY_PREFIX: prefix,
        FAILURE_MODE: 'unavailable',
        REDIS_BREAKER_OPEN: '10ms',
      },
    });
    expectSteps(await makeReservations(weir));
    await until(async () => (await root.zCard(`${prefix}weir:lapses:2{d}`)) <= 3);
    expect(await refused()).toEqual([]);
    for (const command of RESERVATION_COMMANDS.filter((each) => each !== FOR_DAMAGE)) {
      await root.sendCommand(['ACL', 'SETUSER', 'weir', `-${command.slice(1)}`]);
      await makeReservations(weir, command.slice(1));
      expect({ command, isNeeded: await isRefusedSoon(command.slice(1)) }).toEqual({ command, isNeeded: true });
      await root.sendCommand(['ACL', 'SETUSER', 'weir', command]);
      await root.sendCommand(['ACL', 'LOG', 'RESET']);
    }
    await weir.stop();
  });

  test('suffice for events, and each is needed', async () => {
    await root.flushAll();
    await root.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...rules, ...EVENT_COMMANDS]);
    await root.sendCommand(['ACL', 'LOG', 'RESET']);
    const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_AUTH: 'weir:PASSWORD', REDIS_OP_TIMEOUT: '1s', CACHE_KEY_PREFIX: prefix };
    const weir = await startWeir({ config: CONFIG, env: { ...env, ...eventsEnv() } });
    let asks = 0;
    const cross = (): Promise<number> => post(weir, '/json', asked('user', `events ${(asks += 1)}`));
    const before = receiver.events.length;
    await cross();
    await until(async () => receiver.events.length > before && (await root.zCard(`${prefix}weir:events:1{weir:events}due`)) === 0);
    expect(await refused()).toEqual([]);
    for (const command of EVENT_COMMANDS) {
      await root.sendCommand(['ACL', 'SETUSER', 'weir', `-${command.slice(1)}`]);
      await cross();
      expect({ command, isNeeded: await isRefusedSoon(command.slice(1), DELIVERED_WITHIN_MS) }).toEqual({ command, isNeeded: true });
      await root.sendCommand(['ACL', 'SETUSER', 'weir', command]);
      await root.sendCommand(['ACL', 'LOG', 'RESET']);
    }
    await weir.stop();
  });

  test('suffice for fair shares, and each is needed', async () => {
    await root.flushAll();
    await root.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...rules, ...FAIR_COMMANDS]);
    await root.sendCommand(['ACL', 'LOG', 'RESET']);
    const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_AUTH: 'weir:PASSWORD', REDIS_OP_TIMEOUT: '1s', CACHE_KEY_PREFIX: prefix };
    const weir = await startWeir({ config: CONFIG, env });
    const member = (i: number) => ({
      domain: 'd',
      descriptors: [
        {
          entries: [
            { key: 'shared', value: 'a' },
            { key: 'tenant', value: `t${i % 2}` },
          ],
        },
      ],
    });
    const isDivided = async (): Promise<boolean> => {
      for (let i = 0; i < 20; i += 1) await post(weir, '/json', member(i));
      const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
      return body.includes('weir_fair_divided_limits 1');
    };
    await until(isDivided);
    // The sweeper of reservations asks, too.
    expect((await refused()).filter((command) => command !== 'zrangebyscore')).toEqual([]);
    for (const command of FAIR_COMMANDS) {
      await root.sendCommand(['ACL', 'SETUSER', 'weir', `-${command.slice(1)}`]);
      await until(async () => {
        expect([200, 429]).toContain(await post(weir, '/json', asked('shared', command)));
        return (await refused()).includes(command.slice(1));
      });
      await root.sendCommand(['ACL', 'SETUSER', 'weir', command]);
      await root.sendCommand(['ACL', 'LOG', 'RESET']);
    }
    await weir.stop();
  });
});
