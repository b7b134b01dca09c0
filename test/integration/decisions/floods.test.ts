/** A used-up limit stays used up through 120,000 fresh keys, in a process without Redis too. */

import { httpRequest } from '../../support/clients/http-client';
import { isLong } from '../../support/random/form';
import { freePort } from '../../support/servers/ports';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 120_000;
const CALL = { timeoutMs: hangLimitMs(30_000) };

/** Buckets of one request, and requests under way at once. */
const AT_ONCE = 100;
const REQUESTS = 8;

const CONFIG = writeConfig(`
domain: d
descriptors:
  - { key: login, rate_limit: { unit: day, requests_per_unit: 5 } }
  # Buckets that are full again before the flood ends would not be evicted.
  - { key: address, rate_limit: { unit: day, requests_per_unit: 100 } }
  - { key: code, rate_limit: { unit: day, requests_per_unit: 1 } }
`);

let weir: WeirProcess;
let client: RlsClient;
let asked = 0;

async function start(env: Readonly<Record<string, string>>): Promise<void> {
  weir = await startWeir({ config: CONFIG, env });
  client = new RlsClient(weir.grpcPort);
}

afterEach(async () => {
  client.close();
  await weir.stop();
});

/** How many of ten logins of one user are admitted. */
async function loginsOf(user: string): Promise<number> {
  let admitted = 0;
  for (let i = 0; i < 10; i += 1) if ((await client.ask('d', [{ entries: { login: user } }], CALL)).overall_code === OK) admitted += 1;
  return admitted;
}

/** Asks once for each of a number of new values. */
async function flood(key: string, values: number): Promise<void> {
  let left = values;
  const ask = async (): Promise<void> => {
    while (left > 0) {
      left -= AT_ONCE;
      const descriptors = Array.from({ length: AT_ONCE }, () => ({ entries: { [key]: `fresh-${(asked += 1)}` } }));
      await client.ask('d', descriptors, CALL);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS }, ask));
}

async function metric(name: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(body)?.[1]);
}

test(
  'the embedded store keeps a used-up limit through fresh keys, and reports evictions when used-up limits flood it',
  async () => {
    const buckets = isLong ? 1_000_000 : 10_000;
    await start({ BACKEND_TYPE: 'memory', MEMORY_BUCKETS_MAX: String(buckets) });
    expect(await loginsOf('alice')).toBe(5);
    await flood('address', 1.5 * buckets);
    expect(await loginsOf('alice')).toBe(0);
    expect(await metric('weir_memory_store_evictions_total')).toBeGreaterThanOrEqual(0.5 * buckets);
    expect(await metric('weir_memory_store_used_up_evictions_total')).toBe(0);
    expect(weir.output()).toMatch(/the memory store is full: since the start it evicted \d+ partly used buckets/);
    await flood('code', 1.5 * buckets);
    expect(await loginsOf('alice')).toBe(5);
    expect(await metric('weir_memory_store_used_up_evictions_total')).toBeGreaterThan(0);
    expect(weir.output()).toMatch(/the memory store is full: since the start it evicted \d+ used-up limits/);
  },
  TIMEOUT_MS,
);

test(
  'mode local without Redis keeps 5 a day to its share through 120,000 fresh keys',
  async () => {
    await start({
      BACKEND_TYPE: 'redis',
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
      REDIS_CONNECT_TIMEOUT: '100ms',
      FAILURE_MODE: 'local',
    });
    let admitted = 0;
    for (let round = 0; round < (isLong ? 4 : 1); round += 1) {
      admitted += await loginsOf('alice');
      await flood('address', 120_000);
    }
    admitted += await loginsOf('alice');
    expect(admitted).toBe(4);
  },
  TIMEOUT_MS,
);
