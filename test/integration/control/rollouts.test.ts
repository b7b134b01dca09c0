/** Three instances enforce a candidate for the same share of keys, an operator steps it back on all of them, and a guard does so once. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { figure } from '../../support/docs/figure';
import { runWeir } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';

const TIMEOUT_MS = 120_000;
const KEYS = 1_500;
const PERCENT = 25;
const AT_ONCE = 500;

/** Under the candidate a second hit of a key is denied, under the limit none. */
const CONFIG = `
domain: shop
descriptors:
  - key: merchant
    rate_limit:
      unit: year
      requests_per_unit: 1000000
      candidate: { requests_per_unit: 1, rollout: { by: merchant, percent: ${PERCENT} } }
  - key: client
    rate_limit:
      unit: year
      requests_per_unit: 1000000
      candidate: { requests_per_unit: 1, rollout: { by: client, percent: 0, stop_if: { denied_above: 2%, for: 1s } } }
`;

let folder: string;
let redis: RedisServer;
let weirs: readonly WeirProcess[];
let clients: readonly RlsClient[];
let connection: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-rollouts-'));
  const config = path.join(folder, 'limits.yaml');
  writeFileSync(config, CONFIG);
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
  writeFileSync(path.join(folder, 'admin'), `${TOKENS.admin}\n`);
  redis = await startRedis();
  const port = await freePort();
  const env = { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', REDIS_OP_TIMEOUT: '1s', TOP_KEYS: 'true' };
  const admin = { ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: path.join(folder, 'tokens') };
  weirs = await Promise.all(
    [0, 1, 2].map((i) => startWeir({ config, env: { ...env, ...(i === 0 && admin), ...(i === 2 && { WORKERS: '2' }) } })),
  );
  clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
  connection = { WEIR_ADMIN_URL: `http://127.0.0.1:${port}`, WEIR_ADMIN_TOKEN_FILE: path.join(folder, 'admin') };
}, TIMEOUT_MS);

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all(weirs.map((weir) => weir.stop()));
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function weir(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runWeir(args, { env: connection });
  expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' });
  return stdout;
}

async function statusOf(rule: string): Promise<Readonly<Record<string, unknown>>> {
  const { items } = JSON.parse(await weir('rollout', 'status', '--domain', 'shop', '--rule', rule, '--json')) as {
    items: Readonly<Record<string, unknown>>[];
  };
  return items[0] ?? {};
}

async function codeOf(client: RlsClient | undefined, [key, value]: readonly [string, string], hits: number): Promise<unknown> {
  if (client === undefined) throw new Error('no client');
  const { overall_code: code } = await client.ask('shop', [{ entries: { [key]: value }, hits_addend: { value: String(hits) } }]);
  return code;
}

/** The keys whose hits are over the limit at one instance. */
async function deniedAt(client: RlsClient | undefined, hits: number): Promise<ReadonlySet<number>> {
  const denied = new Set<number>();
  for (let at = 0; at < KEYS; at += AT_ONCE) {
    const codes = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => codeOf(client, ['merchant', `m${at + i}`], hits)));
    codes.forEach((code, i) => {
      if (code === OVER_LIMIT) denied.add(at + i);
    });
  }
  return denied;
}

test(
  'the same keys are in the stage of every instance, within 1 percent of what was asked',
  async () => {
    const [first = new Set<number>(), ...others] = await Promise.all(clients.map((client) => deniedAt(client, 2)));
    const share = (100 * first.size) / KEYS;
    figure(`${PERCENT} % asked, ${share.toFixed(2)} % of ${KEYS} keys are in the stage, the same at three instances`);
    expect(Math.abs(share - PERCENT)).toBeLessThan(1);
    for (const other of others) expect(other).toEqual(first);
    // More percent keep those that are in; 0 percent end the stage everywhere.
    expect(await weir('rollout', 'step', 'merchant', '--domain', 'shop', '--percent', '50', '--reason', 'looks good')).toContain(
      '25 % -> 50 %',
    );
    const inFirst = [...first][0] ?? 0;
    await Promise.all(
      clients.map(async (client) => {
        let wider: ReadonlySet<number> = new Set();
        await until(async () => (wider = await deniedAt(client, 2)).size > 1.8 * first.size);
        expect([...first].filter((key) => !wider.has(key))).toEqual([]);
      }),
    );
    expect(await weir('rollout', 'stop', 'merchant', '--domain', 'shop', '--reason', 'enough')).toContain('taken back: 50 % -> 0 %');
    const stoppedAt = performance.now();
    await Promise.all(clients.map((client) => until(async () => (await codeOf(client, ['merchant', `m${inFirst}`], 2)) === OK)));
    figure(`out of force at three instances ${(performance.now() - stoppedAt).toFixed(0)} ms after the command`);
    expect(await statusOf('merchant')).toMatchObject({ percent: 0, stopped: true, reason: 'enough', author: 'ann' });
  },
  TIMEOUT_MS,
);

