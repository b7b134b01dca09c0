/** Envoy Gateway's example with a limit of 21 and costs of 10 works from a file and a management server. */
import { join } from 'node:path';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { XdsServer } from '../../support/servers/xds-server';
import { bearer } from '../chain/tokens';
import { startUsageChain, STORES, type UsageChain, type UsageChainOptions } from '../chain/usage-chain';

const LIMIT = 21;
const COST = 10;

/** Of RateLimitConfig. Its own case counts by the hour, whose edge a test may meet. */
const YEAR = 6;

const folder = mkdtempSync(join(tmpdir(), 'weir-envoy-gateway-'));
const open: { stop(): unknown }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The statuses of four requests, each of which begins when the cost of the one before has been reported. */
async function statusesOf(options: Omit<UsageChainOptions, 'preset'>): Promise<number[]> {
  // Its requests carry the descriptors that Envoy Gateway makes of `cost.request: 0` and `cost.response` from metadata.
  const chain: UsageChain = await startUsageChain({ preset: 'llm-tokens', ...options });
  open.push(chain);
  const statuses: number[] = [];
  for (let n = 0; n < 4; n += 1) {
    statuses.push((await chain.send({ path: '/v1/chat', headers: bearer({ sub: 'one', aud: 'llm' }), tokens: COST })).status);
    await chain.settled();
  }
  return statuses;
}

describe.each(STORES)('on the %s store', (store) => {
  test.each(['fixed_window', 'token_bucket'])('the quota of a file with overdraft denies the fourth request, in %s', async (algorithm) => {
    const limits = join(folder, `${store}-${algorithm}.yaml`);
    writeFileSync(
      limits,
      `domain: llm\noverdraft: true\nalgorithm: ${algorithm}\ndescriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: ${LIMIT} } }]\n`,
    );
    expect(await statusesOf({ store, limits })).toEqual([200, 200, 200, 429]);
  });

  test('the quota of a management server denies the fourth request without a setting for overdraft', async () => {
    const server = await XdsServer.start();
    open.push(server);
    server.send('1', [
      { name: 'default/eg/http', domain: 'llm', descriptors: [{ key: 'user', rate_limit: { unit: YEAR, requests_per_unit: LIMIT } }] },
    ]);
    const env = { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: `localhost:${server.port}` };
    expect(await statusesOf({ store, limits: null, env })).toEqual([200, 200, 200, 429]);
  });
});
