/** A server writes each decision of every port as one line of its decision log, and answers as before when nothing can be written. */

import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readRecord } from '../../../src/state/control/read-record';
import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { instanceOnRedis, NOTE } from '../../support/control/control-harness';
import { childPidsOf } from '../../support/processes/child-pids';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis } from '../../support/redis/redis-server';

const TIMEOUT_MS = 60_000;

const CONFIG = writeConfig(`
domain: shop
descriptors:
  - { key: merchant, rate_limit: { unit: year, requests_per_unit: 2, algorithm: fixed_window } }
  - { key: user, rate_limit: { unit: year, requests_per_unit: 1000000, algorithm: fixed_window } }
  - { key: address, rate_limit: { unit: year, requests_per_unit: 100, algorithm: fixed_window } }
`);

interface Line {
  readonly time: string;
  readonly domain: string;
  readonly descriptors: readonly { readonly entries: readonly { readonly key: string; readonly value: string }[] }[];
  readonly code: string;
  readonly decided_by: string;
}

let folder: string;
let file: string;
let weir: WeirProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-decision-log-'));
  file = path.join(folder, 'decisions.log');
});

afterEach(async () => {
  await weir?.stop();
  weir = undefined;
  rmSync(folder, { recursive: true });
});

/** With the memory store, unless the environment names Redis. */
async function start(env: Readonly<Record<string, string>> = {}, command?: readonly [string, ...string[]]): Promise<WeirProcess> {
  const store = 'REDIS_URL' in env ? {} : { BACKEND_TYPE: 'memory' };
  weir = await startWeir({ config: CONFIG, env: { DECISION_LOG: file, ...store, ...env }, ...(command && { command }) });
  return weir;
}

/** Each of them is JSON. */
function linesIn(...names: readonly string[]): Line[] {
  return names.flatMap((name) =>
    readFileSync(path.join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line),
  );
}

async function countsOf({ debugPort }: WeirProcess): Promise<{ readonly written: number; readonly lost: number }> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  const [written, ...lost] = Array.from(body.matchAll(/^weir_decision_log_(?:lost_)?lines_total(?:\{.*\})? (\d+)$/gm), ([, count]) =>
    Number(count),
  );
  return { written: written!, lost: lost.reduce((sum, each) => sum + each, 0) };
}

/** Asks on one connection, for users of their own. */
async function askFor(users: readonly string[], { grpcPort }: WeirProcess): Promise<void> {
  const client = new RlsClient(grpcPort);
  const options = { timeoutMs: hangLimitMs(5_000) };
  await Promise.all(users.map((user) => client.ask('shop', [{ entries: { user } }], options)));
  client.close();
}

function usersOf(count: number, name = 'u'): string[] {
  return Array.from({ length: count }, (_, i) => `${name}${i}`);
}

function usersIn(lines: readonly Line[]): string[] {
  return lines.map(({ descriptors }) => descriptors[0]!.entries[0]!.value);
}

