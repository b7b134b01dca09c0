/** A changed limit keeps the used hits, while instances with both versions alternate. */

import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

/** Limits per year, so that nothing comes back within the test. */
function configOf(limit: number): string {
  const rule = (algorithm: string) => {
    const burst = algorithm === 'leaky_bucket' ? `, burst: ${limit - 1}` : '';
    return `  - key: ${algorithm}\n    rate_limit: { unit: year, requests_per_unit: ${limit}${burst}, algorithm: ${algorithm} }`;
  };
  return writeConfig(`domain: d\ndescriptors:\n${ALGORITHMS.map(rule).join('\n')}\n`);
}

let redis: RedisServer;
let processes: WeirProcess[];
let clients: Record<'five' | 'ten' | 'twenty', RlsClient>;

beforeAll(async () => {
  redis = await startRedis();
  const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  processes = await Promise.all([5, 10, 20].map((limit) => startWeir({ config: configOf(limit), env })));
  const [five, ten, twenty] = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
  clients = { five: five!, ten: ten!, twenty: twenty! };
});

afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await Promise.all(processes.map((process) => process.stop()));
  await redis.stop();
});

test.each(ALGORITHMS)('%s: all instances compute the remaining hits as the new limit less the used hits', async (algorithm) => {
  const ask = async (limit: keyof typeof clients, hits: number) => {
    const response = await clients[limit].ask('d', [{ entries: { [algorithm]: 'v' }, hits_addend: { value: String(hits) } }]);
    return [response.overall_code, response.statuses[0]!.limit_remaining];
  };
  expect(await ask('ten', 8)).toEqual([OK, 2]);
  expect(await ask('twenty', 0)).toEqual([OK, 12]);
  expect(await ask('five', 0)).toEqual([OVER_LIMIT, 0]);
  expect(await ask('five', 1)).toEqual([OVER_LIMIT, 0]);
  expect(await ask('ten', 2)).toEqual([OK, 0]);
  expect(await ask('twenty', 10)).toEqual([OK, 0]);
  expect(await ask('ten', 1)).toEqual([OVER_LIMIT, 0]);
  expect(await ask('twenty', 0)).toEqual([OVER_LIMIT, 0]);
});
