/** Two versions of Weir on one Redis share limits, or count apart if their formats differ. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@redis/client';
import { OK, RlsClient } from '../support/clients/rls-client';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startRedis, type RedisServer } from '../support/redis/redis-server';

const ROOT = path.resolve(__dirname, '..', '..');
const LIMIT = 10;
const LIMITS = writeConfig(`domain: d\ndescriptors: [{ key: client, rate_limit: { unit: day, requests_per_unit: ${LIMIT} } }]\n`);

/** Files of a build that another version would have otherwise: what stands there, and what instead. */
type Changes = Readonly<Record<string, readonly [from: string, to: string]>>;

/** Other scripts have other hashes. */
const OTHER_SCRIPTS: Changes = { 'lua/take.lua': ['local ', '-- of another version\nlocal '] };
const OTHER_FORMAT: Changes = { ...OTHER_SCRIPTS, 'dist/domain/bucket/bucket-key.js': ['STATE_VERSION = 1', 'STATE_VERSION = 2'] };

const folder = mkdtempSync(path.join(tmpdir(), 'weir-versions-'));
let redis: RedisServer;
let running: Version[] = [];

interface Version {
  readonly weir: WeirProcess;
  readonly client: RlsClient;
}

beforeEach(async () => {
  redis = await startRedis();
});

afterEach(async () => {
  for (const { weir, client } of running) {
    client.close();
    await weir.stop();
  }
  running = [];
  await redis.stop();
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A build that differs as another version does. */
function buildWith(changes: Changes): string {
  const home = mkdtempSync(path.join(folder, 'build-'));
  for (const name of ['dist', 'lua', 'proto', 'package.json']) cpSync(path.join(ROOT, name), path.join(home, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(home, 'node_modules'));
  for (const [name, [from, to]] of Object.entries(changes)) {
    const text = readFileSync(path.join(home, name), 'utf8');
    expect(text).toContain(from);
    writeFileSync(path.join(home, name), text.replace(from, to));
  }
  return home;
}

async function start(changes: Changes = {}): Promise<Version> {
  const main = path.join(Object.keys(changes).length === 0 ? ROOT : buildWith(changes), 'dist', 'main.js');
  const weir = await startWeir({
    command: [process.execPath, main, 'serve'],
    config: LIMITS,
    // A decision without Redis would be an error (FAILURE_MODE of startWeir).
    env: { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' },
  });
  const version = { weir, client: new RlsClient(weir.grpcPort) };
  running.push(version);
  return version;
}

/** What the limit has left after this request. */
async function take({ client }: Version): Promise<number> {
  const { overall_code: code, statuses } = await client.ask('d', [{ entries: { client: 'c' } }]);
  expect(code).toBe(OK);
  return statuses[0]!.limit_remaining;
}

function connectTo({ port }: RedisServer) {
  return createClient({ url: `redis://127.0.0.1:${port}` });
}

async function withRedis<T>(ask: (connection: ReturnType<typeof connectTo>) => Promise<T>): Promise<T> {
  const connection = connectTo(redis);
  await connection.connect();
  try {
    return await ask(connection);
  } finally {
    connection.destroy();
  }
}

const bucketKeys = () => withRedis(async (connection) => (await connection.keys('*{d}*')).sort());

test('two versions with the same format and other scripts share a limit, also after Redis lost all scripts', async () => {
  const [current, next] = [await start(), await start(OTHER_SCRIPTS)];
  expect([await take(current), await take(next), await take(current)]).toEqual([9, 8, 7]);
  await withRedis((connection) => connection.scriptFlush());
  expect([await take(next), await take(current)]).toEqual([6, 5]);
  expect(await bucketKeys()).toHaveLength(1);
});

test('two versions with different formats count apart, and a rollback finds its own hits', async () => {
  const [current, next] = [await start(), await start(OTHER_FORMAT)];
  expect([await take(current), await take(current), await take(next), await take(current), await take(next)]).toEqual([9, 8, 9, 7, 8]);
  const keys = await bucketKeys();
  expect(keys.map((key) => key.slice(0, 2))).toEqual(['1{', '2{']);
  // The state of each is what its own version wrote.
  expect(await next.weir.stop()).toBe(0);
  expect(await take(current)).toBe(6);
  expect(await bucketKeys()).toEqual(keys);
});
