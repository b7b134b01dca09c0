/** The chain of a preset of deploy/envoy/usage/: a client, Envoy with its config, the backend, and a Weir with its limits. */
import { resolve } from 'node:path';
import { startEnvoy, type Replacements } from '../../support/servers/envoy';
import { httpRequest, type HttpRequest, type HttpResponse } from '../../support/clients/http-client';
import { freePort } from '../../support/servers/ports';
import { startRedis } from '../../support/redis/redis-server';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { queryOf, startBackend, type Asked, type Backend } from './backend';
import { onLoopback } from './published-addresses';
import { KEYS } from './tokens';

export const STORES = ['memory', 'redis'] as const;
type Store = (typeof STORES)[number];

export type Preset = 'llm-tokens' | 'failed-logins' | 'in-flight' | 'estimate' | 'mcp-tools';

const PRESETS = resolve(__dirname, '..', '..', '..', 'deploy', 'envoy', 'usage');

export function envoyConfigOf(preset: Preset): string {
  return resolve(PRESETS, preset, 'envoy.yaml');
}

export function limitsOf(preset: Preset): string {
  return resolve(PRESETS, preset, 'limits.yaml');
}

/** What differs from the published configs: calls to Weir wait longer, since tests share two cores. */
const PATIENT: Replacements = { 'timeout: 0.1s': 'timeout: 3s' };

export interface UsageChainOptions {
  readonly store: Store;
  readonly preset: Preset;
  /** In place of the preset's limits; null: none, the configuration comes from where `env` says. */
  readonly limits?: string | null;
  readonly env?: Readonly<Record<string, string>>;
}

/** A request: its headers and sender, and what its response is to be. */
export interface UsageRequest extends Asked, Pick<HttpRequest, 'from' | 'signal' | 'body'> {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface UsageChain {
  readonly backend: Backend;
  readonly weir: WeirProcess;
  readonly envoyPid: number;
  /** One request through Envoy. */
  send(request: UsageRequest): Promise<HttpResponse>;
  /** One that Envoy refuses by itself: Weir is not asked. */
  refused(request: Pick<UsageRequest, 'path' | 'headers' | 'body'>): Promise<HttpResponse>;
  /** Resolves when Weir has answered both calls of each request so far, and the first one of those that the backend holds. */
  settled(): Promise<void>;
  /** What a check says is left under the limit of this descriptor. */
  remaining(domain: string, descriptor: Readonly<Record<string, string>>): Promise<number>;
  /** The value of a metric of Weir's, with exactly these labels; 0 while it is not there. */
  metric(series: string): Promise<number>;
  stop(): Promise<void>;
}

export async function startUsageChain({ store, preset, limits = limitsOf(preset), env = {} }: UsageChainOptions): Promise<UsageChain> {
  const redis = store === 'redis' ? await startRedis() : undefined;
  const storeEnv: Record<string, string> =
    redis === undefined
      ? { BACKEND_TYPE: 'memory' }
      : { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  const weir = await startWeir({ ...(limits !== null && { config: limits }), env: { ...storeEnv, ...env } });
  const backend = await startBackend();
  const [listenPort, adminPort] = [await freePort(), await freePort()];
  const addresses = onLoopback({ adminPort, listenPort, backendPort: backend.port, weirGrpcPorts: [weir.grpcPort] });
  const envoy = await startEnvoy({
    config: { file: envoyConfigOf(preset) },
    adminPort,
    replacements: { ...addresses, ...PATIENT, ...(preset === 'failed-logins' ? {} : KEYS) },
  });
  let requests = 0;
  return {
    backend,
    weir,
    envoyPid: envoy.pid,
    send: ({ path, headers = {}, from, signal, body, ...asked }) => {
      requests += 1;
      return httpRequest(`http://127.0.0.1:${listenPort}${path}${queryOf(asked)}`, {
        headers,
        ...(from && { from }),
        ...(signal && { signal }),
        ...(body !== undefined && { body }),
      });
    },
    refused: ({ path, headers = {}, body }) => httpRequest(`http://127.0.0.1:${listenPort}${path}`, { headers, body }),
    settled: () =>
      until(async () => {
        const { body } = await httpRequest(`http://127.0.0.1:${adminPort}/stats?filter=^cluster\\.weir\\.upstream_rq_completed$`);
        return Number(body.split(': ')[1]) === 2 * requests - backend.held();
      }),
    remaining: async (domain, descriptor) => {
      const entries = Object.entries(descriptor).map(([key, value]) => ({ key, value }));
      const { body } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, {
        body: { domain, descriptors: [{ entries, hitsAddend: '0' }] },
      });
      const { statuses } = JSON.parse(body) as { statuses: { limitRemaining?: number }[] };
      return statuses[0]!.limitRemaining ?? 0;
    },
    metric: async (series) => {
      const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
      const line = body.split('\n').find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? 0);
    },
    stop: async () => {
      await envoy.stop();
      await backend.stop();
      await weir.stop();
      await redis?.stop();
    },
  };
}

/** A figure of a bucket that refills: what it was, and a minute's worth more at most. */
export function expectRefilled(remaining: number, { from, perHour }: { readonly from: number; readonly perHour: number }): void {
  expect(remaining).toBeGreaterThanOrEqual(from);
  expect(remaining).toBeLessThanOrEqual(from + Math.ceil(perHour / 60));
}
