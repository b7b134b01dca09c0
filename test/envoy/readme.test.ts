/** The Envoy configuration of the README limits every spelling of a path. */
import { startEnvoy, type EnvoyProcess } from '../support/servers/envoy';
import { httpRequest } from '../support/clients/http-client';
import { fencedBlocks } from '../support/docs/markdown';
import { freePort } from '../support/servers/ports';
import { writeConfig } from '../support/config/temp-config';
import { until } from '../support/clock/until';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startBackend, type Backend } from './chain/backend';

const BLOCKS = fencedBlocks('README.md', 'yaml');
const LIMITS = BLOCKS.find((block) => block.startsWith('domain:'))!;
const ENVOY = BLOCKS.find((block) => block.startsWith('static_resources:'))!;

let backend: Backend;
let weir: WeirProcess;
let envoy: EnvoyProcess;
let listenPort: number;
let adminPort: number;

beforeAll(async () => {
  backend = await startBackend();
  weir = await startWeir({ config: writeConfig(LIMITS) });
  [listenPort, adminPort] = [await freePort(), await freePort()];
  envoy = await startEnvoy({
    config: `admin: {address: {socket_address: {address: 127.0.0.1, port_value: ${adminPort}}}}\n${ENVOY}`,
    adminPort,
    replacements: {
      'port_value: 10000': `port_value: ${listenPort}`,
      'port_value: 9000': `port_value: ${backend.port}`,
      'port_value: 8081': `port_value: ${weir.grpcPort}`,
      // 20 ms are too few on a busy machine: Envoy would let the request pass.
      'domain: payments ': 'timeout: 3s\n              domain: payments ',
    },
  });
  // The first call over a new connection may fail, and then the request passes unlimited.
  await until(async () => {
    await get('/payment/warm-up', '127.0.0.9');
    return /cluster\.weir\.upstream_rq_2xx: [1-9]/.test(
      (await httpRequest(`http://127.0.0.1:${adminPort}/stats?filter=cluster.weir.upstream_rq_2xx`)).body,
    );
  });
});

afterAll(async () => {
  await envoy.stop();
  await weir.stop();
  await backend.stop();
});

async function get(path: string, from: string): Promise<number> {
  return (await httpRequest(`http://127.0.0.1:${listenPort}${path}`, { from })).status;
}

test('the fourth payment of an address is denied, other routes and addresses are not', async () => {
  const statuses = [];
  for (let payment = 0; payment < 4; payment += 1) statuses.push(await get('/payment', '127.0.0.7'));
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect(await get('/payment', '127.0.0.8')).toBe(200);
  expect(await get('/health', '127.0.0.7')).toBe(200);
});

test('other spellings of the path have the same limit, and those that Envoy does not know have one as well', async () => {
  const from = '127.0.0.10';
  for (let payment = 0; payment < 3; payment += 1) expect(await get('/payment', from)).toBe(200);
  const spellings = ['/./payment', '//payment', '/x/../payment', '/%70ayment', '/x/%2e%2e/payment'];
  for (const path of spellings) expect([path, await get(path, from)]).toEqual([path, 429]);
  const others = [];
  for (let n = 0; n < 80 && others.at(-1) !== 429; n += 1) others.push(await get(n % 2 === 0 ? '/payment;a=1' : '/PAYMENT', from));
  expect(others.at(-1)).toBe(429);
});
