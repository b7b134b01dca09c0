/** `weir replay` reads the access logs that Envoy writes, as its default text and as JSON, and computes descriptors from its rate limit actions. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { runCommand } from '../support/processes/command';
import { startEnvoy } from '../support/servers/envoy';
import { freePort } from '../support/servers/ports';

const ROOT = path.resolve(__dirname, '..', '..');

const LIMITS = `domain: edge
descriptors:
  - key: agent
    rate_limit: {unit: year, requests_per_unit: 2, algorithm: fixed_window}
  - key: kind
    value: pay
    descriptors:
      - {key: tenant, rate_limit: {unit: year, requests_per_unit: 1, algorithm: fixed_window}}
`;

const MAP = `domain: edge
descriptors:
  - [{key: agent, field: user_agent}]
`;

/** The port, the port of the admin block, and the folder of the logs. */
function envoyConfig({ port, adminPort, folder }: { readonly port: number; readonly adminPort: number; readonly folder: string }): string {
  return `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: ${adminPort}}}}
static_resources:
  listeners:
    - address: {socket_address: {address: 127.0.0.1, port_value: ${port}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: edge
                access_log:
                  - name: text
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, path: ${folder}/text.log}
                  - name: json
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
                      path: ${folder}/json.log
                      log_format:
                        json_format:
                          start_time: "%START_TIME%"
                          path: "%REQ(:PATH)%"
                          user_agent: "%REQ(USER-AGENT)%"
                          x_tenant: "%REQ(X-TENANT)%"
                          code: "%RESPONSE_CODE%"
                route_config:
                  virtual_hosts:
                    - name: edge
                      domains: ["*"]
                      routes:
                        - match: {prefix: /pay}
                          route:
                            cluster: nowhere
                            rate_limits:
                              - actions:
                                  - generic_key: {descriptor_key: kind, descriptor_value: pay}
                                  - request_headers: {header_name: x-tenant, descriptor_key: tenant}
                              - actions: [{request_headers: {header_name: user-agent, descriptor_key: agent}}]
                              - actions: [{remote_address: {}}]
                        - match: {prefix: /}
                          route: {cluster: nowhere}
                http_filters:
                  - name: envoy.filters.http.ratelimit
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
                      domain: edge
                      rate_limit_service: {transport_api_version: V3, grpc_service: {envoy_grpc: {cluster_name: nowhere}}}
                  - name: envoy.filters.http.router
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
    - {name: nowhere, type: STATIC, typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http2_protocol_options: {}}}}}
`;
}

interface Report {
  readonly requests: number;
  readonly lines_wrong: number;
  readonly lines_without_descriptors: number;
  readonly rules: readonly { readonly rule: string; readonly requests: number; readonly denied: number }[];
}

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-replayed-'));
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = envoyConfig({ port, adminPort, folder });
  writeFileSync(path.join(folder, 'envoy.yaml'), config);
  writeFileSync(path.join(folder, 'limits.yaml'), LIMITS);
  writeFileSync(path.join(folder, 'map.yaml'), MAP);
  const envoy = await startEnvoy({ config, adminPort });
  const ask = (url: string, headers: Record<string, string>) => httpRequest(`http://127.0.0.1:${port}${url}`, { headers });
  for (let i = 0; i < 3; i += 1) await ask('/pay/now?a=1', { 'user-agent': 'shop "x"', 'x-tenant': 'acme' });
  await ask('/pay', { 'x-tenant': 'acme' });
  await ask('/other', { 'user-agent': 'other', 'x-tenant': 'acme' });
  await until(() => ['text.log', 'json.log'].every((log) => readFileSync(path.join(folder, log), 'utf8').split('\n').length === 6));
  await envoy.stop();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function replay(...args: string[]): Promise<{ readonly report: Report; readonly stderr: string }> {
  const command = [path.join(ROOT, 'dist/main.js'), 'replay', ...args, '--config', 'limits.yaml', '--format', 'json'];
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, command, { cwd: folder });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.any(String) as string });
  return { report: JSON.parse(stdout) as Report, stderr };
}

function rulesOf({ rules }: Report): Record<string, readonly number[]> {
  return Object.fromEntries(rules.map(({ rule, requests, denied }) => [rule, [requests, denied]]));
}

test.each(['text.log', 'json.log'])('%s through a mapping', async (log) => {
  const { report } = await replay(log, '--map', 'map.yaml');
  expect(report).toMatchObject({ requests: 4, lines_wrong: 0, lines_without_descriptors: 1 });
  expect(rulesOf(report)).toEqual({ 'edge.agent': [4, 1] });
});

test('both logs at once are one', async () => {
  const { report } = await replay('text.log', 'json.log', '--map', 'map.yaml');
  expect(report).toMatchObject({ requests: 8, lines_wrong: 0, lines_without_descriptors: 2 });
});

test('descriptors of the actions of a route, from JSON that has its headers', async () => {
  const { report, stderr } = await replay('json.log', '--envoy', 'envoy.yaml');
  expect(stderr).toBe('weir replay: the log lacks the address of the client\n');
  // The fourth request to /pay has no agent, and the other route has no limits.
  expect(report).toMatchObject({ requests: 4, lines_wrong: 0, lines_without_descriptors: 1 });
  expect(rulesOf(report)).toEqual({ 'edge.kind_pay.tenant': [4, 3], 'edge.agent': [3, 0] });
});

test('what the default text lacks is named', async () => {
  const { report, stderr } = await replay('text.log', '--envoy', 'envoy.yaml');
  expect(stderr).toBe('weir replay: the log lacks the header x-tenant\nweir replay: the log lacks the address of the client\n');
  expect(rulesOf(report)).toEqual({ 'edge.agent': [3, 1] });
});
