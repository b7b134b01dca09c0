/** All published Envoy configurations in one Envoy, a listener each, and one Weir with all their limits, a domain each. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { rawRequest, type RawRequest } from '../../support/clients/raw-request';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { startWeir } from '../../support/processes/weir-process';
import { startEnvoy, type EnvoyProcess } from '../../support/servers/envoy';
import { freePort } from '../../support/servers/ports';
import { startBackend } from '../chain/backend';
import { KEYS } from '../chain/tokens';
import { isObject, rewritten, type Json, type JsonObject } from './rewritten';

const DEPLOY = resolve(__dirname, '..', '..', '..', 'deploy');

export interface Example {
  /** Its domain here, and the name of its listener. */
  readonly id: string;
  /** Below deploy/; a text is a whole configuration. */
  readonly envoy: string | { readonly text: string };
  readonly limits: string | { readonly text: string };
  /** What else differs from the published file: exact strings, each at least once. */
  readonly replacements?: Readonly<Record<string, string>>;
}

export interface ExampleGateway {
  /** Sends one request to an example; resolves to the status. */
  send(id: string, request: RawRequest): Promise<number>;
  port(id: string): number;
  /** How many requests have reached the backend. */
  backendRequests(): number;
  /** What a check says is left under the limit of this descriptor. */
  remaining(id: string, descriptor: Readonly<Record<string, string>>): Promise<number>;
  /** Of Envoy's admin port. */
  admin(path: string): Promise<string>;
  /** How many descriptors of an example no rule has matched. */
  unmatched(id: string): Promise<number>;
  /** How many calls of an example Weir has answered. */
  answeredCalls(id: string): Promise<number>;
  /** Resolves when they are as many. */
  answeredCallsReach(id: string, count: number): Promise<void>;
  stop(): Promise<void>;
}

interface Bootstrap {
  readonly node?: Json;
  readonly layered_runtime?: Json;
  readonly static_resources: { readonly listeners: readonly Json[]; readonly clusters: readonly { readonly name: string }[] };
}

/** `servers`: ports of servers beside the backend, by the addresses that stand in the configurations. */
export async function startExamples(
  examples: readonly Example[],
  servers: ReadonlyMap<string, number> = new Map(),
): Promise<ExampleGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-examples-'));
  for (const { id, limits } of examples) writeFileSync(join(folder, `${id}.yaml`), inDomain(limits, id));
  const weir = await startWeir({ config: folder, env: { BACKEND_TYPE: 'memory' } });
  const backend = await startBackend();
  const addresses = new Map([['backend:8080', backend.port], ['weir:8081', weir.grpcPort], ...servers]);
  const { envoy, admin, port: portOf, weirClusters: clusterOf } = await startListeners(examples, () => addresses);
  return {
    send: (id, request) => rawRequest(portOf(id), request),
    port: portOf,
    backendRequests: () => backend.requests(),
    remaining: async (domain, descriptor) => {
      const entries = Object.entries(descriptor).map(([key, value]) => ({ key, value }));
      const { body } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, {
        body: { domain, descriptors: [{ entries, hitsAddend: '0' }] },
      });
      const { statuses } = JSON.parse(body) as { statuses: { currentLimit?: object; limitRemaining?: number }[] };
      if (statuses[0]?.currentLimit === undefined) throw new Error(`${domain} has no limit for ${JSON.stringify(descriptor)}: ${body}`);
      return statuses[0].limitRemaining ?? 0;
    },
    admin,
    unmatched: async (id) => {
      const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
      return Number(new RegExp(`^weir_unmatched_descriptors_total\\{domain="${id}"\\} (\\d+)$`, 'm').exec(body)?.[1] ?? 0);
    },
    answeredCalls,
    answeredCallsReach: (id, count) => until(async () => (await answeredCalls(id)) >= count),
    stop: async () => {
      await envoy.stop();
      await backend.stop();
      await weir.stop();
      rmSync(folder, { recursive: true });
    },
  };

  async function answeredCalls(id: string): Promise<number> {
    const page = await admin(`/stats?filter=^cluster\\.${clusterOf.get(id) ?? ''}\\.upstream_rq_completed$`);
    return Number(page.split(': ')[1]);
  }
}

export interface Listeners {
  readonly envoy: EnvoyProcess;
  /** A page of Envoy's own. */
  readonly admin: (path: string) => Promise<string>;
  readonly port: (id: string) => number;
  readonly weirClusters: ReadonlyMap<string, string>;
  readonly backendClusters: ReadonlyMap<string, string>;
}

