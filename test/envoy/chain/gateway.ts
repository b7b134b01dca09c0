/** The chain that these tests ask: a client, Envoy with deploy/envoy/envoy.yaml, a backend that counts, and Weir beside it. */
import type { IncomingHttpHeaders } from 'node:http';
import { resolve } from 'node:path';
import { startEnvoy, type Replacements } from '../../support/servers/envoy';
import { httpRequest, type HttpRequest, type HttpResponse } from '../../support/clients/http-client';
import { freePort } from '../../support/servers/ports';
import { until } from '../../support/clock/until';
import { startBackend } from './backend';
import { onLoopback } from './published-addresses';
import { KEYS, tokenOf } from './tokens';

export const ENVOY_CONFIG = resolve(__dirname, '..', '..', '..', 'deploy', 'envoy', 'envoy.yaml');

export interface Caller {
  readonly merchant: string;
  readonly client: string;
}

export interface Gateway {
  /** One request through Envoy, with a token of the merchant on the plan `free`, from an address that only this client has. */
  get(path: string, caller: Caller): Promise<HttpResponse>;
  /** One request as it is. */
  send(path: string, request: HttpRequest): Promise<HttpResponse>;
  /** How many requests have reached the backend. */
  backendRequests(): number;
  /** The headers that the backend got last. */
  backendHeaders(): IncomingHttpHeaders;
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

export async function startGateway({
  weirGrpcPort,
  otherWeirGrpcPort,
  failureModeDeny = false,
  replacements = {},
}: GatewayOptions): Promise<Gateway> {
  const backend = await startBackend();
  const [listenPort, adminPort] = [await freePort(), await freePort()];
  const envoy = await startEnvoy({ config: { file: ENVOY_CONFIG }, adminPort, replacements: replacementsFor() });
  return {
    get: (path, { merchant, client }) =>
      send(path, { headers: { authorization: `Bearer ${tokenOf({ plan: 'free', merchant })}` }, from: addressOf(client) }),
    send,
    backendRequests: () => backend.requests(),
    backendHeaders: () => backend.lastHeaders(),
    output: () => envoy.output(),
    admin: async (path) => (await httpRequest(`http://127.0.0.1:${adminPort}${path}`)).body,
    stop: async () => {
      await envoy.stop();
      await backend.stop();
    },
  };

  function send(path: string, asked: HttpRequest): Promise<HttpResponse> {
    return httpRequest(`http://127.0.0.1:${listenPort}${path}`, asked);
  }

  /** All in which the tested Envoy differs from the published file. */
  function replacementsFor(): Replacements {
    return {
      ...onLoopback({
        adminPort,
        listenPort,
        backendPort: backend.port,
        weirGrpcPorts: [weirGrpcPort, ...(otherWeirGrpcPort === undefined ? [] : [otherWeirGrpcPort])],
      }),
      // 20 ms are too few where a test, an Envoy, a Weir and a Redis share two cores, or the machine stands still for a moment.
      'timeout: 0.02s': 'timeout: 3s',
      ...KEYS,
      'failure_mode_deny: false': `failure_mode_deny: ${failureModeDeny}`,
      ...replacements,
    };
  }
}

const addresses = new Map<string, string>();

/** Of this machine; by the client's name. */
function addressOf(client: string): string {
  const known = addresses.get(client);
  if (known !== undefined) return known;
  const index = addresses.size;
  const address = `127.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255 || 255}`;
  addresses.set(client, address);
  return address;
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
