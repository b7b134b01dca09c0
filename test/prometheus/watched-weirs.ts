/** The Weirs that a Prometheus watches in these tests: each has its callers, its own fault, and what ends the fault. */

import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { DEFAULT_ALERT_OPTIONS, type AlertOptions } from '../../scripts/generate/monitoring/alerts';
import { httpRequest } from '../support/clients/http-client';
import { RlsClient, type AskedDescriptor } from '../support/clients/rls-client';
import { until } from '../support/clock/until';
import { writeConfig } from '../support/config/temp-config';
import { startReceiver } from '../support/events/receiver';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { makeCertificates } from '../support/servers/certificates';
import { freePort } from '../support/servers/ports';
import { TcpProxy } from '../support/servers/tcp-proxy';
import { XdsServer } from '../support/servers/xds-server';

function clientOf({ port }: RedisServer) {
  return createClient({ socket: { host: '127.0.0.1', port } });
}

/** A Weir with callers. */
export interface Watched {
  readonly weir: WeirProcess;
  /** Further instances of the same job. */
  readonly others?: readonly WeirProcess[];
  /** Alerts that its fault fires. */
  readonly alerts: readonly string[];
  /** Alerts that the end of its fault fires. */
  readonly alertsAfter?: readonly string[];
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
  /** Repairs what the end of the fault broke. */
  restore?(): Promise<void>;
  stop(): Promise<void>;
}

/** What the alerts of these tests assume: a busy machine is never that slow by itself. */
export const WATCHED_ALERTS: AlertOptions = { ...DEFAULT_ALERT_OPTIONS, envoyTimeoutMs: 400, lagMaxMs: 150 };

const DELAY_MS = 500;

/** No decision is given up for lateness. */
const PATIENT = { REDIS_OP_TIMEOUT: '1s' } as const;

const CALL_EVERY_MS = 40;

/** Calls one after the other until `stop`, which also closes the client. */
class Callers {
  private isStopped = false;
  private readonly done: Promise<void>;

  private constructor(
    private readonly call: () => Promise<unknown>,
    private readonly close: () => void,
  ) {
    this.done = this.run();
  }

  static overGrpc(port: number, call: (client: RlsClient) => Promise<unknown>): Callers {
    const client = new RlsClient(port);
    return new Callers(
      () => call(client),
      () => {
        client.close();
      },
    );
  }

  static overHttp(call: () => Promise<unknown>): Callers {
    return new Callers(call, () => undefined);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.done;
    this.close();
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      // During a fault some calls get an error.
      await this.call().catch(() => undefined);
      await pause(CALL_EVERY_MS);
    }
  }
}

/** One call for each descriptor, together. */
function askAll(client: RlsClient, domain: string, descriptors: readonly AskedDescriptor[]): Promise<unknown> {
  return Promise.all(descriptors.map((descriptor) => client.ask(domain, [descriptor])));
}

/** Redis goes away, and comes back with buckets that it cannot count in. */
async function startOutage(redis: RedisServer): Promise<Watched> {
  const proxy = await TcpProxy.start(redis.port);
  const client = clientOf(redis);
  await client.connect();
  const limit = (mode: string, requests = 100_000) => `rate_limit: { unit: day, requests_per_unit: ${requests}, failure_mode: ${mode} }`;
  const config = writeConfig(`domain: outage
descriptors:
  - { key: open, ${limit('open')} }
  - { key: local, ${limit('local')} }
  - { key: strict, ${limit('unavailable')} }
  - { key: used_up, ${limit('closed', 1)} }
`);
  const weir = await startWeir({
    config,
    env: { REDIS_URL: `127.0.0.1:${proxy.port}`, CONTROL_DATA: 'true', CACHE_KEY_PREFIX: 'outage:', ...PATIENT },
  });
  const descriptors = ['open', 'local', 'strict', 'used_up'].map((key) => ({ entries: { [key]: 'x' } }));
  const callers = Callers.overGrpc(weir.grpcPort, (client) => askAll(client, 'outage', descriptors));
  // A bucket that is full again is gone from Redis, so its name is kept from before.
  let buckets: readonly string[] = [];
  return {
    weir,
    alerts: ['WeirFailingOpen', 'WeirDecidingWithoutRedis', 'WeirErrorBudgetFastBurn', 'WeirErrorBudgetSlowBurn', 'WeirControlDataStale'],
    alertsAfter: ['WeirHitsLost'],
    begin: async () => {
      await until(async () => (buckets = await client.keys('outage:*local*')).length > 0);
      proxy.pointTo(await freePort());
      proxy.resetOpen();
    },
    end: async () => {
      // No script counts in a list.
      for (const key of buckets) await client.multi().del(key).rPush(key, 'foreign').exec();
      proxy.pointTo(redis.port);
    },
    restore: async () => {
      for (const key of buckets) await client.del(key);
    },
    stop: async () => {
      client.destroy();
      await callers.stop();
      await weir.stop();
      await proxy.stop();
    },
  };
}

