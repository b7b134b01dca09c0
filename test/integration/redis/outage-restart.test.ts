/** A process that is killed and started again while Redis is away goes on with its local share. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { childPidsOf } from '../../support/processes/child-pids';
import { startRedis } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 60_000;
/** 0.8 of the limit, which does not refill within a test. */
const SHARE = 8;
const CONFIG = writeConfig(`
domain: d
descriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 10, algorithm: token_bucket } }]
`);

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-outage-'));
  file = path.join(folder, 'outage');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Redis is at the port, or will be. */
function start(redisPort: number, env: Readonly<Record<string, string>> = {}): Promise<WeirProcess> {
  const REDIS_URL = `redis://127.0.0.1:${redisPort}`;
  return startWeir({
    config: CONFIG,
    env: { REDIS_URL, REDIS_OP_TIMEOUT: '1s', REDIS_CONNECT_TIMEOUT: '100ms', FAILURE_MODE: 'local', FAILURE_MODE_FILE: file, ...env },
  });
}

/** How many of the calls are admitted. */
async function admittedOf({ grpcPort }: WeirProcess, calls: number, value = 'v'): Promise<number> {
  const client = new RlsClient(grpcPort);
  let admitted = 0;
  for (let i = 0; i < calls; i += 1) {
    const { overall_code: code } = await client.ask('d', [{ entries: { k: value } }], { timeoutMs: hangLimitMs(5_000) });
    if (code === OK) admitted += 1;
  }
  client.close();
  return admitted;
}

function usedIn(name: string): number {
  try {
    return Number(/"used":(\d+)/.exec(readFileSync(name, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}

test(
  'a killed process, a drained one and the next admit one share together, and charge it to Redis once',
  async () => {
    const redis = await startRedis();
    redis.kill('SIGKILL');
    const killed = await start(redis.port);
    expect(await admittedOf(killed, 5)).toBe(5);
    await until(() => usedIn(file) === 5);
    killed.kill('SIGKILL');
    await killed.stop();
    const drained = await start(redis.port);
    expect(await admittedOf(drained, 10)).toBe(SHARE - 5);
    expect(await drained.stop()).toBe(0);
    expect([usedIn(file), statSync(file).mode & 0o777]).toEqual([SHARE, 0o600]);

    const charges = await start(redis.port);
    expect(await admittedOf(charges, 5)).toBe(0);
    await redis.restart();
    await until(async () => (await leftIn(charges)) === 10 - SHARE);
    await until(() => usedIn(file) === 0);
    charges.kill('SIGKILL');
    await charges.stop();
    // Nothing is owed any more.
    const next = await start(redis.port);
    await until(async () => (await leftIn(next)) >= 0);
    expect(await leftIn(next)).toBe(10 - SHARE);
    await next.stop();
    await redis.stop();
  },
  TIMEOUT_MS,
);

/** As Redis says; -1 while it does not decide. */
async function leftIn({ grpcPort }: WeirProcess): Promise<number> {
  const client = new RlsClient(grpcPort);
  const { statuses, dynamic_metadata: metadata } = await client.ask('d', [{ entries: { k: 'v' }, hits_addend: { value: '0' } }]);
  client.close();
  return metadata ? -1 : statuses[0]!.limit_remaining;
}

test(
  'each worker goes on with its own file',
  async () => {
    const weir = await start(await freePort(), { WORKERS: '2' });
    // Each worker has half of the share; connections of several clients reach both.
    let admitted = 0;
    for (let i = 0; i < 12; i += 1) admitted += await admittedOf(weir, 3);
    expect(admitted).toBe(SHARE);
    await until(() => usedIn(`${file}.1`) === SHARE / 2 && usedIn(`${file}.2`) === SHARE / 2);
    const [worker] = childPidsOf(weir.pid);
    process.kill(worker!, 'SIGKILL');
    await until(() => weir.output().includes('local shares of 1 bucket(s) go on'));
    for (let i = 0; i < 8; i += 1) expect(await admittedOf(weir, 2)).toBe(0);
    expect(await weir.stop()).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'a file of another program is named in one line of the log and left as it is, and decisions go on',
  async () => {
    writeFileSync(file, 'not of Weir');
    const weir = await start(await freePort());
    expect(await admittedOf(weir, 10)).toBe(SHARE);
    const { status } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`);
    expect(status).toBe(200);
    expect(await weir.stop()).toBe(0);
    expect(weir.output().match(/FAILURE_MODE_FILE .*/g)).toEqual([
      expect.stringContaining(`FAILURE_MODE_FILE ${file} is ignored: it was not written by Weir`),
    ]);
    expect(readFileSync(file, 'utf8')).toBe('not of Weir');
  },
  TIMEOUT_MS,
);
