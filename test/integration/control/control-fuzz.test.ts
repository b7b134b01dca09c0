/** Random requests for control data get the answers of a model, while Redis is full, emptied or damaged. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callAdmin } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { until } from '../../support/clock/until';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { randomFrom, seeded } from '../../support/random/random';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, type TestClient } from '../../support/redis/redis-store';
import { freePort } from '../../support/servers/ports';

const LONG_STEPS = 2_000;
const TIMEOUT_MS = 600_000;
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const SPACE = 'weir:control:1{weir:control}';

/** Far above what so few records need: the logs are bounded. */
const STORE_BYTES_MAX = 8_000_000;

interface Served {
  readonly weir: WeirProcess;
  readonly url: string;
}

let redis: RedisServer;
let client: TestClient;
let folder: string;
let served: readonly Served[];

beforeAll(async () => {
  redis = await startRedis();
  client = makeTestClient(redis.port);
  await client.connect();
  folder = mkdtempSync(path.join(tmpdir(), 'weir-control-fuzz-'));
  const tokens = path.join(folder, 'tokens');
  writeFileSync(tokens, tokenLine('ann', 'admin', TOKENS.admin));
  const config = writeConfig('domain: shop\ndescriptors:\n  - { key: merchant, rate_limit: { unit: hour, requests_per_unit: 1000000 } }\n');
  const start = async (): Promise<Served> => {
    const port = await freePort();
    const weir = await startWeir({
      config,
      env: { REDIS_URL: `127.0.0.1:${redis.port}`, ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: tokens, REDIS_OP_TIMEOUT: '1s' },
    });
    return { weir, url: `http://127.0.0.1:${port}` };
  };
  served = await Promise.all([start(), start()]);
}, TIMEOUT_MS);

afterAll(async () => {
  await Promise.all(served.map(({ weir }) => weir.stop()));
  client.destroy();
  await redis.stop();
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

const ask = (
  { url }: Served,
  method: string,
  where: string,
  rest: { readonly headers?: Record<string, string>; readonly body?: unknown } = {},
) => callAdmin(url, { method, path: where, token: TOKENS.admin, ...rest });

const blockedBy = async ({ weir }: Served, name: string): Promise<boolean> => {
  const body = { domain: 'shop', descriptors: [{ entries: [{ key: 'merchant', value: name }] }] };
  return (await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body })).status === 429;
};

/** `/v1/blocks`: of the store. `/v1/exceptions`: of the replica that the thread of the admin API has, from which a restore is made. */
async function namesOf(instance: Served, where: '/v1/blocks' | '/v1/exceptions'): Promise<readonly string[]> {
  const { json } = await ask(instance, 'GET', where);
  return (json as { items: ({ id: string } | { name: string })[] }).items.map((item) => ('id' in item ? item.id : item.name)).sort();
}

/** What every instance must come to: the blocks of the model, by list and by decision, and a healthy state. */
async function expectModel(model: ReadonlyMap<string, string>): Promise<void> {
  const expected = [...model.keys()].sort();
  for (const instance of served) {
    await until(async () => {
      const decided = await Promise.all(NAMES.map(async (name) => ((await blockedBy(instance, name)) ? [name] : [])));
      return String(decided.flat()) === String(expected);
    });
    await until(async () => String(await namesOf(instance, '/v1/exceptions')) === String(expected));
    expect(await namesOf(instance, '/v1/blocks')).toEqual(expected);
  }
}

/** A write that a full Redis refuses is answered 503 and is not in force. */
async function writeWhileFull(instance: Served, name: string): Promise<number> {
  await client.sendCommand(['CONFIG', 'SET', 'maxmemory', '1']);
  const { status } = await ask(instance, 'PUT', `/v1/blocks/shop/${name}`, { body: blockBody(name, 'full') });
  await client.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
  return status;
}

const blockBody = (name: string, reason: string) => ({ entries: [{ key: 'merchant', value: name }], reason });

/** Everything, or one key, is gone; after a restore nothing is. */
async function loseAndRestore(
  instance: Served,
  { isAll, model }: { readonly isAll: boolean; readonly model: ReadonlyMap<string, string> },
) {
  await client.sendCommand(isAll ? ['FLUSHALL'] : ['DEL', `${SPACE}record:block`]);
  const healthOf = async ({ weir }: Served) => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body;
  if (model.size === 0) return;
  for (const each of served) await until(async () => (await healthOf(each)).includes('control: lost by redis'));
  const { status, json } = await ask(instance, 'POST', '/v1/control/restore', { body: { reason: 'fuzz' } });
  expect({ status, json }).toEqual({ status: 200, json: { dry_run: false, restored: model.size } });
  for (const each of served) await until(async () => !(await healthOf(each)).includes('control: lost by redis'));
}

test(
  'random writes, conditions, full, lost and damaged stores: each answer, decision and list is that of the model',
  async () => {
    const { numRuns, seed } = seeded(LONG_STEPS);
    const random = randomFrom({ seed });
    /** ETags by id. */
    const model = new Map<string, string>();
    for (let step = 0; step < numRuns; step += 1) {
      const instance = served[random(2)]!;
      const name = NAMES[random(NAMES.length)]!;
      const where = `/v1/blocks/shop/${name}`;
      const known = model.get(name);
      const kind = random(14);
      const place = { seed, step, kind, name };
      if (kind === 0) expect({ ...place, status: await writeWhileFull(instance, name) }).toEqual({ ...place, status: 503 });
      else if (kind === 1) {
        // What an instance has not read yet, it cannot restore.
        await expectModel(model);
        await loseAndRestore(instance, { isAll: random(2) === 0, model });
        // What is restored has new versions.
        for (const id of model.keys()) model.set(id, String((await ask(instance, 'GET', `/v1/blocks/shop/${id}`)).headers.etag));
      } else if (kind === 2) {
        await client.sendCommand(['HSET', `${SPACE}record:block`, `shop/${name}`, 'damaged']);
        const { status, headers } = await ask(instance, 'PUT', where, { body: blockBody(name, `${step}`) });
        expect({ ...place, isWritten: status < 300 }).toEqual({ ...place, isWritten: true });
        model.set(name, String(headers.etag));
      } else if (kind < 7) {
        const { status } = await ask(instance, 'DELETE', where, kind === 3 ? { headers: { 'if-match': '"1"' } } : {});
        expect({ ...place, status }).toEqual({ ...place, status: kind === 3 ? 412 : 200 });
        if (kind !== 3) model.delete(name);
      } else {
        const condition: Readonly<Record<string, string>> =
          kind < 9 ? { 'if-none-match': '*' } : kind === 9 && known !== undefined ? { 'if-match': known } : {};
        const { status, headers } = await ask(instance, 'PUT', where, { headers: condition, body: blockBody(name, `${step}`) });
        const isRefused = kind < 9 && known !== undefined;
        expect({ ...place, isRefused: status === 412, isWritten: status < 300 }).toEqual({ ...place, isRefused, isWritten: !isRefused });
        if (!isRefused) model.set(name, String(headers.etag));
      }
      const found = await ask(served[random(2)]!, 'GET', where);
      expect({ ...place, etag: found.headers.etag }).toEqual({ ...place, etag: model.get(name) });
      if (step % 10 === 0) await expectModel(model);
    }
    await expectModel(model);
    const memory = /^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1];
    expect(Number(memory)).toBeLessThan(STORE_BYTES_MAX);
  },
  TIMEOUT_MS,
);
