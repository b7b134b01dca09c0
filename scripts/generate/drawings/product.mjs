/** The programs that the drawings ask: a Redis, and a Weir with the limits of a drawing. The tests have the code that starts them. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';

/** @typedef {import('../../../src/server/transport/messages/wire.js').WireValue} WireValue */
/** @typedef {import('../../../src/server/transport/messages/wire.js').WireStruct} WireStruct */
/** @typedef {import('../../../test/support/redis/redis-server.js').RedisOptions} RedisOptions */
/** @typedef {import('../../../test/support/redis/redis-server.js').RedisServer} RedisServer */
/** @typedef {import('../../../test/support/clients/rls-client.js').AskedDescriptor} AskedDescriptor */

/** @type {(path: string) => unknown} */
const load = createRequire(import.meta.url);
load('../../process/load-typescript.cjs');
const { startRedis } = /** @type {typeof import('../../../test/support/redis/redis-server.js')} */ (
  load('../../../test/support/redis/redis-server.ts')
);
const { startWeir } = /** @type {typeof import('../../../test/support/processes/weir-process.js')} */ (
  load('../../../test/support/processes/weir-process.ts')
);
const { RlsClient } = /** @type {typeof import('../../../test/support/clients/rls-client.js')} */ (
  load('../../../test/support/clients/rls-client.ts')
);
const { httpRequest } = /** @type {typeof import('../../../test/support/clients/http-client.js')} */ (
  load('../../../test/support/clients/http-client.ts')
);
const { runCommand } = /** @type {typeof import('../../../test/support/processes/command.js')} */ (
  load('../../../test/support/processes/command.ts')
);

export { runCommand };
export const WEIR = join(ROOT, 'dist', 'main.js');

const SETTINGS = {
  // The longest that is accepted, for a busy machine. A Redis that is gone refuses at once.
  REDIS_OP_TIMEOUT: '1s',
  // Redis decides each request. An answer of the deny cache shows other buckets by their last known values.
  DENY_CACHE_MAX: '0',
  WARM_UP: 'false',
};
const ASK_TIMEOUT_MS = 10_000;
const UNAVAILABLE = 14;
/** @type {readonly string[]} */
const CODES = ['UNKNOWN', 'OK', 'OVER_LIMIT'];

/**
 * What a caller got: `code` is that of the answer, or the gRPC status UNAVAILABLE.
 *
 * @typedef {object} Answer
 * @property {string} code
 * @property {readonly { readonly code: string, readonly limit: number, readonly remaining: number }[]} statuses
 * @property {string} decidedBy Empty if Redis decided.
 * @property {readonly string[]} deniedBy The rules that denied.
 * @property {readonly string[]} rules For each descriptor.
 */

/**
 * @typedef {object} Product
 * @property {RedisServer} redis
 * @property {(descriptors: readonly AskedDescriptor[]) => Promise<Answer>} ask
 * @property {() => Promise<string>} health
 * @property {(metric: string) => Promise<number>} metric Its sum over all labels.
 */

/**
 * Runs `use` with a Redis and a Weir, and ends both.
 *
 * @template T
 * @param {{ config: string, redis?: RedisOptions, domain: string }} options
 * @param {(product: Product) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withProduct({ config, redis: redisOptions = {}, domain }, use) {
  const redis = await startRedis(redisOptions);
  try {
    const weir = await startWeir({
      config,
      env: { REDIS_URL: `127.0.0.1:${redis.port}`, RESPONSE_DECISION_METADATA: 'true', ...SETTINGS },
    });
    const client = new RlsClient(weir.grpcPort);
    try {
      return await use({
        redis,
        ask: (descriptors) => ask(client, domain, descriptors),
        health: async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body.trim(),
        metric: async (name) => sumOf(name, (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body),
      });
    } finally {
      client.close();
      await weir.stop();
    }
  } finally {
    await redis.stop();
  }
}

/**
 * @param {InstanceType<typeof RlsClient>} client
 * @param {string} domain
 * @param {readonly AskedDescriptor[]} descriptors
 * @returns {Promise<Answer>}
 */
async function ask(client, domain, descriptors) {
  try {
    const response = await client.ask(domain, descriptors, { timeoutMs: ASK_TIMEOUT_MS });
    const { statuses, overall_code: code, dynamic_metadata: metadata } = response;
    const { decided_by: decidedBy, decision } = plainFields(metadata);
    const { denied_by: deniedBy, descriptors: decided } = /** @type {{ denied_by?: string[], descriptors?: { rule?: string }[] }} */ (
      decision ?? {}
    );
    return {
      code: CODES[code] ?? '',
      statuses: statuses.map((status) => ({
        code: CODES[status.code] ?? '',
        limit: status.current_limit?.requests_per_unit ?? 0,
        remaining: status.limit_remaining,
      })),
      decidedBy: typeof decidedBy === 'string' ? decidedBy : '',
      deniedBy: deniedBy ?? [],
      rules: (decided ?? []).map(({ rule = '' }) => rule),
    };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === UNAVAILABLE)) throw error;
    return { code: 'UNAVAILABLE', statuses: [], decidedBy: '', deniedBy: [], rules: [] };
  }
}

/**
 * @param {WireStruct | undefined} struct
 * @returns {Record<string, unknown>}
 */
function plainFields(struct) {
  return Object.fromEntries(Object.entries(struct?.fields ?? {}).map(([name, value]) => [name, plain(value)]));
}

/**
 * @param {WireValue} value
 * @returns {unknown}
 */
function plain({ structValue, listValue, stringValue, numberValue, boolValue }) {
  if (structValue !== undefined) return plainFields(structValue);
  if (listValue !== undefined) return listValue.values.map(plain);
  return stringValue ?? numberValue ?? boolValue;
}

/**
 * @param {string} name
 * @param {string} metrics In the text format of Prometheus.
 */
function sumOf(name, metrics) {
  return metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