test(
  'of two operators at one version the second is refused, and a rollout that was taken back needs a start',
  async () => {
    const { version } = (await statusOf('merchant')) as { version: number };
    const start = (percent: string) =>
      runWeir(['rollout', 'start', 'merchant', '--domain', 'shop', '--percent', percent, '--if-match', String(version)], {
        env: connection,
      });
    const both = await Promise.all([start('10'), start('20')]);
    expect(both.map(({ exitCode }) => exitCode).sort()).toEqual([0, 1]);
    expect(both.map(({ stderr }) => stderr).join('')).toContain('refused with 412');
    await weir('rollout', 'stop', 'merchant', '--domain', 'shop');
    const step = await runWeir(['rollout', 'step', 'merchant', '--domain', 'shop', '--percent', '30'], { env: connection });
    expect(step).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('weir rollout start begins it again') as string });
  },
  TIMEOUT_MS,
);

test(
  'the guard takes a stage back once over all instances, and an instance that starts later keeps to it',
  async () => {
    await weir('rollout', 'start', 'client', '--domain', 'shop', '--percent', '100', '--reason', 'all');
    let asked = 0;
    // Each client asks for the second time: all is denied.
    await until(
      async () => {
        asked += 1;
        await Promise.all(clients.map((client) => codeOf(client, ['client', `c${asked}`], 50)));
        return (await statusOf('client')).stopped === true;
      },
      { timeoutMs: 30_000 },
    );
    const status = await statusOf('client');
    expect(status).toMatchObject({
      percent: 0,
      author: 'guard',
      reason: expect.stringMatching(/^100\.00% of \d+ hits denied within 1s, above 2%$/) as string,
    });
    const audit = await weir('audit', 'list', '--author', 'guard', '--kind', 'rollout', '--json');
    expect((JSON.parse(audit) as { items: unknown[] }).items).toHaveLength(1);
    expect(weirs.map((each) => each.output().split('was taken back').length - 1).sort()).toEqual([0, 0, 1]);
    const stops = await Promise.all(
      weirs.map(async ({ debugPort }) => {
        const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
        return Number(/^weir_rollout_guard_stops_total (\d+)$/m.exec(body)?.[1]);
      }),
    );
    expect(stops.reduce((sum, each) => sum + each, 0)).toBe(1);
    const late = await startWeir({
      config: path.join(folder, 'limits.yaml'),
      env: { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', REDIS_OP_TIMEOUT: '1s' },
    });
    const client = new RlsClient(late.grpcPort);
    expect(await codeOf(client, ['client', 'late'], 2)).toBe(OK);
    client.close();
    await late.stop();
  },
  TIMEOUT_MS,
);

test(
  'the embedded store counts a rollout too, and a restart keeps it as the guard left it',
  async () => {
    const port = await freePort();
    const env = {
      BACKEND_TYPE: 'memory',
      CONTROL_FILE: path.join(folder, 'control'),
      ADMIN_PORT: String(port),
      ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
    };
    const embedded = { ...connection, WEIR_ADMIN_URL: `http://127.0.0.1:${port}` };
    const config = path.join(folder, 'limits.yaml');
    const status = async () => {
      const { stdout } = await runWeir(['rollout', 'status', '--rule', 'client', '--json'], { env: embedded });
      return (JSON.parse(stdout) as { items: Readonly<Record<string, unknown>>[] }).items[0];
    };
    let alone = await startWeir({ config, env });
    let client = new RlsClient(alone.grpcPort);
    try {
      await runWeir(['rollout', 'start', 'client', '--domain', 'shop', '--percent', '100'], { env: embedded });
      await until(
        async () => {
          await codeOf(client, ['client', 'c'], 200);
          return (await status())?.stopped === true;
        },
        { timeoutMs: 30_000 },
      );
      client.close();
      await alone.stop();
      alone = await startWeir({ config, env });
      client = new RlsClient(alone.grpcPort);
      expect(await status()).toMatchObject({ percent: 0, stopped: true, author: 'guard', candidate: { hits: 0 } });
      expect(await codeOf(client, ['client', 'c'], 2)).toBe(OK);
    } finally {
      client.close();
      await alone.stop();
    }
  },
  TIMEOUT_MS,
);
