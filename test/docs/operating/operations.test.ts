/** The commands of docs/operations.md run, and its backup restores control data into an empty Redis. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { OVER_LIMIT, OK, RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { fencedBlocks } from '../../support/docs/markdown';
import { runCommand, type CommandResult } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';

const PAGE = 'docs/operations.md';
const MAIN = path.resolve('dist', 'main.js');
const [metrics, backup, restore, health, ...others] = fencedBlocks(PAGE, 'sh') as [string, string, string, string];
const LIMITS = writeConfig('domain: d\ndescriptors: [{ key: client, rate_limit: { unit: day, requests_per_unit: 1000 } }]\n');

const folder = mkdtempSync(path.join(tmpdir(), 'weir-operations-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('the commands of docs/operations.md are those that this test runs', () => {
  expect([metrics, backup, restore, health].map((block) => block.split(' ')[0])).toEqual(['curl', 'redis-cli', 'redis-server', 'curl']);
  expect(others).toEqual([]);
});

test('the commands of docs/operations.md show the signals, back up control data and bring them back into an empty Redis', async () => {
  // A snapshot over the network would wait 5 s for further readers.
  const redis = await startRedis({ config: ['--repl-diskless-sync-delay', '0'] });
  const adminPort = await freePort();
  const spare = await freePort();
  const start = () =>
    startWeir({
      config: LIMITS,
      env: {
        ...{ REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', CONTROL_DATA: 'true' },
        ...{ ADMIN_PORT: String(adminPort), ADMIN_AUTH: 'off', ADMIN_HOST: '127.0.0.1' },
      },
    });
  let weir: WeirProcess = await start();

  /** As an operator would, with the ports of this test. */
  const sh = (command: string): Promise<CommandResult> => {
    const here = command
      .replaceAll('localhost:6070', `127.0.0.1:${weir.debugPort}`)
      .replaceAll('localhost:8080', `127.0.0.1:${weir.httpPort}`)
      .replaceAll('-h redis -p 6379', `-h 127.0.0.1 -p ${redis.port}`)
      .replaceAll('migrate redis 6379', `migrate 127.0.0.1 ${redis.port}`)
      .replaceAll('6390', String(spare));
    return runCommand('sh', ['-ec', `weir() { "${process.execPath}" "${MAIN}" "$@"; }\n${here}`], {
      cwd: folder,
      // redis-cli is beside redis-server.
      env: {
        PATH: [path.dirname(process.env.WEIR_REDIS_SERVER ?? '/'), process.env.PATH].join(':'),
        WEIR_ADMIN_URL: `http://127.0.0.1:${adminPort}`,
      },
    });
  };
  const codeOf = async (client: string): Promise<number> => {
    const connection = new RlsClient(weir.grpcPort);
    const { overall_code: code } = await connection.ask('d', [{ entries: { client } }]);
    connection.close();
    return code;
  };

  try {
    expect(await sh(metrics)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /process_cpu_seconds_total[\s\S]*nodejs_eventloop_lag_p99_seconds|nodejs_eventloop_lag_p99_seconds[\s\S]*process_cpu_seconds_total/,
      ) as string,
    });
    // The admin API opens a moment after the other ports.
    await until(async () => (await sh('weir block set abuse --domain d --entries client=evil --reason test')).exitCode === 0);
    await until(async () => (await codeOf('evil')) === OVER_LIMIT);
    expect(await sh(backup)).toMatchObject({ exitCode: 0 });
    // Nobody remembers: Redis is empty, and the instance is a new one.
    await weir.stop();
    await redis.restart();
    weir = await start();
    expect(await codeOf('evil')).toBe(OK);
    expect(await sh(restore)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('OK') as string });
    await until(async () => (await codeOf('evil')) === OVER_LIMIT);
    expect(await codeOf('good')).toBe(OK);
    expect(await sh(health)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^OK\s*$/) as string });
  } finally {
    // Of a restore that failed half-way.
    await sh('redis-cli -p 6390 shutdown nosave 2>/dev/null || true');
    writeFileSync(path.join(folder, 'done'), '');
    await weir.stop();
    await redis.stop();
  }
}, 120_000);
