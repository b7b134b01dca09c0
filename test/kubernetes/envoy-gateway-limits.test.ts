/** Weir accepts what Envoy Gateway makes of its policies, and decides what its Envoy asks. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import type { WireRateLimitConfig } from '../../src/configuration/source/xds/wire';
import { startBackend, type Backend } from '../envoy/chain/backend';
import { isObject, rewritten, type Json, type JsonObject } from '../envoy/examples/rewritten';
import { callAdmin } from '../support/admin/admin-client';
import { tokenLine, TOKENS } from '../support/admin/admin-server';
import { rawRequest, type RawRequest } from '../support/clients/raw-request';
import { until } from '../support/clock/until';
import { figure } from '../support/docs/figure';
import { installed } from '../support/processes/installed';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startEnvoy, type EnvoyProcess } from '../support/servers/envoy';
import { freePort } from '../support/servers/ports';
import { XdsServer } from '../support/servers/xds-server';

const CASES = join('internal', 'xds', 'translator', 'testdata', 'out', 'ratelimit-config');

/** Of RateLimitConfig. The cases count by the second, whose edge a test would meet. */
const YEAR = 6;
const LIMIT = 5;

const TENANTS = 3_000;
const AT_ONCE = 50;

/** The network of rules with a sourceCIDR in this test, and two callers. */
const INSIDE = { address: '127.61.0.0', callers: ['127.61.0.1', '127.61.0.2'] };

const folder = join(installed('WEIR_ENVOY_GATEWAY_MODULE', 'install/go/envoy-gateway-module.mjs'), CASES);
const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml') && !file.endsWith('.routes.yaml'))
  .map((file) => file.replace('.yaml', ''));

/** A configuration of the case, or several. */
function configsOf(name: string): readonly WireRateLimitConfig[] {
  const text = readFileSync(join(folder, `${name}.yaml`), 'utf8');
  const documents = parseAllDocuments(text) as { toJS: () => Json }[];
  return documents.map((each) => rewritten(each.toJS(), withoutNull)) as unknown as readonly WireRateLimitConfig[];
}

function withoutNull(value: Json): Json {
  return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null)) : value;
}

/** The actions of its route, as Envoy reads them: the file has the fields of Go, with a name for each choice. */
function actionsOf(name: string): Json {
  const { rateLimitsByDomain } = parse(readFileSync(join(folder, `${name}.routes.yaml`), 'utf8')) as { rateLimitsByDomain: JsonObject };
  const [limits] = Object.values(rateLimitsByDomain);
  return rewritten(limits!, (value) => {
    if (!isObject(value)) return value;
    const entries = Object.entries(value).flatMap(([key, each]): [string, Json][] => {
      // An address of this machine in its place.
      if (key === 'address_prefix') return [[key, INSIDE.address]];
      if (key === 'prefix_len' && isObject(each)) return [[key, each.value ?? 0]];
      // A choice, such as `ActionSpecifier: {GenericKey: {…}}`.
      return /Specifier$|^MatchPattern$/.test(key) && isObject(each) ? Object.entries(each) : [[key, unwrapped(each)]];
    });
    return Object.fromEntries(entries.map(([key, each]) => [snake(key), each]));
  });
}

function unwrapped(value: Json): Json {
  return isObject(value) && Object.keys(value).join() === 'value' ? value.value! : value;
}

