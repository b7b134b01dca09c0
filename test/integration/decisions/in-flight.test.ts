/** At most `max` requests run at once over three processes, and all slots of dead callers are free after `hold`. */

import { setTimeout as pause } from 'node:timers/promises';
import { randomFrom, seeded, type Random } from '../../support/random/random';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { figure } from '../../support/docs/figure';

const CALLERS = 64;
const MAX = 20;
const HOLD_MS = 2_000;
const DURATION_MS = 5_000;
const RUN_MS_MAX = 25;
const TIMEOUT_MS = 120_000;

const CONFIG = writeConfig(`
domain: load
descriptors:
  - key: user
    in_flight: { max: ${MAX}, hold: ${HOLD_MS / 1_000}s }
    descriptors:
      - key: request_id
        in_flight: { max: ${MAX}, hold: ${HOLD_MS / 1_000}s, id: request_id }
        rate_limit: { unit: second, requests_per_unit: 1000000 }
`);

interface Plan {
  readonly random: Random;
  /** The descriptor of a request; `number` is its own. */
  readonly descriptorOf: (number: number) => AskedDescriptor;
  /** Callers that die with their request, of a thousand requests. */
  readonly deaths: number;
  /** Requests that outlive their hold, of a thousand. */
  readonly slow: number;
}

/** What the callers know: a request runs from its answer until its end is sent, so for less than its slot is taken. */
class Callers {
  running = 0;
  most = 0;
  admitted = 0;
  died = 0;
  denied = 0;
  /** Requests that have outlived their hold, from that moment on. */
  outlived = 0;
  /** More ran at once than there may be, with those that died and hold their slots still. */
  readonly excess: number[] = [];
  private number = 0;
  private readonly deadUntilMs: number[] = [];

  constructor(
    private readonly clients: readonly RlsClient[],
    private readonly plan: Plan,
  ) {}

  /** Longer on a busy machine, whose few requests show less. */
  async run(): Promise<void> {
    const startedMs = performance.now();
    const isOver = () => {
      const ranMs = performance.now() - startedMs;
      return ranMs > hangLimitMs(DURATION_MS) || (ranMs > DURATION_MS && this.hasSeenAll);
    };
    const call = async (client: RlsClient): Promise<void> => {
      while (!isOver()) await this.request(client);
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, i) => call(this.clients[i % this.clients.length]!)));
  }

  private get hasSeenAll(): boolean {
    return this.most >= MAX && this.died > 0 && this.denied > 0;
  }

  private async request(client: RlsClient): Promise<void> {
    const { random, descriptorOf, deaths, slow } = this.plan;
    const descriptor = descriptorOf((this.number += 1));
    const sentMs = performance.now();
    const { overall_code: code } = await client.ask('load', [descriptor]);
    if (code !== OK) {
      this.denied += 1;
      await pause(random(5));
      return;
    }
    this.admitted += 1;
    this.running += 1;
    // Its slot was taken after it was sent: until then at least it is held.
    const outlives = setTimeout(
      () => {
        this.outlived += 1;
      },
      sentMs + HOLD_MS - 50 - performance.now(),
    );
    this.look();
    await pause(random(1_000) < slow ? HOLD_MS + random(500) : random(RUN_MS_MAX));
    this.running -= 1;
    clearTimeout(outlives);
    if (random(1_000) < deaths) {
      this.died += 1;
      this.deadUntilMs.push(sentMs + HOLD_MS);
      return;
    }
    await client.ask('load', [{ ...descriptor, hits_addend: { value: '1' }, is_negative_hits: true }]);
  }

  private look(): void {
    const nowMs = performance.now();
    const held = this.deadUntilMs.filter((untilMs) => untilMs > nowMs).length;
    this.most = Math.max(this.most, this.running);
    const over = this.running + (this.plan.slow === 0 ? held : 0) - MAX - this.outlived;
    if (over > 0) this.excess.push(over);
  }
}

async function freeSlots(client: RlsClient, descriptor: AskedDescriptor): Promise<number> {
  const { statuses } = await client.ask('load', [{ ...descriptor, hits_addend: { value: '0' } }]);
  return statuses[0]?.limit_remaining ?? 0;
}

let redis: RedisServer;
let processes: readonly WeirProcess[];
let clients: readonly RlsClient[];

beforeAll(async () => {
  redis = await startRedis();
  const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  processes = await Promise.all([0, 1, 2].map(() => startWeir({ config: CONFIG, env })));
  clients = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
}, TIMEOUT_MS);

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all(processes.map((process) => process.stop()));
  await redis.stop();
});

function showFigures({ admitted, denied, died, most, outlived }: Callers): void {
  figure(`${admitted} admitted, ${denied} denied, ${died} callers died, ${outlived} outlived their hold, most at once ${most} of ${MAX}`);
}

test(
  'with an id no more than max requests run at once, dead callers included, and all slots are free after the hold',
  async () => {
    const descriptorOf = (number: number) => ({ entries: { user: 'exact', request_id: `request-${number}` } });
    const callers = new Callers(clients, { random: randomFrom(seeded(1)), descriptorOf, deaths: 40, slow: 0 });
    await callers.run();
    showFigures(callers);
    expect(callers.outlived).toBe(0);
    expect(callers.excess).toEqual([]);
    expect([callers.most, callers.died > 0, callers.denied > 0]).toEqual([MAX, true, true]);
    await until(async () => (await freeSlots(clients[0]!, descriptorOf(0))) === MAX);
  },
  TIMEOUT_MS,
);

test(
  'without an id no more than max requests run at once, beside those that outlived their hold',
  async () => {
    const descriptorOf = () => ({ entries: { user: 'alike' } });
    const callers = new Callers(clients, { random: randomFrom(seeded(1)), descriptorOf, deaths: 10, slow: 3 });
    await callers.run();
    showFigures(callers);
    expect(callers.excess).toEqual([]);
    // Whether one of the slow callers outlives its hold depends on the machine.
    expect([callers.most >= MAX, callers.died > 0, callers.denied > 0]).toEqual([true, true, true]);
    await until(async () => (await freeSlots(clients[0]!, descriptorOf())) === MAX);
  },
  TIMEOUT_MS,
);
