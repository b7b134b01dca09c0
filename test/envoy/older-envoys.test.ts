/** Older versions of Envoy enforce Weir's limits, show their headers, charge what a request costs, and keep failure_mode_deny. */

import { execFileSync } from 'node:child_process';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { startEnvoy, type EnvoyProcess } from '../support/servers/envoy';
import { freePort } from '../support/servers/ports';
import { listOlderEnvoys } from '../support/versions/older-envoys';
import { describePinned } from '../support/versions/pinned-versions';
import { startBackend, type Backend } from './chain/backend';

const TIMEOUT_MS = 60_000;
const LIMITS = writeConfig(`
domain: old
descriptors:
  - key: client
    rate_limit: { unit: year, requests_per_unit: 5, algorithm: fixed_window }
`);

interface Ports {
  readonly listener: number;
  readonly admin: number;
  readonly backend: number;
  readonly weir: number;
}

/** Only fields that these versions know; a request costs what its header says. */
function envoyConfig({ listener, admin, backend, weir }: Ports, isDenying: boolean): string {
  const cluster = (name: string, port: number) =>
    `name: ${name}, type: STATIC, load_assignment: { cluster_name: ${name}, endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }] }] }`;
  return `
admin: { address: { socket_address: { address: 127.0.0.1, port_value: ${admin} } } }
static_resources:
  listeners:
  - address: { socket_address: { address: 127.0.0.1, port_value: ${listener} } }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress
          http_filters:
          - name: envoy.filters.http.ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: old
              timeout: 1s
              failure_mode_deny: ${isDenying}
              enable_x_ratelimit_headers: "DRAFT_VERSION_03"
              rate_limit_service: { transport_api_version: V3, grpc_service: { envoy_grpc: { cluster_name: weir } } }
          - name: envoy.filters.http.router
            typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: { prefix: "/" }
                route: { cluster: backend }
                typed_per_filter_config:
                  envoy.filters.http.ratelimit:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute
                    rate_limits:
                    - actions: [{ request_headers: { header_name: x-client, descriptor_key: client } }]
                      hits_addend: { format: "%REQ(x-cost)%" }
  clusters:
  - { ${cluster('backend', backend)} }
  - { ${cluster('weir', weir)}, typed_extension_protocol_options: { envoy.extensions.upstreams.http.v3.HttpProtocolOptions: { "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: { http2_protocol_options: {} } } } }
`;
}

describe.each(listOlderEnvoys())('an older Envoy', (version) => {
  describePinned(version, () => {
    let redis: RedisServer;
    let backend: Backend;
    let weir: WeirProcess;
    let envoys: readonly { readonly envoy: EnvoyProcess; readonly port: number }[];

    beforeAll(async () => {
      redis = await startRedis();
      backend = await startBackend();
      weir = await startWeir({ config: LIMITS, env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' } });
      const start = async (isDenying: boolean) => {
        const [listener, admin] = [await freePort(), await freePort()];
        const config = envoyConfig({ listener, admin, backend: backend.port, weir: weir.grpcPort }, isDenying);
        return { envoy: await startEnvoy({ config, adminPort: admin, binary: version.binary }), port: listener };
      };
      envoys = [await start(false), await start(true)];
    }, TIMEOUT_MS);

    afterAll(async () => {
      for (const { envoy } of envoys) await envoy.stop();
      await weir.stop();
      await backend.stop();
      await redis.stop();
    }, TIMEOUT_MS);

    function get(at: number, client: string, cost = 1) {
      const headers = { 'x-client': client, 'x-cost': String(cost) };
      return httpRequest(`http://127.0.0.1:${envoys[at]!.port}/`, { headers });
    }

    test('it is of that version', () => {
      expect(execFileSync(version.binary, ['--version'], { encoding: 'utf8' })).toContain(`/${version.name.split('-')[1]!}/`);
    });

    test('a limit holds over both of them, and requests cost what they say', async () => {
      const first = await get(0, 'one', 3);
      expect([first.status, first.headers['x-ratelimit-remaining']]).toEqual([200, '2']);
      expect(first.headers['x-ratelimit-limit']).toMatch(/^5, 5;w=\d+/);
      const denied = await get(1, 'one', 3);
      expect([denied.status, denied.headers['x-envoy-ratelimited']]).toEqual([429, 'true']);
      expect((await get(1, 'one', 2)).status).toBe(200);
      expect((await get(0, 'one')).status).toBe(429);
      expect((await get(0, 'another')).status).toBe(200);
    });

    test('without Weir failure_mode_deny decides', async () => {
      await weir.stop();
      await until(async () => (await get(1, 'one')).status === 500);
      expect((await get(0, 'one')).status).toBe(200);
    });
  });
});
