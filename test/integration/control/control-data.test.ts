/** A full disk under `CONTROL_FILE` rejects and logs the write, and what was acknowledged survives a restart. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openControlFile } from '../../../src/state/control/file/control-file';
import { readRecord } from '../../../src/state/control/read-record';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { instanceOnRedis, NOTE } from '../../support/control/control-harness';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { startRedis } from '../../support/redis/redis-server';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { freePort } from '../../support/servers/ports';
import { writeConfig } from '../../support/config/temp-config';

const CONFIG = `
domain: shop
descriptors:
  - key: merchant
    rate_limit: { unit: hour, requests_per_unit: 100 }
`;

const BLOCK = readRecord({ kind: 'block', domain: 'shop', id: 'b', entries: [{ key: 'merchant', value: 'müller' }] });

const config = writeConfig(CONFIG);

async function statusOf({ httpPort }: WeirProcess, merchant: string): Promise<number> {
  const body = { domain: 'shop', descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] };
  return (await httpRequest(`http://127.0.0.1:${httpPort}/json`, { body })).status;
}

const healthOf = async ({ httpPort }: WeirProcess) => (await httpRequest(`http://127.0.0.1:${httpPort}/healthcheck`)).body;
const metricsOf = async ({ debugPort }: WeirProcess) => (await httpRequest(`http://127.0.0.1:${debugPort}/metrics`)).body;

test('a block is in force in every worker within a second, and holds while Redis is away', async () => {
  const redis = await startRedis();
  const weir = await startWeir({
    config,
    env: { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', WORKERS: '2', FAILURE_MODE: 'local' },
  });
  const admin = await instanceOnRedis(redis.port);
  try {
    expect(await statusOf(weir, 'müller')).toBe(200);
    await admin.store.write({ changes: [{ put: BLOCK }], audit: NOTE });
    // Connections are spread over the workers: a run of denials that long comes from both.
    await until(
      async () => {
        for (let i = 0; i < 10; i += 1) if ((await statusOf(weir, 'müller')) !== 429) return false;
        return true;
      },
      { timeoutMs: 5_000 },
    );
    expect(await statusOf(weir, 'other')).toBe(200);
    expect(await metricsOf(weir)).toMatch(/weir_control_records\{kind="block"\} 1\n[^]*weir_control_decisions_total\{kind="block"\} \d{2}/);
    redis.kill('SIGKILL');
    await until(async () => (await healthOf(weir)).includes('control: stale'));
    expect(await statusOf(weir, 'müller')).toBe(429);
    expect(await statusOf(weir, 'other')).toBe(200);
    await redis.restart();
    await until(async () => (await healthOf(weir)).includes('control: lost by redis'));
    expect(await statusOf(weir, 'müller')).toBe(429);
    expect(weir.output()).toContain('Redis lost control data: this instance keeps 1 records in force, and Redis lacks 0 of its own');
  } finally {
    await admin.close();
    await weir.stop();
    await redis.stop();
  }
});

test('records of CONTROL_FILE are in force from the start', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-control-'));
  const file = path.join(folder, 'control');
  const store = await openControlFile({ path: file, nowUs: () => Date.now() * 1_000, onTorn: () => undefined });
  await store.write({ changes: [{ put: BLOCK }], audit: NOTE });
  await store.close();
  const weir = await startWeir({ config, env: { BACKEND_TYPE: 'memory', CONTROL_FILE: file } });
  try {
    expect([await statusOf(weir, 'müller'), await statusOf(weir, 'other')]).toEqual([429, 200]);
  } finally {
    await weir.stop();
    rmSync(folder, { recursive: true });
  }
});

test('a full disk under CONTROL_FILE refuses the write with the reason, logs it, and keeps what was acknowledged', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-control-'));
  const [file, tokens, port] = [path.join(folder, 'control'), path.join(folder, 'tokens'), await freePort()];
  writeFileSync(tokens, tokenLine('ann', 'admin', TOKENS.admin));
  const env = { BACKEND_TYPE: 'memory', CONTROL_FILE: file, ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: tokens };
  const call = (request: AdminRequest) => callAdmin(`http://127.0.0.1:${port}`, { token: TOKENS.admin, ...request });
  const ready = () =>
    call({ path: '/v1/whoami' }).then(
      ({ status }) => status === 200,
      () => false,
    );
  // Files of this process cannot grow beyond 8 blocks.
  const full: readonly [string, ...string[]] = ['/bin/sh', '-c', 'ulimit -f 8; exec "$0" dist/main.js serve "$@"', process.execPath];
  let weir = await startWeir({ config, env, command: full });
  const blocks: string[] = [];
  try {
    await until(ready);
    let refusal: string | undefined;
    for (let i = 0; i < 200 && refusal === undefined; i += 1) {
      const body = { entries: [{ key: 'merchant', value: `${i}` }], reason: 'x'.repeat(200) };
      const { status, body: reply } = await call({ method: 'PUT', path: `/v1/blocks/shop/b${i}`, body });
      if (status === 200) blocks.push(`b${i}`);
      else {
        expect(status).toBe(503);
        refusal = reply;
      }
    }
    expect(refusal).toContain('cannot be written (EFBIG), so nothing has changed; free its disk, then repeat the write');
    expect(weir.output()).toMatch(/ERROR: CONTROL_FILE .* cannot be written \(EFBIG\), so nothing has changed/);
    expect(await statusOf(weir, '0')).toBe(429);
    expect(await statusOf(weir, `${blocks.length}`)).toBe(200);
    await weir.stop();
    weir = await startWeir({ config, env });
    await until(ready);
    const { json } = await call({ path: '/v1/blocks', query: 'limit=100' });
    expect((json as { items: readonly { id: string }[] }).items.map(({ id }) => id).sort()).toEqual(blocks.toSorted());
  } finally {
    await weir.stop();
    rmSync(folder, { recursive: true });
  }
});
