/** Three Weirs behind two Envoys are replaced one after the other under load, and every request is decided. */

import { writeConfig } from '../support/config/temp-config';
import { until } from '../support/clock/until';
import { figure } from '../support/docs/figure';
import { isLong } from '../support/random/form';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import type { Replacements } from '../support/servers/envoy';
import { startDns, type DnsServer } from '../support/servers/dns-server';
import { freePort } from '../support/servers/ports';
import { DecisionLoad } from './chain/decision-load';
import { startGateway, type Gateway } from './chain/gateway';
import { Pods } from './chain/pods';
import { ENDPOINT } from './chain/published-addresses';

const PODS = 3;

/** Three, or twelve in the long form (`npm test -- envoy --long`). */
const RESTARTS = isLong ? 12 : 3;

/** What a stop, a start and Envoy's noticing may take. */
const RESTART_MS = 40_000;

const CALLER = { merchant: 'm', client: 'c' };
const CLIENTS = 3;
const PAUSE_MS = 10;

/** What all Weirs together admit of /payment while they are replaced. */
const SHARED = 50;
const LIMITS = writeConfig(`
domain: payments
descriptors:
- {key: endpoint, value: /payment, rate_limit: {unit: day, requests_per_unit: ${SHARED}}}
- {key: path, value: /search, descriptors: [{key: client, rate_limit: {unit: hour, requests_per_unit: 0}}]}
`);

/** The long form has the times of deploy/envoy and deploy/kubernetes, the short form those of a service that is restarted faster. */
const PACE = isLong
  ? { drainDelay: '10s', dnsRefresh: '5s', health: {} }
  : {
      drainDelay: '3s',
      dnsRefresh: '1s',
      health: { 'interval: 2s': 'interval: 0.5s', 'no_traffic_interval: 5s': 'no_traffic_interval: 0.5s' },
    };

/** As the record of a headless service in CoreDNS. */
const TTL_S = 5;

interface Fleet {
  readonly pods: Pods;
  readonly gateways: readonly Gateway[];
  stop(): Promise<void>;
}

/** @param changes What is different from the published file, for each Envoy. */
async function startFleet(changes: readonly Replacements[]): Promise<Fleet> {
  const redis: RedisServer = await startRedis();
  const dns: DnsServer = await startDns({ ttlS: TTL_S });
  const grpcPort = await freePort();
  const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', DRAIN_DELAY: PACE.drainDelay };
  const pods = new Pods({ dns, grpcPort, config: LIMITS, env });
  for (let pod = 0; pod < PODS; pod += 1) await pods.start();
  const gateways = await Promise.all(
    changes.map((change) =>
      startGateway({ weirGrpcPort: grpcPort, replacements: { ...PACE.health, ...resolvedBy(dns, grpcPort), ...change } }),
    ),
  );
  for (const gateway of gateways) await untilHealthy(gateway, pods);
  return {
    pods,
    gateways,
    stop: async () => {
      for (const gateway of gateways) await gateway.stop();
      await pods.stopAll();
      await dns.stop();
      await redis.stop();
    },
  };
}

/** The name in place of the address `weir`, and who resolves it. */
function resolvedBy({ port }: DnsServer, grpcPort: number): Record<string, string> {
  const resolver = `{"@type": type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig, resolvers: [{socket_address: {address: 127.0.0.1, port_value: ${port}}}], dns_resolver_options: {no_default_search_domain: true}}`;
  return {
    [ENDPOINT]: ENDPOINT.replace('address: weir', 'address: weir-headless.test').replace('8081', String(grpcPort)),
    'lb_policy: ROUND_ROBIN': `lb_policy: ROUND_ROBIN
    dns_lookup_family: V4_ONLY
    dns_refresh_rate: ${PACE.dnsRefresh}
    typed_dns_resolver_config: {name: envoy.network.dns_resolver.cares, typed_config: ${resolver}}`,
  };
}

/** Envoy sends all ready pods calls, and only those. */
async function untilHealthy(gateway: Gateway, { ready }: Pods): Promise<void> {
  await until(
    async () => {
      const clusters = await gateway.admin('/clusters');
      const healthy = Array.from(clusters.matchAll(/^weir::([\d.]+):\d+::health_flags::healthy$/gm), ([, address]) => address);
      return (
        healthy.sort().join() ===
        ready
          .map(({ address }) => address)
          .sort()
          .join()
      );
    },
    { timeoutMs: RESTART_MS },
  );
}