test(
  'gRPC, /json, /check, reservations, blocks, the deny cache, outages: each decision has one line, in the order in which the store decided',
  async () => {
    const redis = await startRedis();
    const admin = await instanceOnRedis(redis.port);
    const record = { kind: 'block', domain: 'shop', id: 'b', entries: [{ key: 'merchant', value: 'bad' }] };
    await admin.store.write({ changes: [{ put: readRecord(record) }], audit: NOTE });
    const served = await start({
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '1s',
      CONTROL_DATA: 'true',
      FAILURE_MODE: 'open',
      CHECK_DOMAIN: 'shop',
      CHECK_DESCRIPTORS: 'address=client_ip',
    });
    const http = (target: string, body?: unknown) => httpRequest(`http://127.0.0.1:${served.httpPort}${target}`, { body });
    const client = new RlsClient(served.grpcPort);
    const merchant = (value: string) => ({ entries: [{ key: 'merchant', value }] });
    try {
      await client.ask('shop', [{ entries: { merchant: 'a' } }, { entries: { user: 'ü' }, hits_addend: { value: '3' } }]);
      await client.ask('shop', [{ entries: { merchant: 'a' }, limit: { requests_per_unit: 5, unit: 3 } }]);
      await client.ask('shop', [{ entries: { merchant: 'a' }, hits_addend: { value: '0' } }]);
      await http('/json', { domain: 'shop', descriptors: [merchant('a')], hits_addend: 2 });
      await http('/json', { domain: 'shop', descriptors: [merchant('a')], hits_addend: 2 });
      await http('/json', { domain: 'nowhere', descriptors: [merchant('a')] });
      await http('/check');
      await http('/v1/reservations', { domain: 'shop', descriptors: [merchant('r')], hits: 1 });
      await until(async () => (await http('/json', { domain: 'shop', descriptors: [merchant('bad')] })).status === 429);
      // Invalid requests are not decided.
      await http('/json', { domain: 'shop', descriptors: [] });
      await http('/json', '{');
      redis.kill('SIGKILL');
      await until(() => served.output().includes('no Redis at'));
      await http('/json', { domain: 'shop', descriptors: [merchant('late')] });
      await until(async () => (await countsOf(served)).written >= 10);
      const lines = linesIn('decisions.log');
      const asked = [{ key: 'merchant', value: 'a' }];
      const of = { domain: 'shop', hits: 1, rule: 'shop.merchant' };
      expect(lines.map(({ time: _, ...fields }) => fields)).toEqual([
        {
          ...of,
          descriptors: [{ entries: asked }, { entries: [{ key: 'user', value: 'ü' }], hits: 3 }],
          code: 'OK',
          remaining: 1,
          decided_by: 'store',
        },
        {
          ...of,
          descriptors: [{ entries: asked, limit: { requests_per_unit: 5, unit: 'hour' } }],
          code: 'OK',
          remaining: 4,
          decided_by: 'store',
        },
        { ...of, descriptors: [{ entries: asked, hits: 0, check: true }], code: 'OK', remaining: 1, decided_by: 'store' },
        { ...of, descriptors: [{ entries: asked }], hits: 2, code: 'OVER_LIMIT', remaining: 0, decided_by: 'store' },
        { ...of, descriptors: [{ entries: asked }], hits: 2, code: 'OVER_LIMIT', remaining: 0, decided_by: 'cache' },
        { domain: 'nowhere', descriptors: [{ entries: asked }], hits: 1, code: 'OK', decided_by: 'none' },
        {
          ...of,
          descriptors: [{ entries: [{ key: 'address', value: 'anonymous' }] }],
          code: 'OK',
          rule: 'shop.address',
          remaining: 99,
          decided_by: 'store',
        },
        { ...of, descriptors: [merchant('r')], code: 'OK', remaining: 1, decided_by: 'store' },
        { ...of, descriptors: [merchant('bad')], code: 'OVER_LIMIT', remaining: 0, decided_by: 'block' },
        { ...of, descriptors: [merchant('late')], code: 'OK', remaining: 2, decided_by: 'fallback' },
      ]);
      // Without the store, the time is an estimate.
      const times = lines.filter(({ decided_by: by }) => by === 'store').map(({ time }) => time);
      expect(times).toEqual(times.toSorted());
      expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    } finally {
      client.close();
      await admin.close();
      await redis.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'rotation by size, and by another program with SIGUSR2, lose no line under load',
  async () => {
    const served = await start({ DECISION_LOG_MAX_BYTES: '50000', DECISION_LOG_FILES: '100' });
    const users = usersOf(1_800);
    for (let i = 0; i < users.length; i += 600) {
      await askFor(users.slice(i, i + 600), served);
      renameSync(file, path.join(folder, `moved-${i}`));
      served.kill('SIGUSR2');
      await until(() => readdirSync(folder).includes('decisions.log'));
    }
    expect(await served.stop()).toBe(0);
    expect(readdirSync(folder).length).toBeGreaterThan(6);
    expect(usersIn(linesIn(...readdirSync(folder))).toSorted()).toEqual(users.toSorted());
  },
  TIMEOUT_MS,
);

test(
  'a full disk costs no answer, lines go on in the middle of one when it has room again, and the log says both',
  async () => {
    // Files of this process cannot grow beyond 16 blocks.
    const full = ['/bin/sh', '-c', 'ulimit -S -f 16; exec "$0" dist/main.js serve "$@"', process.execPath] as const;
    const served = await start({}, full);
    const users = usersOf(300);
    await askFor(users.slice(0, 200), served);
    await until(() => served.output().includes('EFBIG'));
    await askFor(users.slice(200), served);
    execFileSync('prlimit', ['--pid', String(served.pid), '--fsize=unlimited:unlimited']);
    await until(() => served.output().includes('is written again'));
    expect(served.output()).toMatch(/cannot be written \(EFBIG[^]*is written again after .* 0 line\(s\) were lost/);
    await until(async () => (await countsOf(served)).written === users.length);
    expect(usersIn(linesIn('decisions.log')).toSorted()).toEqual(users.toSorted());
  },
  TIMEOUT_MS,
);

test(
  'a standard output that nobody reads keeps no call and not the end, and its lines are counted',
  async () => {
    execFileSync('mkfifo', [file]);
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const served = await start({ DECISION_LOG: 'stdout' }, [
      '/bin/sh',
      '-c',
      `exec "$0" dist/main.js serve "$@" >${file}`,
      process.execPath,
    ]);
    // A line takes a chunk of 4,096 bytes, of which the queue has 2,048 and the pipe 16.
    const value = 'x'.repeat(3_600);
    for (let i = 0; i < 5; i += 1) await askFor(Array<string>(520).fill(value), served);
    const { written, lost } = await countsOf(served);
    expect(lost).toBeGreaterThan(400);
    expect(written).toBeLessThan(100);
    expect(served.output()).toContain('the decision log stdout cannot be written');
    expect(await served.stop()).toBe(0);
    closeSync(reader);
  },
  TIMEOUT_MS,
);

test(
  'each worker has its file, which a signal to the parent process renews, or writes whole lines to one pipe',
  async () => {
    const redis = await startRedis();
    const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', WORKERS: '2' };
    const users = usersOf(400);
    try {
      const served = await start(env);
      for (let i = 0; i < users.length; i += 50) await askFor(users.slice(i, i + 50), served);
      await until(async () => (await countsOf(served)).written === users.length);
      const names = readdirSync(folder).toSorted();
      expect(names).toEqual(['decisions.log.worker1', 'decisions.log.worker2']);
      expect(usersIn(linesIn(...names)).toSorted()).toEqual(users.toSorted());
      for (const name of names) renameSync(path.join(folder, name), path.join(folder, `${name}.old`));
      served.kill('SIGUSR2');
      const others = usersOf(400, 'other');
      for (let i = 0; i < others.length; i += 50) await askFor(others.slice(i, i + 50), served);
      await until(async () => (await countsOf(served)).written === users.length + others.length);
      expect(usersIn(linesIn(...readdirSync(folder))).toSorted()).toEqual([...users, ...others].toSorted());
      expect(childPidsOf(served.pid)).toHaveLength(2);
      expect(await served.stop()).toBe(0);

      const inShell = `mkfifo ${file}; cat ${file} >${file}.stdout & exec "$0" dist/main.js serve "$@" >${file}`;
      const piped = await start({ ...env, DECISION_LOG: 'stdout' }, ['/bin/sh', '-c', inShell, process.execPath]);
      const long = users.map((user) => user + 'y'.repeat(300));
      for (let i = 0; i < users.length; i += 50) await askFor(long.slice(i, i + 50), piped);
      await until(async () => (await countsOf(piped)).written === long.length);
      await piped.stop();
      expect(usersIn(linesIn('decisions.log.stdout')).toSorted()).toEqual(long.toSorted());
    } finally {
      await weir?.stop();
      await redis.stop();
    }
  },
  TIMEOUT_MS,
);
