/** Weirs that restart behind an Envoy under load decide every request, and aged connections lose none. */

import { isLong } from '../support/random/form';
import { freePort } from '../support/servers/ports';
import { writeConfig } from '../support/config/temp-config';
import { TRANSPORTS } from '../support/servers/transport-harness';
import { until } from '../support/clock/until';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { DecisionLoad } from './chain/decision-load';
import { startGateway, type Gateway } from './chain/gateway';
import { figure } from '../support/docs/figure';

/** Two, or twelve in the long form (`npm test -- envoy --long`). */
const DRAINS = isLong ? 12 : 2;
const AGES_MS = isLong ? 20_000 : 4000;

/** What a stop, a start and Envoy's noticing may take. */
const DRAIN_MS = 20_000;

const CALLER = { merchant: 'm', client: 'c' };
const LOAD = { caller: CALLER, path: '/search', clients: 8 };

/** No request is ever allowed: one that passes is one that was not decided. */
const NOTHING = writeConfig(
  'domain: payments\ndescriptors: [{ key: path, descriptors: [{ key: client, rate_limit: { unit: hour, requests_per_unit: 0 } }] }]\n',
);

/** As published, but for a pace that a test can wait for; and nothing is sent twice, so that nothing hides a loss. */
const CHANGES = {
  'interval: 2s': 'interval: 0.2s',
  'no_traffic_interval: 5s': 'no_traffic_interval: 0.2s',
  'num_retries: 2': 'num_retries: 0',
};

function start(transport: string, port: number, env: Record<string, string> = {}): Promise<WeirProcess> {
  return startWeir({ config: NOTHING, env: { BACKEND_TYPE: 'memory', TRANSPORT: transport, GRPC_PORT: String(port), ...env } });
}

/** Envoy sends this many of its Weirs calls. */
function untilHealthy(gateway: Gateway, count: number): Promise<void> {
  return until(async () => {
    const clusters = await gateway.admin('/clusters');
    return clusters.match(/^weir::.*::health_flags::healthy$/gm)?.length === count;
  });
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  test(
    `two Weirs decide every request while each restarts in turn, ${DRAINS} times`,
    async () => {
      const ports = [await freePort(), await freePort()] as const;
      // Envoy takes a change of a host's health up to a second later (update_merge_window).
      const env = { DRAIN_DELAY: '2500ms' };
      const weirs = [await start(transport, ports[0], env), await start(transport, ports[1], env)];
      const gateway = await startGateway({ weirGrpcPort: ports[0], otherWeirGrpcPort: ports[1], replacements: CHANGES });
      await untilHealthy(gateway, 2);
      const load = new DecisionLoad(gateway, LOAD);
      for (let drain = 0; drain < DRAINS; drain += 1) {
        const at = drain % 2;
        const before = load.requests;
        expect(await weirs[at]!.stop()).toBe(0);
        // The load was there all the time.
        expect(load.requests - before).toBeGreaterThan(50);
        weirs[at] = await start(transport, ports[at]!, env);
        await untilHealthy(gateway, 2);
      }
      await load.stop();
      figure(`${DRAINS} drains over ${transport}: ${load.describe()}`);
      await gateway.stop();
      for (const weir of weirs) await weir.stop();
      expect(load.statuses).toEqual({ 429: load.requests });
    },
    DRAINS * DRAIN_MS,
  );

  test(
    'the lean transport decides every request under load while connections reach their maximum age',
    async () => {
      const port = await freePort();
      const weir = await start(transport, port, { GRPC_MAX_CONNECTION_AGE: '300ms', GRPC_MAX_CONNECTION_AGE_GRACE: '5s' });
      const gateway = await startGateway({ weirGrpcPort: port, replacements: CHANGES });
      await untilHealthy(gateway, 1);
      const load = new DecisionLoad(gateway, LOAD);
      await new Promise((resolve) => setTimeout(resolve, AGES_MS));
      await load.stop();
      const stats = await gateway.admin('/stats?filter=cluster.weir.upstream_cx_(total|close_notify)');
      figure(`${transport}: ${load.describe()}, ${stats.trim().replaceAll('\n', ', ')}`);
      await gateway.stop();
      await weir.stop();
      expect(Number(/upstream_cx_total: (\d+)/.exec(stats)?.[1])).toBeGreaterThan(AGES_MS / 4000);
      // node:http2 looks at no stream that comes after its first GOAWAY: Envoy waits for those in vain.
      if (transport === 'lean') expect(load.statuses).toEqual({ 429: load.requests });
      else expect(load.statuses[429]).toBeGreaterThan(0);
    },
    AGES_MS + DRAIN_MS,
  );

  test(
    'one restarted Weir decides every request from its first one',
    async () => {
      const port = await freePort();
      let weir = await start(transport, port);
      const gateway = await startGateway({ weirGrpcPort: port, replacements: CHANGES });
      await untilHealthy(gateway, 1);
      expect((await gateway.get('/search', CALLER)).status).toBe(429);
      expect(await weir.stop()).toBe(0);
      expect((await gateway.get('/search', CALLER)).status).toBe(200);
      weir = await start(transport, port);
      await untilHealthy(gateway, 1);
      const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.get('/search', CALLER)));
      await gateway.stop();
      await weir.stop();
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(429));
    },
    2 * DRAIN_MS,
  );
});