/** One Envoy with a listener for each example. `addressesOf`: ports of the servers of an example, by the addresses in its configuration. */
export async function startListeners(
  examples: readonly Example[],
  addressesOf: (id: string) => ReadonlyMap<string, number>,
): Promise<Listeners> {
  const adminPort = await freePort();
  const ports = new Map<string, number>();
  for (const { id } of examples) ports.set(id, await freePort());
  const parts = examples.map((example) => bootstrapOf(example, { port: portOf(example.id), addresses: addressesOf(example.id) }));
  const { config, weirClusters, backendClusters } = merged(parts, adminPort);
  const envoy = await startEnvoy({ config: JSON.stringify(config), adminPort });
  const admin = async (path: string) => {
    const method = path.startsWith('/runtime_modify') ? 'POST' : 'GET';
    return (await httpRequest(`http://127.0.0.1:${adminPort}${path}`, { method })).body;
  };
  return { envoy, admin, port: portOf, weirClusters, backendClusters };

  function portOf(id: string): number {
    const port = ports.get(id);
    if (port === undefined) throw new Error(`there is no example ${id}`);
    return port;
  }
}

/** A file below deploy/, or a text. */
export function textOf(source: string | { readonly text: string }): string {
  return typeof source === 'string' ? readFileSync(join(DEPLOY, source), 'utf8') : source.text;
}

/** The limits of an example in its own domain. */
export function inDomain(limits: Example['limits'], id: string): string {
  const text = textOf(limits);
  if (text.match(/^domain: .*$/gm)?.length !== 1) throw new Error(`the limits of ${id} do not name one domain`);
  return text.replace(/^domain: .*$/m, `domain: ${id}`);
}

interface Places {
  readonly port: number;
  readonly addresses: ReadonlyMap<string, number>;
}

/** The example with its listener, addresses and domain of this test. What it does with a request is as published. */
function bootstrapOf({ id, envoy, replacements = {} }: Example, { port, addresses }: Places): { id: string; bootstrap: Bootstrap } {
  let text = textOf(envoy);
  for (const [from, to] of Object.entries(KEYS)) text = text.replaceAll(from, to);
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`${id} does not contain ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  const bootstrap = rewritten(parse(text) as Json, (value) => {
    if (!isObject(value)) return value;
    // Calls to Weir wait longer, since tests share two cores.
    if ('rate_limit_service' in value) return { ...value, domain: id, timeout: '10s' };
    const { address, port_value: portValue } = value;
    const known = typeof address === 'string' ? addresses.get(`${address}:${Number(portValue)}`) : undefined;
    return known === undefined ? value : { address: '127.0.0.1', port_value: known };
  }) as unknown as Bootstrap;
  const [listener] = bootstrap.static_resources.listeners as [JsonObject];
  const here = { ...listener, name: id, address: { socket_address: { address: '127.0.0.1', port_value: port } } };
  return { id, bootstrap: { ...bootstrap, static_resources: { ...bootstrap.static_resources, listeners: [here] } } };
}

/** One Envoy of all. Clusters with a name that another example has already are renamed. */
function merged(
  parts: readonly { readonly id: string; readonly bootstrap: Bootstrap }[],
  adminPort: number,
): { readonly config: Json } & Pick<Listeners, 'weirClusters' | 'backendClusters'> {
  const weirClusters = new Map<string, string>();
  const backendClusters = new Map<string, string>();
  const clusters: Json[] = [];
  const listeners: Json[] = [];
  const taken = new Set<string>();
  for (const { id, bootstrap } of parts) {
    const names = new Map(bootstrap.static_resources.clusters.map(({ name }) => [name, taken.has(name) ? `${name}-${id}` : name] as const));
    for (const name of names.values()) taken.add(name);
    weirClusters.set(id, names.get('weir') ?? '');
    backendClusters.set(id, names.get('backend') ?? '');
    const renamed = rewritten(bootstrap.static_resources, (value) => {
      if (!isObject(value)) return value;
      const changed = Object.entries(value).map(([key, each]): [string, Json] => {
        const isName = key === 'cluster' || key === 'cluster_name' || (key === 'name' && 'load_assignment' in value);
        return [key, isName && typeof each === 'string' ? (names.get(each) ?? each) : each];
      });
      return Object.fromEntries(changed);
    }) as { listeners: Json[]; clusters: Json[] };
    listeners.push(...renamed.listeners);
    clusters.push(...renamed.clusters);
  }
  const of = (key: 'node' | 'layered_runtime') => parts.map(({ bootstrap }) => bootstrap[key]).find((each) => each !== undefined);
  const config = {
    admin: { address: { socket_address: { address: '127.0.0.1', port_value: adminPort } } },
    node: of('node') ?? { id: 'test', cluster: 'test' },
    layered_runtime: of('layered_runtime') ?? {},
    static_resources: { listeners, clusters },
  };
  return { config, weirClusters, backendClusters };
}
