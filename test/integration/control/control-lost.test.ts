/** A lost hash of records is reported by log, health and metrics, and the records stay in force where they were known. */

import path from 'node:path';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { instanceOnRedis, NOTE } from '../../support/control/control-harness';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';

const CONFIG = path.resolve(__dirname, '..', '..', '..', 'deploy', 'tenants', 'payments.yaml');
const BLOCKS = 'weir:control:1{weir:control}record:block';
const LOST = 'control: lost by redis';

const follow = (port: number) =>
  startWeir({
    config: CONFIG,
    env: { REDIS_URL: `127.0.0.1:${port}`, REDIS_OP_TIMEOUT: '1s', CONTROL_DATA: 'true', LOG_FORMAT: 'json' },
  });

async function healthOf({ httpPort }: WeirProcess): Promise<{ readonly status: number; readonly body: string }> {
  const { status, body } = await httpRequest(`http://127.0.0.1:${httpPort}/healthcheck`);
  return { status, body };
}

/** Records that this process keeps although Redis lost them, and records that Redis lacks of its own. */
async function lostOf({ debugPort }: WeirProcess): Promise<readonly number[]> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return ['lost', 'missing'].map((name) => Number(new RegExp(`^weir_control_${name}_records (\\d+)$`, 'm').exec(body)?.[1]));
}

const linesOf = (weir: WeirProcess, code: string) =>
  weir
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter((line) => line.code === code);

async function statusOf({ httpPort }: WeirProcess, merchant: string): Promise<number> {
  const body = { domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] };
  return (await httpRequest(`http://127.0.0.1:${httpPort}/json`, { body })).status;
}

test('a deleted key of records is one line of the log, shown by health and metrics also after a restart, until a restore', async () => {
  const redis = await startRedis();
  const client = await makeTestClient(redis.port).connect();
  const writer = await instanceOnRedis(redis.port);
  await writer.follower.start({ waitMs: 10_000 });
  const block = (value: string) => ({
    put: { kind: 'block', domain: 'payments', id: value, entries: [{ key: 'merchant', value }] } as const,
  });
  await writer.service.write({ changes: [block('m'), block('n')], audit: NOTE });
  const knows = await follow(redis.port);
  await until(async () => (await statusOf(knows, 'm')) === 429);
  expect([await lostOf(knows), await healthOf(knows)]).toEqual([[0, 0], { status: 200, body: 'OK' }]);

  await client.sendCommand(['DEL', BLOCKS]);
  await until(async () => (await healthOf(knows)).body.includes(LOST));
  const starts = await follow(redis.port);
  await until(async () => (await healthOf(starts)).body.includes(LOST));
  // One goes on with them, and the other never knew them; both say what Redis lacks.
  expect([await statusOf(knows, 'm'), await statusOf(starts, 'm')]).toEqual([429, 200]);
  expect([await lostOf(knows), await lostOf(starts)]).toEqual([
    [2, 2],
    [0, 2],
  ]);
  for (const [weir, records] of [
    [knows, 2],
    [starts, 0],
  ] as const) {
    const [line, ...more] = linesOf(weir, 'control_lost');
    expect([line, more]).toMatchObject([{ level: 'error', records, missing: 2 }, []]);
    expect(line?.['@message']).toContain('restore or discard');
    expect((await healthOf(weir)).status).toBe(200);
  }

  expect(await writer.service.restore(NOTE)).toBe(2);
  for (const weir of [knows, starts]) {
    await until(async () => (await healthOf(weir)).body === 'OK');
    expect(await lostOf(weir)).toEqual([0, 0]);
    expect(linesOf(weir, 'control_synced')).toHaveLength(1);
    await until(async () => (await statusOf(weir, 'm')) === 429);
  }
  expect([linesOf(knows, 'control_lost').length, linesOf(starts, 'control_lost').length]).toEqual([1, 1]);
  await Promise.all([knows.stop(), starts.stop()]);
  await writer.close();
  client.destroy();
  await redis.stop();
}, 60_000);