/** Redis answers, but late; two workers, asked over HTTP alone. Its configuration becomes invalid. */
async function startSlow(redis: RedisServer): Promise<Watched> {
  const proxy = await TcpProxy.start(redis.port);
  const valid = 'domain: slow\ndescriptors:\n  - { key: user, rate_limit: { unit: hour, requests_per_unit: 1000000 } }\n';
  const config = writeConfig(valid);
  const weir = await startWeir({
    config,
    env: { REDIS_URL: `127.0.0.1:${proxy.port}`, WORKERS: '2', CACHE_KEY_PREFIX: 'slow:', ...PATIENT },
  });
  const callers = Callers.overHttp(() =>
    httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, {
      body: { domain: 'slow', descriptors: [{ entries: [{ key: 'user', value: 'x' }] }] },
    }),
  );
  return {
    weir,
    alerts: ['WeirSlowDecisions', 'WeirConfigurationRefused'],
    begin: () => {
      proxy.delayReplies(DELAY_MS);
      writeFileSync(config, 'domain: slow\ndescriptors: none\n');
    },
    end: () => {
      proxy.delayReplies(0);
      writeFileSync(config, valid);
    },
    stop: async () => {
      await callers.stop();
      await weir.stop();
      await proxy.stop();
    },
  };
}

const EVENTS_SECRET = 'a secret of at least 24 bytes';

/** Callers ask for more than their limits, and for more than a line of the decision log takes; no event is taken; a reload brings more rules than METRIC_SERIES_MAX. */
async function startRules(): Promise<Watched> {
  const hourly = (requests: number) => `unit: hour, requests_per_unit: ${requests}`;
  const rollout = (percent: number) => `{ by: tried, percent: ${percent}, stop_if: { denied_above: 2%, for: 4s } }`;
  const text = `domain: rules
plans:
  free: { rate_limit: { ${hourly(1_000_000)} } }
descriptors:
  - { key: customer, tenant: true, default_plan: free }
  - { key: busy, value: all, rate_limit: { unit: second, requests_per_unit: 1000, algorithm: token_bucket } }
  - { key: hourly, value: all, rate_limit: { ${hourly(1_000_000)} } }
  - { key: daily, value: all, rate_limit: { unit: day, requests_per_unit: 1000000 } }
  - { key: few, rate_limit: { ${hourly(50)} } }
  - { key: shadow, shadow_mode: true, rate_limit: { ${hourly(1)} } }
  - { key: tried, rate_limit: { ${hourly(1_000_000)}, candidate: { requests_per_unit: 1, rollout: ROLLOUT } } }
  - { key: trial, rate_limit: { ${hourly(1_000_000)}, candidate: { requests_per_unit: 1, rollout: { by: trial, percent: 100 } } } }
  - { key: punished, rate_limit: { ${hourly(1)} }, penalty: { denials: 1, within: 1m, block: 1h } }
  - { key: tenant, rate_limit: { ${hourly(100)}, events: { at: [100%] } } }
`.replace('ROLLOUT', rollout(0));
  const limits = 10;
  const receiver = await startReceiver(EVENTS_SECRET);
  const secret = path.join(mkdtempSync(path.join(tmpdir(), 'weir-events-')), 'secret');
  writeFileSync(secret, EVENTS_SECRET);
  const config = writeConfig(text);
  const weir = await startWeir({
    config,
    env: {
      BACKEND_TYPE: 'memory',
      CONTROL_DATA: 'true',
      METRIC_TOP_KEYS: '5',
      METRIC_SERIES_MAX: String(limits),
      DECISION_LOG: '/dev/null',
      EVENTS_URL: receiver.url,
      EVENTS_SECRET_FILE: secret,
      EVENTS_ALLOW_PRIVATE_ADDRESSES: 'true',
      // The alert ends when the events are given up, long before the last ones of others.
      EVENTS_RETRY_FOR: '15s',
    },
  });
  const shared = ['hourly', 'daily'].map((key) => ({ entries: { [key]: 'all' } }));
  const ordinary = ['customer', 'few', 'shadow', 'tried', 'trial', 'punished', 'tenant'].map((key) => ({ entries: { [key]: 'x' } }));
  const excess: readonly AskedDescriptor[] = [
    ...shared,
    { entries: { busy: 'all' }, hits_addend: { value: '100' } },
    { entries: { tenant: 'loud' }, hits_addend: { value: '100' } },
    { entries: { tried: 'x' }, hits_addend: { value: '100' } },
    // Too long for a line of the decision log.
    { entries: { shadow: 'x'.repeat(65_500) } },
  ];
  let isExcessive = false;
  const callers = Callers.overGrpc(weir.grpcPort, async (client) => {
    await askAll(client, 'rules', isExcessive ? [...ordinary, ...excess] : ordinary);
    await client.ask('unknown', [{ entries: { user: 'x' } }]);
  });
  connect(weir.grpcPort, '127.0.0.1')
    .on('error', () => undefined)
    .end('not HTTP/2, so that Weir ends the connection\r\n\r\n');
  return {
    weir,
    alerts: [
      'WeirTopKeyDenied',
      'WeirLimitNearlyUsed',
      'WeirSeriesDropped',
      'WeirRolloutTakenBack',
      'WeirDecisionLogLost',
      'WeirEventsUndelivered',
    ],
    begin: () => {
      receiver.answerWith(503);
      isExcessive = true;
      writeFileSync(config, `${text.replace(rollout(0), rollout(100))}  - { key: one_more, rate_limit: { ${hourly(1)} } }\n`);
    },
    end: () => {
      isExcessive = false;
      receiver.answerWith(204);
      writeFileSync(config, text);
    },
    stop: async () => {
      await callers.stop();
      await weir.stop();
      await receiver.close();
    },
  };
}

