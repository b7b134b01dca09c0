/** A real Envoy reaches Weir over TLS with certificates on both sides, and over a unix socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIENT_NAME, makeCertificates, type Pair } from '../support/servers/certificates';
import type { Replacements } from '../support/servers/envoy';
import { httpRequest } from '../support/clients/http-client';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway } from './chain/gateway';
import { ENDPOINT } from './chain/published-addresses';
import { hangLimitMs } from '../support/clock/hang-limit';

const LIMITS = join(__dirname, 'chain', 'limits.yaml');
const CALLER = { merchant: 'm-edge', client: 'c-edge' };

const certificates = makeCertificates();
const TLS = {
  GRPC_SERVER_USE_TLS: 'true',
  GRPC_SERVER_TLS_CERT: certificates.server.cert,
  GRPC_SERVER_TLS_KEY: certificates.server.key,
  GRPC_CLIENT_TLS_CACERT: certificates.ca.cert,
  GRPC_CLIENT_TLS_SAN: CLIENT_NAME,
};

const CLUSTER = '    load_assignment:\n      cluster_name: weir\n';

/** What the cluster of Weir needs for TLS: the authority of Weir's certificate, and Envoy's own. */
function tlsWith({ cert, key }: Pair): Replacements {
  const transportSocket = `    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: localhost
        common_tls_context:
          tls_certificates:
          - {certificate_chain: {filename: ${cert}}, private_key: {filename: ${key}}}
          validation_context: {trusted_ca: {filename: ${certificates.ca.cert}}}
`;
  return { [CLUSTER]: transportSocket + CLUSTER };
}

/** A pipe has no name that could be resolved. */
function pipeTo(path: string): Replacements {
  return {
    [ENDPOINT]: `- endpoint: {address: {pipe: {path: ${path}}}}`,
    'spreads its calls over all of them.\n    type: STRICT_DNS': 'spreads its calls over all of them.\n    type: STATIC',
  };
}

describe.each(['grpc-js', 'lean'])('Envoy and Weir (%s)', (transport) => {
  let weir: WeirProcess;
  let gateway: Gateway;

  const start = (env: Readonly<Record<string, string>>) =>
    startWeir({ config: LIMITS, env: { BACKEND_TYPE: 'memory', TRANSPORT: transport, ...env } });

  afterEach(async () => {
    await gateway.stop();
    await weir.stop();
  });

  async function expectDecisions(): Promise<void> {
    await warmUp(gateway);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await gateway.get('/login', CALLER)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  }

  test('Envoy and Weir talk over TLS with certificates on both sides', async () => {
    weir = await start(TLS);
    gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: tlsWith(certificates.namedClient) });
    await expectDecisions();
  });

  test('an Envoy whose certificate lacks the name gets no decision, and is counted', async () => {
    weir = await start(TLS);
    gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: tlsWith(certificates.client) });
    const { status, headers } = await gateway.get('/login', CALLER);
    // failure_mode_deny is false.
    expect([status, headers['x-ratelimit-limit']]).toEqual([200, undefined]);
    const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
    expect(body).toMatch(/^weir_grpc_connections_ended_total\{reason="tls"\} [1-9]/m);
  });

  test('Envoy and Weir talk over a unix socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-envoy-uds-'));
    const path = join(folder, 'grpc.sock');
    weir = await start({ GRPC_UDS: path });
    gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: pipeTo(path) });
    await expectDecisions();
    rmSync(folder, { recursive: true });
  });
});

test('Envoy gets every answer over TLS while connections reach their maximum age every second', async () => {
  const RENEWALS = 4;
  const weir = await startWeir({
    config: LIMITS,
    env: { BACKEND_TYPE: 'memory', TRANSPORT: 'lean', GRPC_MAX_CONNECTION_AGE: '1s', ...TLS },
  });
  const gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: tlsWith(certificates.namedClient) });
  await warmUp(gateway);
  const renewals = async () =>
    Number(
      /^weir_grpc_connections_ended_total\{reason="max_age"\} (\d+)/m.exec(
        (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body,
      )?.[1],
    );
  const deadline = Date.now() + hangLimitMs(20_000);
  let [asked, undecided] = [0, 0];
  while ((await renewals()) < RENEWALS && Date.now() < deadline) {
    // A client's first requests pass, so that an answer without Weir's figures is one without a decision.
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => gateway.get('/search', { merchant: 'm-age', client: `c-age-${asked + index}` })),
    );
    asked += answers.length;
    undecided += answers.filter(({ headers }) => headers['x-ratelimit-limit'] === undefined).length;
  }
  expect(await renewals()).toBeGreaterThanOrEqual(RENEWALS);
  expect({ undecided }).toEqual({ undecided: 0 });
  expect(asked).toBeGreaterThan(100);
  await gateway.stop();
  await weir.stop();
});
