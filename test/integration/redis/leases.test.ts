/** Three instances with leases, one of them killed, admit no more than the limit of any key, and ask Redis less often than they decide. */

import { httpRequest } from '../../support/clients/http-client';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { randomFrom } from '../../support/random/random';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';

const TIMEOUT_MS = 120_000;
const LIMIT = 500;
const KEYS = 100;
/** A year has no edge while the test runs. */
const CONFIG = writeConfig(`
domain: d
descriptors:
  - { key: k, rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window, leases: auto } }
`);

const YEAR_US = 31_536_000_000_000;

/** Rounds are short, so that requests come one after the other like those of real clients. */
const ROUND_MS = 5;
const ROUND_REQUESTS = 2;
/** The busiest key is then denied. */
const ASKED_OF_FIRST = 1.3 * LIMIT;
const ROUNDS_MAX = 20_000;

/** A key gets the fewer requests the higher its number is, as in a zipf distribution with exponent 1. */
function zipf(random: (below: number) => number): number {
  return Math.min(KEYS, Math.floor(KEYS ** (random(1_000_000) / 1_000_000))) - 1;
}

async function metricOf({ debugPort }: WeirProcess, name: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1]);
}

async function hitsOf(weir: WeirProcess) {
  const of = (event: string) => metricOf(weir, `weir_lease_hits_${event}_total`);
  const [charged, used, givenBack, lost] = await Promise.all([of('charged'), of('used'), of('given_back'), of('lost')]);
  return { charged, used, givenBack, lost };
}

async function commandsOf({ port }: RedisServer): Promise<number> {
  const client = await makeTestClient(port).connect();
  const stats = await client.info('commandstats');
  client.destroy();
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

/** Hits of all keys as Redis has counted them: a state is the number of the window times twice its length, and the used hits. */
async function usedIn({ port }: RedisServer): Promise<number> {
  const client = await makeTestClient(port).connect();
  let used = 0;
  for (const key of await client.keys('1{d}*')) used += Number(await client.get(key)) % (2 * YEAR_US);
  client.destroy();
  return used;
}

class Traffic {
  readonly asked = new Array<number>(KEYS).fill(0);
  readonly admitted = new Array<number>(KEYS).fill(0);
  readonly denied = new Array<number>(KEYS).fill(0);
  private readonly random = randomFrom();

  /** Until the first key has been asked for so often. */
  async run(clients: readonly RlsClient[], askedOfFirst: number): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && (this.asked[0] ?? 0) < askedOfFirst; round += 1) {
      const answers = clients.flatMap((client) => Array.from({ length: ROUND_REQUESTS }, () => this.ask(client)));
      await Promise.all([...answers, new Promise((resolve) => setTimeout(resolve, ROUND_MS))]);
    }
  }

  private async ask(client: RlsClient): Promise<void> {
    const key = zipf(this.random);
    this.asked[key]! += 1;
    const { overall_code: code } = await client.ask('d', [{ entries: { k: String(key) } }]);
    if (code === OK) this.admitted[key]! += 1;
    if (code === OVER_LIMIT) this.denied[key]! += 1;
  }
}

test(
  'no key of a zipf distribution is admitted above its limit, although an instance is killed',
  async () => {
    const redis = await startRedis();
    const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
    const weirs = await Promise.all([1, 2, 3].map(() => startWeir({ config: CONFIG, env })));
    const clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
    const traffic = new Traffic();
    const before = await commandsOf(redis);

    await traffic.run(clients, LIMIT / 2);
    const [killed, ...living] = weirs as [WeirProcess, ...WeirProcess[]];
    clients[0]?.close();
    const { charged, used, givenBack, lost } = await hitsOf(killed);
    const stranded = charged - used - givenBack - lost;
    killed.kill('SIGKILL');
    await killed.stop();
    await traffic.run(clients.slice(1), ASKED_OF_FIRST);

    const { asked, admitted, denied } = traffic;
    const decisions = asked.reduce((sum, count) => sum + count, 0);
    const commands = (await commandsOf(redis)) - before;
    expect(Math.max(...admitted)).toBeLessThanOrEqual(LIMIT);
    expect(denied[0]).toBeGreaterThan(0);
    const ofLiving = await Promise.all(living.map(hitsOf));
    const leased = used + ofLiving.reduce((sum, hits) => sum + hits.used, 0);
    expect(leased).toBeGreaterThan(decisions / 10);
    // An exact limiter admits what is asked for, up to the limit.
    const deniedTooMuch = asked.reduce((sum, count, key) => sum + Math.min(count, LIMIT) - admitted[key]!, 0);
    const perDecision = (commands / decisions).toFixed(2);
    figure(
      `${decisions} decisions, ${leased} from leases, ${perDecision} commands each, ${deniedTooMuch} denied beyond an exact limiter, ${stranded} leased hits stranded in the killed instance, over-grant 0`,
    );

    for (const client of clients.slice(1)) client.close();
    for (const weir of living) expect(await weir.stop()).toBe(0);
    // The drained instances have given their unused hits back.
    const unused = (await usedIn(redis)) - admitted.reduce((sum, count) => sum + count, 0);
    const lostByLiving = ofLiving.reduce((sum, hits) => sum + hits.lost, 0);
    expect(unused).toBeGreaterThanOrEqual(0);
    expect(unused).toBeLessThanOrEqual(stranded + lost + lostByLiving);
    await redis.stop();
  },
  TIMEOUT_MS,
);
