/** The warm-up leaves metrics, buckets and limits untouched. */

import { httpRequest } from '../../support/clients/http-client';
import { startRedis } from '../../support/redis/redis-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { TRANSPORTS } from '../../support/servers/transport-harness';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig(
  'domain: warm-up\ndescriptors: [{ key: token_bucket, descriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 3 } }] }]\n',
);

/** Sums of what Weir counts of itself, without Node's own and what is no count. */
async function counted(weir: WeirProcess): Promise<Record<string, number>> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  expect(body).toContain('weir_build_info');
  const samples = Array.from(
    body.matchAll(/^((?:ratelimit|weir)_\w+)(?:\{[^}]*\})? (\S+)$/gm),
    ([, name = '', value]) => [name, Number(value)] as const,
  );
  const notCounts =
    /^(?:weir_build_info|weir_heap_limit_bytes|weir_start_time_seconds|weir_instances|weir_config_.*|weir_rule_limit.*|ratelimit_service_config_load_success)$/;
  return Object.fromEntries(samples.filter(([name, value]) => value !== 0 && !notCounts.test(name)));
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('the warm-up makes calls without a trace in metrics, buckets and limits', async () => {
    const weir = await startWeir({
      config: CONFIG,
      env: { BACKEND_TYPE: 'memory', TRANSPORT: transport, LOG_LEVEL: 'debug', WARM_UP: 'true' },
    });
    expect(Number(/warmed up by (\d+) calls/.exec(weir.output())?.[1])).toBeGreaterThan(0);
    expect(await counted(weir)).toEqual({});
    // The very limit that the warm-up counts by, under the same name.
    const client = new RlsClient(weir.grpcPort);
    const answer = await client.ask('warm-up', [{ entries: { token_bucket: '', user: 'user-0' } }]);
    expect(answer).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 2 }] });
    expect(await counted(weir)).toMatchObject({ ratelimit_service_total_requests: 1, weir_memory_store_buckets: 1 });
    client.close();
    await weir.stop();
  });

  test('the warm-up sends nothing to Redis', async () => {
    const redis = await startRedis();
    const weir = await startWeir({
      config: CONFIG,
      env: { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, TRANSPORT: transport, LOG_LEVEL: 'debug', WARM_UP: 'true' },
    });
    expect(weir.output()).toContain('warmed up by');
    expect(Object.keys(await counted(weir)).filter((name) => name.startsWith('weir_store'))).toEqual([]);
    await weir.stop();
    await redis.stop();
  });

  test('WARM_UP=false skips the warm-up', async () => {
    const weir = await startWeir({
      config: CONFIG,
      env: { BACKEND_TYPE: 'memory', TRANSPORT: transport, LOG_LEVEL: 'debug', WARM_UP: 'false' },
    });
    expect(weir.output()).not.toContain('warmed up');
    await weir.stop();
  });
});