/** Configuration from a management server, which goes away, and TLS with a certificate that ends soon. */
async function startEdge(): Promise<Watched> {
  const { ca, server: lasting, client } = makeCertificates({ days: 90 });
  const ending = makeCertificates({ days: 2 }).server;
  const server = await XdsServer.start({ tls: { server: lasting, clientCa: ca.cert } });
  server.send('1', [{ name: 'edge', domain: 'edge', descriptors: [{ key: 'user', rate_limit: { unit: 1, requests_per_unit: 5 } }] }]);
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-certificate-'));
  const [cert, key] = [path.join(folder, 'tls.crt'), path.join(folder, 'tls.key')];
  const use = (pair: typeof lasting): void => {
    copyFileSync(pair.key, key);
    copyFileSync(pair.cert, cert);
  };
  use(lasting);
  const weir = await startWeir({
    env: {
      BACKEND_TYPE: 'memory',
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_NODE_ID: 'edge',
      CONFIG_GRPC_XDS_SERVER_URL: `localhost:${server.port}`,
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '100ms',
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '100ms',
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: '500ms',
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: ca.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: client.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: client.key,
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: cert,
      GRPC_SERVER_TLS_KEY: key,
    },
  });
  return {
    weir,
    alerts: ['WeirXdsGone', 'WeirCertificateEnds'],
    begin: () => {
      server.die();
      use(ending);
    },
    end: async () => {
      use(lasting);
      await server.comeBack();
    },
    stop: async () => {
      await weir.stop();
      server.stop();
    },
  };
}

