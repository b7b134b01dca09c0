/** The policies for kgateway hold in a real Envoy with the filter and the actions that kgateway makes of them. */

import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { RlsClient } from '../support/clients/rls-client';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startEnvoy, type EnvoyProcess } from '../support/servers/envoy';
import { freePort } from '../support/servers/ports';
import { startBackend, type Backend } from './chain/backend';

const FOLDER = 'deploy/kgateway';
const TIMEOUT_MS = 60_000;
const FREE_MINUTE = 60;

interface Entry {
  readonly type: 'Generic' | 'Header' | 'RemoteAddress' | 'Path';
  readonly generic?: { readonly key: string; readonly value: string };
  readonly header?: string;
}

interface Extension {
  readonly spec: {
    readonly rateLimit: {
      readonly domain: string;
      readonly failOpen: boolean;
      readonly timeout: string;
    };
  };
}

interface Policy {
  readonly spec: { readonly rateLimit: { readonly global: { readonly descriptors: readonly { readonly entries: readonly Entry[] }[] } } };
}

const [{ spec: extension }, { spec: policy }] = parseAllDocuments(readFileSync(`${FOLDER}/policies.yaml`, 'utf8')).map(
  (each) => each.toJS() as unknown,
) as [Extension, Policy];

/** An action, as `createRateLimitActions` of kgateway at 06104504 makes it of an entry. */
function actionOf({ type, generic, header }: Entry): object {
  switch (type) {
    case 'Generic':
      return { generic_key: { descriptor_key: generic?.key, descriptor_value: generic?.value } };
    case 'Header':
      return { request_headers: { header_name: header, descriptor_key: header } };
    case 'Path':
      return { request_headers: { header_name: ':path', descriptor_key: 'path' } };
    case 'RemoteAddress':
      return { remote_address: {} };
  }
}

/** It appends the entries of all descriptors to one list of actions. */
function actionsOf(descriptors: readonly { readonly entries: readonly Entry[] }[]): readonly object[] {
  return descriptors.flatMap(({ entries }) => entries.map(actionOf));
}

interface EnvoyInput {
  readonly listenPort: number;
  readonly adminPort: number;
  readonly backendPort: number;
  readonly weirPort: number;
  readonly actions: readonly object[];
}

/** The filter is disabled, except on routes with a policy, as kgateway's own outputs have it. */
function bootstrap({ listenPort, adminPort, backendPort, weirPort, actions }: EnvoyInput): object {
  const filter = `ratelimit/weir/weir`;
  const type = 'type.googleapis.com/envoy.extensions.filters';
  const address = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
  const cluster = (name: string, port: number) => ({
    name,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }] },
  });
  const { domain, failOpen } = extension.rateLimit;
  const rateLimit = {
    '@type': `${type}.http.ratelimit.v3.RateLimit`,
    domain,
    failure_mode_deny: !failOpen,
    // Processes of this test share two cores.
    timeout: '3s',
    rate_limit_service: { transport_api_version: 'V3', grpc_service: { envoy_grpc: { cluster_name: 'weir' } } },
  };
  const manager = {
    '@type': `${type}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'http',
    use_remote_address: true,
    http_filters: [
      { name: filter, disabled: true, typed_config: rateLimit },
      { name: 'envoy.filters.http.router', typed_config: { '@type': `${type}.http.router.v3.Router` } },
    ],
    route_config: {
      virtual_hosts: [
        {
          name: 'orders',
          domains: ['*'],
          routes: [
            { match: { prefix: '/free' }, route: { cluster: 'backend' } },
            {
              match: { prefix: '/' },
              route: { cluster: 'backend' },
              typed_per_filter_config: {
                [filter]: { '@type': `${type}.http.ratelimit.v3.RateLimitPerRoute`, rate_limits: [{ actions }] },
              },
            },
          ],
        },
      ],
    },
  };
  const protocol = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  const http2 = { [protocol]: { '@type': `type.googleapis.com/${protocol}`, explicit_http_config: { http2_protocol_options: {} } } };
  return {
    admin: { address: address(adminPort) },
    static_resources: {
      listeners: [
        {
          name: 'http',
          address: address(listenPort),
          filter_chains: [{ filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] }],
        },
      ],
      clusters: [cluster('backend', backendPort), { ...cluster('weir', weirPort), typed_extension_protocol_options: http2 }],
    },
  };
}

let weir: WeirProcess;
let backend: Backend;
const running: EnvoyProcess[] = [];

beforeAll(async () => {
  // A minute would end during the test.
  const limits = readFileSync(`${FOLDER}/limits.yaml`, 'utf8').replaceAll('unit: minute', 'unit: year');
  [weir, backend] = await Promise.all([startWeir({ config: writeConfig(limits), env: { BACKEND_TYPE: 'memory' } }), startBackend()]);
}, TIMEOUT_MS);

afterAll(async () => {
  for (const envoy of running) await envoy.stop();
  await backend.stop();
  await weir.stop();
});

async function envoyWith(actions: readonly object[]) {
  const [listenPort, adminPort] = [await freePort(), await freePort()];
  const config = JSON.stringify(bootstrap({ listenPort, adminPort, backendPort: backend.port, weirPort: weir.grpcPort, actions }));
  running.push(await startEnvoy({ config, adminPort }));
  const send = async (path: string, tenant?: string) =>
    (await httpRequest(`http://127.0.0.1:${listenPort}${path}`, { headers: tenant === undefined ? {} : { 'x-tenant': tenant } })).status;
  // The first call opens the connection to Weir; a denied one shows that it is open.
  await until(async () => (await send('/', 'x'.repeat(9_000))) !== 0);
  const passed = async (path: string, count: number, tenant?: string) => {
    let ok = 0;
    for (let n = 0; n < count; n += 1) if ((await send(path, tenant)) === 200) ok += 1;
    return ok;
  };
  return { send, passed };
}

test('each tenant has its plan on the route with the policy, and other routes ask nobody', async () => {
  const { passed } = await envoyWith(actionsOf(policy.rateLimit.global.descriptors));
  expect(await passed('/', FREE_MINUTE + 5, 'ann')).toBe(FREE_MINUTE);
  expect(await passed('/', 3, 'bob')).toBe(3);
  expect(await passed('/free', FREE_MINUTE + 5, 'ann')).toBe(FREE_MINUTE + 5);
});

test('without the header Envoy does not ask, which is why the policy needs one that the gateway writes', async () => {
  const { passed } = await envoyWith(actionsOf(policy.rateLimit.global.descriptors));
  expect(await passed('/', FREE_MINUTE + 5)).toBe(FREE_MINUTE + 5);
});

test('two descriptors of a policy are one in the call, so that rules for each alone match nothing and the domain denies', async () => {
  const { passed } = await envoyWith(
    actionsOf([
      { entries: [{ type: 'Header', header: 'x-tenant' }] },
      { entries: [{ type: 'Generic', generic: { key: 'api', value: 'orders' } }] },
    ]),
  );
  expect(await passed('/', 3, 'eve')).toBe(0);
});

test('Weir gets the entries as the limits name them', async () => {
  const client = new RlsClient(weir.grpcPort);
  const answer = await client.ask('orders', [{ entries: { api: 'orders', 'x-tenant': 'zoe' } }]);
  expect(answer.statuses[0]?.current_limit?.name).toMatch(/^free_/);
  client.close();
});
