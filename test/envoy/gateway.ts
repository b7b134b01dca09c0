/** The chain that these tests ask: a client, Envoy with deploy/envoy/envoy.yaml, a backend that counts, and Weir beside it. */
import { resolve } from 'node:path';
import { startEnvoy, type Replacements } from '../support/envoy';
import { httpRequest, type HttpResponse } from '../support/http-client';
import { freePort } from '../support/ports';
import { until } from '../support/until';
import { startBackend } from './backend';
import { onLoopback } from './published-addresses';

export const ENVOY_CONFIG = resolve(__dirname, '..', '..', 'deploy', 'envoy', 'envoy.yaml');

export interface Caller {
  readonly merchant: string;
  readonly client: string;
}

export interface Gateway {
  /** One request through Envoy, with the headers that an authenticating gateway would have set. */
  get(path: string, caller: Caller): Promise<HttpResponse>;
  /** How many requests have reached the backend. */
  backendRequests(): number;
  /** Its last lines; the access log is among them. */
  output(): string;
  /** A page of Envoy's own. */
  admin(path: string): Promise<string>;
  stop(): Promise<void>;
}

export interface GatewayOptions {
  readonly weirGrpcPort: number;
  /** A second Weir, which gets every other call. */
  readonly otherWeirGrpcPort?: number;
  readonly failureModeDeny?: boolean;
  /** What else differs from the published file. */
  readonly replacements?: Replacements;
}

export async function startGateway({ weirGrpcPort, otherWeirGrpcPort, failureModeDeny = false, replacements = {} }: GatewayOptions): Promise<Gateway> {
  const backend = await startBackend();
  const [listenPort, adminPort] = [await freePort(), await freePort()];
  const envoy = await startEnvoy({ config: { file: ENVOY_CONFIG }, adminPort, replacements: replacementsFor() });
  return {
    get: (path, { merchant, client }) =>
      httpRequest(`http://127.0.0.1:${listenPort}${path}`, { headers: { 'x-plan': 'free', 'x-merchant': merchant, 'x-client': client } }),
    backendRequests: () => backend.requests(),
    output: () => envoy.output(),
    admin: async (path) => (await httpRequest(`http://127.0.0.1:${adminPort}${path}`)).body,
    stop: async () => {
      await envoy.stop();
      await backend.stop();
    },
  };

  /** All in which the tested Envoy differs from the published file. */
  function replacementsFor(): Replacements {
    return {
      ...onLoopback({ adminPort, listenPort, backendPort: backend.port, weirGrpcPorts: [weirGrpcPort, ...(otherWeirGrpcPort === undefined ? [] : [otherWeirGrpcPort])] }),
      // 20 ms are too few where a test, an Envoy, a Weir and a Redis share two cores, or the machine stands still for a moment.
      'timeout: 0.02s': 'timeout: 3s',
      'failure_mode_deny: false': `failure_mode_deny: ${failureModeDeny}`,
      ...replacements,
    };
  }
}

/** Envoy's first call opens the connection and may time out; from the first response with Weir's figures on, it stands. */
export async function warmUp(gateway: Gateway): Promise<void> {
  let attempt = 0;
  await until(async () => {
    attempt += 1;
    const { headers } = await gateway.get('/search', { merchant: 'warm-up', client: `warm-up-${attempt}` });
    return headers['x-ratelimit-limit'] !== undefined;
  });
}
