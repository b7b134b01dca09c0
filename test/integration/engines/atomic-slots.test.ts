/** On Valkey 9 slots that move in one step fail no call and over-grant nothing. */

import { slotOf } from '../../../src/state/store/redis/cluster-slots';
import { httpRequest } from '../../support/clients/http-client';
import { RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { CALLERS, expectCharged, pause, underLoad } from '../../support/redis/cluster-load';
import { RedisCluster } from '../../support/redis/redis-cluster';
import { describePinned } from '../../support/versions/pinned-versions';
import { listVersions } from '../../support/versions/redis-versions';

const TIMEOUT_MS = 120_000;
const LIMIT = 1_000_000;
/** No multiple of the callers, so that some of those who ask at once are too many. */
const FEW = 1_995;
/** There and back again. */
const MOVES = 4;
const SLOTS = 16_384;

const CONFIG = writeConfig(`
domain: d
hash_tag: tenant
descriptors:
  - key: tenant
    rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window }
    descriptors:
      - key: path
        rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window }
      - key: few
        rate_limit: { unit: year, requests_per_unit: ${FEW}, algorithm: fixed_window }
`);

/** What is decided without Redis would be a failed call. */
const ENV = { REDIS_TYPE: 'CLUSTER', REDIS_OP_TIMEOUT: '1s', FAILURE_MODE: 'unavailable', DENY_CACHE_MAX: '0', LEASES: 'off' };

describe.each(listVersions().filter(({ name }) => name.startsWith('valkey-9')))('a cluster of Valkey', (version) => {
  describePinned(version, () => {
    let cluster: RedisCluster;
    let weir: WeirProcess;
    let client: RlsClient;

    beforeAll(async () => {
      cluster = await RedisCluster.start({ binary: version.binary });
      weir = await startWeir({ config: CONFIG, env: { REDIS_URL: cluster.url, ...ENV } });
      client = new RlsClient(weir.grpcPort);
      await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body === 'OK');
    }, TIMEOUT_MS);

    afterAll(async () => {
      client.close();
      await weir.stop();
      await cluster.stop();
    }, TIMEOUT_MS);

    /** Moves slots of the first primary to the second, and back. */
    async function moveAgainAndAgain({ first, last }: { readonly first: number; readonly last: number }): Promise<void> {
      const [one, other] = cluster.servers;
      for (let i = 0; i < MOVES; i += 1) {
        const [from, to] = i % 2 === 0 ? [one!, other!] : [other!, one!];
        // The new owner may need the script as well.
        await to.client.sendCommand(['SCRIPT', 'FLUSH']);
        await cluster.moveAtOnce({ first, last, from, to });
        await pause(50);
      }
    }

    async function used(descriptors: readonly AskedDescriptor[]): Promise<number[]> {
      const { statuses } = await client.ask(
        'd',
        descriptors.map((each) => ({ ...each, hits_addend: { value: '0' } })),
      );
      return statuses.map(({ current_limit: limit, limit_remaining: left }) => limit!.requests_per_unit - left);
    }

    test(
      'a hot slot moves there and back without a failed call, and exactly the admitted hits are charged',
      async () => {
        const tenant = tenantOn(0, 'hot');
        const descriptors = [{ entries: { tenant } }, { entries: { tenant, path: '/' } }];
        const before = await redirects(weir);
        const slot = slotOf(tagOf(tenant));
        const load = await underLoad(client, descriptors, () => moveAgainAndAgain({ first: slot, last: slot }));
        const { moved, ask } = await redirects(weir);
        figure(`${load.admitted} admitted, ${load.failures.length} failed, ${moved - before.moved} MOVED, ${ask - before.ask} ASK`);
        expect([load.failures, load.denied]).toEqual([[], 0]);
        expectCharged(load, await used(descriptors));
        expect(load.admitted).toBeGreaterThan(CALLERS);
        expect(moved).toBeGreaterThan(before.moved);
        // Between the two owners there is no state in which a key may be at either.
        expect(ask).toBe(before.ask);
      },
      TIMEOUT_MS,
    );

    test(
      'a limit that is used up while its slot moves admits exactly its number',
      async () => {
        const few = [{ entries: { tenant: tenantOn(0, 'few'), few: 'v' } }];
        const slot = slotOf(tagOf(tenantOn(0, 'few')));
        const load = await underLoad(client, few, async () => {
          await moveAgainAndAgain({ first: slot, last: slot });
          await until(async () => (await used(few))[0] === FEW);
          await moveAgainAndAgain({ first: slot, last: slot });
        });
        figure(`${load.admitted} admitted of ${FEW}, ${load.denied} denied, ${load.failures.length} failed`);
        expect([load.failures, await used(few)]).toEqual([[], [FEW]]);
        expect(load.admitted).toBeLessThanOrEqual(FEW);
        expect(load.admitted + load.late).toBeGreaterThanOrEqual(FEW);
        expect(load.denied).toBeGreaterThan(0);
      },
      TIMEOUT_MS,
    );

    test(
      'by the default deadline failure_mode local decides while Valkey holds writes back, and all admitted hits are charged',
      async () => {
        const env = { REDIS_TYPE: 'CLUSTER', REDIS_URL: cluster.url, FAILURE_MODE: 'local' };
        const defaults = await startWeir({ config: CONFIG, env });
        const caller = new RlsClient(defaults.grpcPort);
        const tenant = tenantOn(0, 'local');
        const slot = slotOf(tagOf(tenant));
        const load = await underLoad(caller, [{ entries: { tenant } }], () => moveAgainAndAgain({ first: slot, last: slot }));
        const local = await counted(defaults, 'weir_fallback_hits_total{failure_mode="local"}');
        await until(async () => (await used([{ entries: { tenant } }]))[0]! >= load.admitted);
        const [charged = 0] = await used([{ entries: { tenant } }]);
        figure(`${load.admitted} admitted, ${load.failures.length} failed, ${local} of them by the failure mode, ${charged} charged`);
        expect([load.failures, load.denied]).toEqual([[], 0]);
        // A call that was given up may have run.
        expect(charged).toBeLessThanOrEqual(load.admitted + local);
        caller.close();
        await defaults.stop();
      },
      TIMEOUT_MS,
    );

    test(
      'all slots of a node move while requests over every node are all or nothing',
      async () => {
        const descriptors = [0, 1, 2].map((primary) => ({ entries: { tenant: tenantOn(primary, 'all') } }));
        const load = await underLoad(client, descriptors, () => moveAgainAndAgain({ first: 0, last: Math.floor(SLOTS / 3) - 1 }));
        figure(`${load.admitted} admitted, ${load.failures.length} failed`);
        expect([load.failures, load.denied]).toEqual([[], 0]);
        expectCharged(load, await used(descriptors));
        expect(load.admitted).toBeGreaterThan(CALLERS);
      },
      TIMEOUT_MS,
    );
  });
});

/** The hash tag of a tenant's buckets. */
function tagOf(tenant: string): string {
  return `{d|${tenant}}`;
}

/** A tenant whose buckets are of a slot of the first, second or third primary. */
function tenantOn(primary: number, name: string): string {
  for (let i = 0; ; i += 1) if (Math.floor((slotOf(tagOf(`${name}${i}`)) * 3) / SLOTS) === primary) return `${name}${i}`;
}

async function redirects(weir: WeirProcess): Promise<{ readonly moved: number; readonly ask: number }> {
  const count = (kind: string) => counted(weir, `weir_redis_cluster_redirects_total{kind="${kind}"}`);
  return { moved: await count('moved'), ask: await count('ask') };
}

async function counted(weir: WeirProcess, metric: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  const line = body.split('\n').find((each) => each.startsWith(`${metric} `)) ?? '';
  return Number(line.slice(metric.length));
}