/** Another hand damages its control data: of two records that Redis should have it lacks one, and the other is none. */
async function startDamaged(redis: RedisServer): Promise<Watched> {
  const client = clientOf(redis);
  await client.connect();
  const weir = await startWeir({
    config: writeConfig('domain: damaged\ndescriptors:\n  - { key: user, rate_limit: { unit: hour, requests_per_unit: 10 } }\n'),
    env: { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', CACHE_KEY_PREFIX: 'damaged:', ...PATIENT },
  });
  const space = 'damaged:weir:control:1{weir:control}';
  return {
    weir,
    alerts: ['WeirControlDataLost', 'WeirControlDataUnreadable'],
    begin: async () => {
      await client.hSet(`${space}record:pass`, 'damaged/p', 'none');
      await client.hSet(`${space}about`, { epoch: 'e', version: '5', sizes: '5 0 0 0 1 1' });
    },
    end: async () => {
      await client.del([`${space}record:pass`, `${space}about`]);
    },
    stop: async () => {
      client.destroy();
      await weir.stop();
    },
  };
}

/** How an instance is starved: it runs for the rest of each turn, which is shorter than the interval of scrapes. */
const STOPPED_MS = 250;
const TURN_MS = 450;

/** It lacks processor time. */
async function startStarved(): Promise<Watched> {
  const weir = await startWeir({
    config: writeConfig('domain: starved\ndescriptors:\n  - { key: user, rate_limit: { unit: hour, requests_per_unit: 10 } }\n'),
    env: { BACKEND_TYPE: 'memory' },
  });
  let isStarved = false;
  let starved: Promise<void> = Promise.resolve();
  const starve = async () => {
    while (isStarved) {
      weir.kill('SIGSTOP');
      await pause(STOPPED_MS);
      weir.kill('SIGCONT');
      await pause(TURN_MS - STOPPED_MS);
    }
  };
  const end = async () => {
    isStarved = false;
    await starved;
  };
  return {
    weir,
    alerts: ['WeirRunsLate'],
    begin: () => {
      isStarved = true;
      starved = starve();
    },
    end,
    stop: async () => {
      await end();
      await weir.stop();
    },
  };
}

/** More than WeirRestarting allows. */
const RESTARTS = 3;

/** Two instances that proxies ask over HTTP alone. One goes away, and then restarts again and again; their Redis evicts. */
async function startPair(): Promise<Watched> {
  const redis = await startRedis({ config: ['--maxmemory', '4mb', '--maxmemory-policy', 'volatile-lru'] });
  const client = clientOf(redis);
  await client.connect();
  const limit = 'rate_limit: { unit: hour, requests_per_unit: 1000000 }';
  const config = writeConfig(
    `domain: pair\ndescriptors:\n  - { key: endpoint, ${limit} }\n  - { key: path, value: /known, ${limit} }\n  - { key: path, value: /declared }\n`,
  );
  const env = {
    REDIS_URL: `127.0.0.1:${redis.port}`,
    CHECK_DOMAIN: 'pair',
    CHECK_DESCRIPTORS: 'endpoint=path; path=path',
    ...PATIENT,
  };
  const [weir, other] = await Promise.all([startWeir({ config, env }), startWeir({ config, env })]);
  let instance: WeirProcess | undefined = other;
  const restart = async () => {
    await instance?.stop();
    instance = await startWeir({ config, env: { ...env, DEBUG_PORT: String(other.debugPort) } });
    // So that it is scraped before it ends.
    await pause(1_500);
  };
  let paths: readonly string[] = ['/known', '/declared'];
  const callers = Callers.overHttp(() =>
    Promise.all(paths.map((uri) => httpRequest(`http://127.0.0.1:${weir.httpPort}/check`, { headers: { 'x-forwarded-uri': uri } }))),
  );
  return {
    weir,
    others: [{ ...other, stop: async () => (await instance?.stop()) ?? null }],
    alerts: ['WeirInstanceGone', 'WeirFewInstances', 'WeirUnmatchedDescriptors', 'WeirRedisEvicts'],
    alertsAfter: ['WeirRestarting'],
    begin: async () => {
      paths = ['/known', '/declared', '/unknown'];
      await other.stop();
      instance = undefined;
      const value = 'x'.repeat(10_000);
      for (let i = 0; i < 800; i += 1) await client.set(`filler ${i}`, value, { expiration: { type: 'EX', value: 600 } });
    },
    end: async () => {
      paths = ['/known', '/declared'];
      for (let i = 0; i <= RESTARTS; i += 1) await restart();
    },
    stop: async () => {
      client.destroy();
      await callers.stop();
      await Promise.all([weir.stop(), instance?.stop()]);
      await redis.stop();
    },
  };
}

/** All of them by the name of their job, and what stops them. */
export async function startWatched(): Promise<{ readonly watched: Readonly<Record<string, Watched>>; stop(): Promise<void> }> {
  const redis = await startRedis();
  const [outage, slow, rules, edge, pair, starved, damaged] = await Promise.all([
    startOutage(redis),
    startSlow(redis),
    startRules(),
    startEdge(),
    startPair(),
    startStarved(),
    startDamaged(redis),
  ]);
  const watched = { outage, slow, rules, edge, pair, starved, damaged };
  return {
    watched,
    stop: async () => {
      await Promise.all(Object.values(watched).map((each) => each.stop()));
      await redis.stop();
    },
  };
}
