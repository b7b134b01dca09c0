/** Each supported Node serves as the image starts it, and answers the call in flight at SIGTERM. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { httpRequest } from '../support/clients/http-client';
import { listNodes } from '../support/versions/node-versions';
import { describePinned } from '../support/versions/pinned-versions';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient } from '../support/clients/rls-client';
import { TcpProxy } from '../support/servers/tcp-proxy';
import { writeConfig } from '../support/config/temp-config';
import { until } from '../support/clock/until';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';

const ROOT = path.resolve(__dirname, '..', '..');
const COMMAND = [path.join(ROOT, 'deploy', 'bin', 'weir'), 'serve'] as const;
const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 2 } }]\n');

const ENTRIES = [{ entries: { k: 'v' } }];
const TIMEOUT_MS = 60_000;

/** Weir sends one each second; a call has more. */
const PING_BYTES_MAX = 50;

let redis: RedisServer;
let proxy: TcpProxy;

beforeAll(async () => {
  redis = await startRedis();
  proxy = await TcpProxy.start(redis.port);
});

afterAll(async () => {
  await proxy.stop();
  await redis.stop();
});

test('docs/internals/testing.md names each version of Node', () => {
  const section = readFileSync('docs/internals/testing.md', 'utf8').split('## Versions of Node')[1]!.split('\n## ')[0]!;
  for (const { name } of listNodes()) expect(section).toContain(name.replace('node-', ''));
});

for (const node of listNodes()) {
  describePinned(node, () => {
    const start = (env: Readonly<Record<string, string>>): Promise<WeirProcess> =>
      startWeir({
        command: COMMAND,
        config: CONFIG,
        env: { WEIR_HOME: ROOT, PATH: `${path.dirname(node.binary)}:${process.env.PATH ?? ''}`, ...env },
      });

    test.each(['lean', 'grpc-js'])(
      'the embedded store (%s) admits two, denies the third, and exits with 0 on SIGTERM',
      async (transport) => {
        const weir = await start({ BACKEND_TYPE: 'memory', TRANSPORT: transport });
        const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
        expect(body).toContain(`nodejs_version_info{version="${node.name.replace('node-', 'v')}"`);
        const client = new RlsClient(weir.grpcPort);
        for (const code of [OK, OK, OVER_LIMIT]) expect((await client.ask('d', ENTRIES)).overall_code).toBe(code);
        expect(await weir.stop()).toBe(0);
        client.close();
        expect(weir.output().includes('TRANSPORT=grpc-js: any client can end this process')).toBe(transport === 'grpc-js');
        // Nor does Node warn of anything.
        expect(weir.output()).not.toMatch(/Warning|\(node:/);
      },
      TIMEOUT_MS,
    );

    test.each(['lean', 'grpc-js'])(
      'Redis (%s) decides, and SIGTERM waits for the call in flight',
      async (transport) => {
        const env = {
          REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
          CACHE_KEY_PREFIX: `${node.name}-${transport}/`,
          REDIS_OP_TIMEOUT: '1s',
          FAILURE_MODE: 'open',
          TRANSPORT: transport,
        };
        const weir = await start(env);
        const client = new RlsClient(weir.grpcPort);
        const first = await client.ask('d', ENTRIES);
        expect([first.overall_code, first.dynamic_metadata ?? null]).toEqual([OK, null]);
        // On a busy machine it may take longer than a call may wait until Redis goes on: then it is let pass.
        redis.kill('SIGSTOP');
        const bytesBefore = proxy.bytesFromClients;
        const askedMs = performance.now();
        const inFlight = client.ask('d', ENTRIES);
        await until(() => proxy.bytesFromClients > bytesBefore + PING_BYTES_MAX);
        const exitCode = weir.stop();
        await until(() => weir.output().includes('SIGTERM: health is off'));
        redis.kill('SIGCONT');
        const { overall_code: code, dynamic_metadata: fallback } = await inFlight;
        expect(code).toBe(OK);
        expect(!fallback || performance.now() - askedMs > 1_000).toBe(true);
        expect(await exitCode).toBe(0);
        client.close();
        expect(weir.output()).not.toMatch(/Warning|\(node:/);
      },
      TIMEOUT_MS,
    );
  });
}