/** Sums over all Envoys, by the end of the name. */
async function stats(gateways: readonly Gateway[], names: readonly string[]): Promise<Record<string, number>> {
  const pages = await Promise.all(gateways.map((gateway) => gateway.admin('/stats')));
  return Object.fromEntries(
    names.map((name) => [
      name,
      pages
        .flatMap((page) => page.split('\n').filter((line) => line.split(': ')[0]!.endsWith(name)))
        .reduce((sum, line) => sum + Number(line.split(': ')[1]), 0),
    ]),
  );
}

const FAILED = ['.ratelimit.weir.error', '.ratelimit.weir.failure_mode_allowed'];
const SENT_AGAIN = ['cluster.weir.upstream_rq_retry', 'cluster.weir.upstream_cx_connect_fail'];

test(
  `three Weirs behind two Envoys are replaced one after the other under load, ${RESTARTS} times, and no request passes without a decision`,
  async () => {
    const fleet = await startFleet([{}, {}]);
    const { pods, gateways } = fleet;
    const before = await stats(gateways, FAILED);
    const load = (path: string) =>
      gateways.map((gateway) => new DecisionLoad(gateway, { path, caller: CALLER, clients: CLIENTS, pauseMs: PAUSE_MS }));
    const [denied, shared] = [load('/search'), load('/payment')];
    const requests = (): number => [...denied, ...shared].reduce((sum, each) => sum + each.requests, 0);
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const atStart = requests();
      expect(await pods.stopOldest()).toBe(0);
      await pods.start();
      for (const gateway of gateways) await untilHealthy(gateway, pods);
      // The load was there all the time.
      expect(requests() - atStart).toBeGreaterThan(100);
    }
    for (const each of [...denied, ...shared]) await each.stop();
    const failed = Object.entries(await stats(gateways, FAILED)).map(([name, count]) => [name, count - before[name]!]);
    const admitted = shared.reduce((sum, each) => sum + each.of(200), 0);
    figure(
      `${RESTARTS} restarts: ${requests().toLocaleString('en')} requests, ${denied.reduce((sum, each) => sum + each.of(200), 0)} failed open, ${admitted} of ${SHARED} admitted; ${JSON.stringify(Object.fromEntries(failed))} ${JSON.stringify(await stats(gateways, SENT_AGAIN))}`,
    );
    await fleet.stop();
    expect(Object.fromEntries(failed)).toEqual(Object.fromEntries(FAILED.map((name) => [name, 0])));
    for (const each of denied) expect(each.statuses).toEqual({ 429: each.requests });
    expect(admitted).toBe(SHARED);
  },
  RESTARTS * RESTART_MS + RESTART_MS,
);

test(
  'a Weir that is killed under load costs at most the calls that it had, and none where Envoy sends those again',
  async () => {
    const fleet = await startFleet([{}, { 'connect-failure,refused-stream': 'connect-failure,refused-stream,reset' }]);
    const { pods, gateways } = fleet;
    const clients = 2 * CLIENTS;
    const loads = gateways.map((gateway) => new DecisionLoad(gateway, { path: '/search', caller: CALLER, clients }));
    const requests = (): number => Math.min(...loads.map((load) => load.requests));
    await until(() => requests() > 100);
    const atCrash = requests();
    // The name still has it, so that Envoy alone notices.
    const { forget } = await pods.crashOldest();
    await until(() => requests() - atCrash > 500);
    forget();
    for (const gateway of gateways) await untilHealthy(gateway, pods);
    for (const load of loads) await load.stop();
    const [asPublished = NaN, withReset = NaN] = loads.map((load) => load.of(200));
    figure(
      `failed open: ${asPublished} of ${clients} in flight as published, ${withReset} with reset; ${JSON.stringify(await stats(gateways, [...FAILED, ...SENT_AGAIN]))}`,
    );
    const counted = await stats(gateways, FAILED);
    await fleet.stop();
    expect(asPublished).toBeLessThanOrEqual(clients);
    expect(withReset).toBe(0);
    // Envoy's own counters, which the other test reads, count the same.
    expect(Object.values(counted)).toEqual(FAILED.map(() => asPublished));
  },
  2 * RESTART_MS,
);
