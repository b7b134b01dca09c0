/** Checks and usage reports work over gRPC, `/json` and the command line, on both stores. */

import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { RlsClient } from '../../support/clients/rls-client';
import { runWeir } from '../../support/processes/command';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const LIMITS = `domain: d
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 21, algorithm: fixed_window OVERDRAFT }
  - key: team
    rate_limit: { unit: year, requests_per_unit: 1000, algorithm: fixed_window OVERDRAFT }
`;
const WITH_OVERDRAFT = LIMITS.replaceAll('OVERDRAFT', ', overdraft: true');
const WITHOUT = LIMITS.replaceAll('OVERDRAFT', '');

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

async function withWeir(
  options: Parameters<typeof startWeir>[0],
  use: (asking: { weir: WeirProcess; client: RlsClient }) => Promise<void>,
): Promise<void> {
  const weir = await startWeir(options);
  const client = new RlsClient(weir.grpcPort);
  try {
    await use({ weir, client });
  } finally {
    client.close();
    await weir.stop();
  }
}

/** Answers of requests as Envoy Gateway makes them: a check before, the cost of 10 after, whose answer nobody reads. */
async function askByCost(client: RlsClient, requests: number): Promise<number[]> {
  const answers: number[] = [];
  for (let i = 0; i < requests; i += 1) {
    const { overall_code: code } = await client.ask('d', [{ entries: { user: 'ann' }, hits_addend: { value: '0' } }]);
    answers.push(code === 1 ? 200 : 429);
    if (code === 1)
      await client.ask('d', [
        { entries: { user: 'ann' }, hits_addend: { value: '10' } },
        { entries: { team: 'red' }, hits_addend: { value: '10' } },
      ]);
  }
  return answers;
}

describe.each([
  ['the embedded store', () => ({})],
  ['Redis', () => ({ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `localhost:${redis.port}`, REDIS_OP_TIMEOUT: '1s' })],
])('on %s', (_store, env) => {
  test('a limit of 21 admits three requests of cost 10, then none, and charges every cost', async () => {
    await withWeir({ config: writeConfig(WITH_OVERDRAFT), env: { ...env(), CACHE_KEY_PREFIX: 'a:' } }, async ({ weir, client }) => {
      expect(await askByCost(client, 6)).toEqual([200, 200, 200, 429, 429, 429]);
      const [team] = (await client.ask('d', [{ entries: { team: 'red' }, hits_addend: { value: '0' } }])).statuses;
      expect(team?.limit_remaining).toBe(970);
      const metrics = (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body;
      expect(metrics).toContain('weir_overdraft_hits_total{domain="d",key1="user"} 9');
      expect(metrics).not.toContain('weir_overdraft_cut_hits_total{');
    });
  });

  test('/json and weir ask --hits 0 are checks too', async () => {
    await withWeir({ config: writeConfig(WITH_OVERDRAFT), env: { ...env(), CACHE_KEY_PREFIX: 'b:' } }, async ({ weir }) => {
      const ask = (hitsAddend: number) =>
        httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, {
          method: 'POST',
          body: JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'user', value: 'bob' }], hitsAddend }] }),
        });
      expect([(await ask(0)).status, (await ask(50)).status, (await ask(0)).status]).toEqual([200, 429, 429]);
      const { exitCode, stdout } = await runWeir([
        'ask',
        '--address',
        `127.0.0.1:${weir.grpcPort}`,
        '--domain',
        'd',
        '--descriptor',
        'user=bob',
        '--hits',
        '0',
      ]);
      expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { overallCode: 'OVER_LIMIT' }]);
      const metrics = (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body;
      expect(metrics).toContain('weir_overdraft_cut_hits_total{domain="d",key1="user"} 8');
    });
  });
});

test('a configuration from RUNTIME_ROOT takes reports by default, one from --config does not', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-usage-'));
  mkdirSync(join(root, 'config'));
  writeFileSync(join(root, 'config', 'limits.yaml'), WITHOUT);
  cpSync(join(root, 'config', 'limits.yaml'), join(root, 'limits.yaml'));
  const env = {
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `localhost:${redis.port}`,
    REDIS_OP_TIMEOUT: '1s',
    RUNTIME_ROOT: root,
    RUNTIME_SUBDIRECTORY: '',
    RUNTIME_APPDIRECTORY: 'config',
  };
  await withWeir({ env: { ...env, CACHE_KEY_PREFIX: 'c:' } }, async ({ weir, client }) => {
    expect(await askByCost(client, 4)).toEqual([200, 200, 200, 429]);
    expect(weir.output()).toContain("a descriptor's own hits are charged in full");
  });
  await withWeir({ env: { ...env, CACHE_KEY_PREFIX: 'd:', DEFAULT_OVERDRAFT: 'false' } }, async ({ client }) => {
    // The third cost does not fit into 1, and is not charged.
    expect(await askByCost(client, 5)).toEqual([200, 200, 200, 200, 200]);
  });
  await withWeir({ config: join(root, 'limits.yaml') }, async ({ client }) => {
    expect(await askByCost(client, 5)).toEqual([200, 200, 200, 200, 200]);
  });
});