function snake(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

const folderOfTokens = mkdtempSync(join(tmpdir(), 'weir-envoy-gateway-'));
const tokensFile = join(folderOfTokens, 'tokens');

let server: XdsServer;
let weir: WeirProcess;
let weirAdminPort: number;

beforeAll(async () => {
  server = await XdsServer.start();
  weirAdminPort = await freePort();
  writeFileSync(tokensFile, tokenLine('ann', 'admin', TOKENS.admin));
  weir = await startWeir({
    env: {
      BACKEND_TYPE: 'memory',
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: `localhost:${server.port}`,
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
      CONTROL_DATA: 'true',
      ADMIN_PORT: String(weirAdminPort),
      ADMIN_TOKENS_FILE: tokensFile,
    },
  });
});

afterAll(async () => {
  await weir.stop();
  server.stop();
  rmSync(folderOfTokens, { recursive: true });
});

test('Weir accepts every rate limit configuration in the tests of Envoy Gateway', async () => {
  expect(cases.length).toBeGreaterThan(20);
  const rejected: string[] = [];
  for (const name of cases) {
    const { error_detail: error } = await server.answerTo(server.send(name, configsOf(name)));
    if (error !== undefined) rejected.push(`${name}: ${error.message}`);
  }
  expect(rejected).toEqual([]);
  figure(`${cases.length} configurations`);
});

describe('an Envoy with the actions that Envoy Gateway makes', () => {
  const NAMES = ['distinct-match', 'distinct-remote-address-match', 'empty-header-matches', 'method-match'];
  const ports = new Map<string, number>();
  let backend: Backend;
  let envoy: EnvoyProcess;

  beforeAll(async () => {
    backend = await startBackend();
    for (const name of NAMES) ports.set(name, await freePort());
    const adminPort = await freePort();
    envoy = await startEnvoy({ config: JSON.stringify(bootstrap(adminPort)), adminPort });
    const configs = NAMES.flatMap((name) => configsOf(name).map((config) => ({ ...perYear(config), name, domain: name })));
    expect((await server.answerTo(server.send('all', configs))).error_detail).toBeUndefined();
    // The first call opens the connection.
    await until(async () => (await send('empty-header-matches', {})) === 429);
  });

  afterAll(async () => {
    await envoy.stop();
    await backend.stop();
  });

  function perYear(config: WireRateLimitConfig): WireRateLimitConfig {
    return rewritten(config as unknown as Json, (value) =>
      isObject(value) && 'requests_per_unit' in value ? { requests_per_unit: LIMIT, unit: YEAR } : value,
    ) as unknown as WireRateLimitConfig;
  }

  function bootstrap(adminPort: number): Json {
    const address = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
    const cluster = (name: string, port: number) => ({
      name,
      load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }] },
    });
    const protocol = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
    const type = (name: string) => `type.googleapis.com/envoy.extensions.filters.${name}`;
    const listeners = NAMES.map((name) => {
      const rateLimit = {
        '@type': type('http.ratelimit.v3.RateLimit'),
        domain: name,
        timeout: '3s',
        rate_limit_service: { transport_api_version: 'V3', grpc_service: { envoy_grpc: { cluster_name: 'weir' } } },
      };
      const routes = [{ match: { prefix: '/' }, route: { cluster: 'backend', rate_limits: actionsOf(name) } }];
      const manager = {
        '@type': type('network.http_connection_manager.v3.HttpConnectionManager'),
        stat_prefix: name,
        use_remote_address: true,
        http_filters: [
          { name: 'envoy.filters.http.ratelimit', typed_config: rateLimit },
          { name: 'envoy.filters.http.router', typed_config: { '@type': type('http.router.v3.Router') } },
        ],
        route_config: { virtual_hosts: [{ name, domains: ['*'], routes }] },
      };
      const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }];
      return { name, address: address(ports.get(name)!), filter_chains: [{ filters }] };
    });
    const http2 = { [protocol]: { '@type': `type.googleapis.com/${protocol}`, explicit_http_config: { http2_protocol_options: {} } } };
    const clusters = [cluster('backend', backend.port), { ...cluster('weir', weir.grpcPort), typed_extension_protocol_options: http2 }];
    return { admin: { address: address(adminPort) }, static_resources: { listeners, clusters } };
  }

  function send(name: string, request: Partial<RawRequest>): Promise<number> {
    return rawRequest(ports.get(name)!, { target: '/', ...request });
  }

  async function passed(name: string, count: number, request: Partial<RawRequest>): Promise<number> {
    const before = backend.requests();
    for (let n = 0; n < count; n += 1) await send(name, request);
    return backend.requests() - before;
  }

  test('each value of a Distinct header has its limit', async () => {
    expect(await passed('distinct-match', 8, { headers: [['x-user-id', 'ann']] })).toBe(LIMIT);
    expect(await passed('distinct-match', 8, { headers: [['X-USER-ID', 'bob']] })).toBe(LIMIT);
  });

  test('one Distinct rule carries a limit of its own for each of thousands of tenants, as records of control data', async () => {
    const put = async (tenant: number) => {
      const entries = [
        { key: 'first-route', value: 'first-route' },
        { key: 'rule-0-match-0', value: `tenant-${tenant}` },
      ];
      const { status } = await callAdmin(`http://127.0.0.1:${weirAdminPort}`, {
        token: TOKENS.admin,
        method: 'PUT',
        path: `/v1/overrides/distinct-match/tenant-${tenant}`,
        body: { entries, limit: { requests_per_unit: tenant % 20, unit: 'year' } },
      });
      return status;
    };
    for (let first = 0; first < TENANTS; first += AT_ONCE) {
      const statuses = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => put(first + i)));
      expect(new Set(statuses)).toEqual(new Set([200]));
    }
    for (const tenant of [0, 7, 19, TENANTS - 2])
      expect(await passed('distinct-match', 25, { headers: [['x-user-id', `tenant-${tenant}`]] })).toBe(tenant % 20);
    expect(await passed('distinct-match', 25, { headers: [['x-user-id', `tenant-${TENANTS}`]] })).toBe(LIMIT);
    figure(`${TENANTS.toLocaleString('en')} tenants`);
  });

  test('a request without the header of a Distinct rule has no limit from that rule', async () => {
    expect(await passed('distinct-match', 12, {})).toBe(12);
  });

  test('a rule with a Distinct sourceCIDR limits each address inside, and none outside', async () => {
    for (const from of INSIDE.callers) expect(await passed('distinct-remote-address-match', 8, { from })).toBe(LIMIT);
    expect(await passed('distinct-remote-address-match', 8, { from: '127.60.0.1' })).toBe(8);
  });

  test('a rule by method counts that method alone', async () => {
    expect(await passed('method-match', 8, { method: 'GET' })).toBe(LIMIT);
  });
});
