/** Three instances on one Redis send each event once, also if one is killed. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { until } from '../../support/clock/until';
import { RlsClient } from '../../support/clients/rls-client';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { instanceOnRedis } from '../../support/control/control-harness';
import { figure } from '../../support/docs/figure';
import { startReceiver, type EventReceiver } from '../../support/events/receiver';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { makeTestClient } from '../../support/redis/redis-store';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { loadScript } from '../../../src/state/store/redis/script-loader';

const SECRET = 'a secret of at least 24 bytes';
const CONFIG = writeConfig(`
domain: shop
descriptors:
  - { key: merchant, rate_limit: { unit: year, requests_per_unit: 100, algorithm: fixed_window, events: { at: [50%, 80%, 100%] } } }
  - { key: plain, rate_limit: { unit: year, requests_per_unit: 100, algorithm: fixed_window } }
  - { key: punished, rate_limit: { unit: year, requests_per_unit: 1 }, penalty: { denials: 3, within: 1h, block: 10m } }
`);
const SECRET_FILE = join(CONFIG, '..', 'events.secret');
const TIMEOUT_MS = hangLimitMs(90_000);

let redis: RedisServer;
let receiver: EventReceiver;
let running: WeirProcess[] = [];

beforeAll(() => {
  writeFileSync(SECRET_FILE, `${SECRET}\n`);
});

beforeEach(async () => {
  redis = await startRedis();
  receiver = await startReceiver(SECRET);
}, TIMEOUT_MS);

afterEach(async () => {
  await Promise.all(running.map((weir) => weir.stop()));
  running = [];
  await receiver.close();
  await redis.stop();
}, TIMEOUT_MS);

async function start(env: Readonly<Record<string, string>> = {}): Promise<WeirProcess> {
  const weir = await startWeir({
    config: CONFIG,
    env: {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '1s',
      DENY_CACHE_MAX: '0',
      EVENTS_URL: receiver.url,
      EVENTS_SECRET_FILE: SECRET_FILE,
      EVENTS_ALLOW_PRIVATE_ADDRESSES: 'true',
      ...env,
    },
  });
  running.push(weir);
  return weir;
}

async function ask(weir: WeirProcess, key: string, values: readonly string[]): Promise<void> {
  const client = new RlsClient(weir.grpcPort);
  try {
    await Promise.all(values.map((value) => client.ask('shop', [{ entries: { [key]: value } }], { timeoutMs: 20_000 })));
  } finally {
    client.close();
  }
}

async function metric(weir: WeirProcess, line: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(
    body
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.split(' ')
      .at(-1) ?? NaN,
  );
}

const nameOf = ({ type, data }: EventReceiver['events'][number]): string => {
  const [entry] = (data.descriptor ?? data.entries ?? []) as readonly { readonly value?: string }[];
  const at = typeof data.at_percent === 'number' ? [data.at_percent] : [];
  return [type, entry?.value ?? '', ...at].join(' ').trim();
};

const namesOf = ({ events }: EventReceiver) => events.map(nameOf).sort();

const linesOf = (values: readonly string[]) =>
  values.flatMap((value) => [50, 80, 100].map((line) => `weir.limit.threshold ${value} ${line}`)).sort();

const repeat = (value: string, times: number) => new Array<string>(times).fill(value);

test(
  'each line of each bucket comes once from three instances, although one is killed midway',
  async () => {
    const [one, two, three] = [await start(), await start(), await start()];
    const merchants = ['a', 'b', 'c'];
    const some = (times: number) => merchants.flatMap((merchant) => repeat(merchant, times));
    await Promise.all([one, two, three].map((weir) => ask(weir, 'merchant', some(20))));
    // What it has seen and not marked dies with it: others see the next verdict.
    three.kill('SIGKILL');
    await Promise.all([one, two].map((weir) => ask(weir, 'merchant', some(25))));
    await until(() => receiver.events.length >= 9);
    await Promise.all([one, two].map((weir) => ask(weir, 'merchant', some(25))));
    await until(async () => (await metric(one, 'weir_events_outbox')) === 0);
    expect(namesOf(receiver)).toEqual(linesOf(merchants));
    expect(receiver.forged).toBe(0);
    expect(receiver.events[0]).toMatchObject({
      source: 'weir',
      subject: 'shop.merchant',
      data: { domain: 'shop', limit: { capacity: 100 } },
    });
    const delivered =
      (await metric(one, 'weir_events_total{outcome="delivered"}')) + (await metric(two, 'weir_events_total{outcome="delivered"}'));
    expect(delivered).toBeGreaterThan(0);
    figure(`${receiver.events.length} events of ${merchants.length * 3} lines`);
  },
  TIMEOUT_MS,
);

test(
  'events outlive every instance that saw them, and a receiver that was away',
  async () => {
    receiver.answerWith(503);
    const first = await start();
    await ask(first, 'merchant', repeat('a', 100));
    await until(async () => receiver.refused > 0 && (await metric(first, 'weir_events_outbox')) === 3);
    first.kill('SIGKILL');
    receiver.answerWith(204);
    const second = await start();
    // Its claims end 15 s after they began.
    await until(() => receiver.events.length === 3, { timeoutMs: 40_000 });
    await ask(second, 'merchant', ['a']);
    await until(async () => (await metric(second, 'weir_events_total{outcome="known"}')) === 3);
    expect(namesOf(receiver)).toEqual(linesOf(['a']));
  },
  TIMEOUT_MS,
);

test(
  'a Redis that restarts empty loses the events that wait, and one instance counts them; an event of the same window has its id',
  async () => {
    const [one, two] = [await start(), await start()];
    await ask(one, 'merchant', repeat('a', 100));
    await until(() => receiver.events.length === 3);
    receiver.answerWith(503);
    await ask(two, 'merchant', repeat('b', 100));
    for (const weir of [one, two]) await until(async () => (await metric(weir, 'weir_events_outbox')) === 3);
    await redis.restart();
    const lost = async () =>
      (await metric(one, 'weir_events_total{outcome="lost"}')) + (await metric(two, 'weir_events_total{outcome="lost"}'));
    await until(async () => (await lost()) > 0);
    receiver.answerWith(204);
    // A third instance knows nothing of the time before, and sees the lines once more.
    const three = await start();
    await ask(three, 'merchant', [...repeat('a', 100), ...repeat('b', 100)]);
    await until(() => receiver.events.length === 9);
    await until(async () => (await metric(three, 'weir_events_outbox')) === 0);
    expect(await lost()).toBe(3);
    const ids = receiver.events.filter(({ type }) => type === 'weir.limit.threshold').map(({ id }) => id);
    // A receiver that knows ids sees six.
    expect(new Set(ids).size).toBe(6);
  },
  TIMEOUT_MS,
);

test(
  'blocks, passes and penalties come once from all instances, and not again to one that starts later',
  async () => {
    const env = { CONTROL_DATA: 'true' };
    const [one] = [await start(env), await start(env), await start(env)] as const;
    const operator = await instanceOnRedis(redis.port);
    await operator.follower.start({ waitMs: hangLimitMs(5_000) });
    const entries = [{ key: 'merchant', value: 'bad' }];
    const audit = { author: 'ann', action: 'put' };
    await operator.service.write({ changes: [{ put: { kind: 'block', domain: 'shop', id: 'b1', entries, reason: 'fraud' } }], audit });
    await operator.service.write({
      changes: [{ put: { kind: 'pass', domain: 'shop', id: 'p1', entries: [{ key: 'merchant', value: 'good' }] } }],
      audit,
    });
    await ask(one, 'punished', repeat('p', 8));
    await until(() => receiver.events.length >= 3);
    const late = await start(env);
    await ask(late, 'plain', ['x']);
    for (const weir of running) await until(async () => (await metric(weir, 'weir_events_outbox')) === 0);
    expect(namesOf(receiver)).toEqual(['weir.block.written bad', 'weir.pass.written good', 'weir.penalty.begun p']);
    expect(receiver.events.find(({ type }) => type === 'weir.block.written')?.data).toMatchObject({ id: 'b1', reason: 'fraud' });
    await operator.close();
  },
  TIMEOUT_MS,
);

test(
  'an instance says itself that Redis is away, before it comes back',
  async () => {
    const weir = await start({ FAILURE_MODE: 'open' });
    redis.kill('SIGKILL');
    await until(() => receiver.events.some(({ type }) => type === 'weir.instance.degraded'));
    expect(receiver.events.map(({ type, data }) => `${type} ${String(data.line)}`)).toContain('weir.instance.degraded degraded: redis');
    await ask(weir, 'merchant', repeat('a', 100));
    expect(namesOf(receiver)).not.toContain('weir.limit.threshold a 50');
  },
  TIMEOUT_MS,
);

test(
  'the command of a decision is the same with events, and no decision sends another',
  async () => {
    const shas = new Map(['take', 'event-add', 'event-claim', 'event-settle'].map((name) => [loadScript(name).sha, name]));
    const counted = async (env: Readonly<Record<string, string>>, value: string): Promise<Map<string, number>> => {
      const weir = await start({ LEASES: 'off', ...env });
      const client = new RlsClient(weir.grpcPort);
      const monitor = makeTestClient(redis.port);
      await monitor.connect();
      const seen = new Map<string, number>();
      await monitor.monitor((line) => {
        const name = shas.get(/"EVALSHA" "(\w+)"/i.exec(line)?.[1] ?? '');
        if (name !== undefined) seen.set(name, (seen.get(name) ?? 0) + 1);
      });
      // One after the other, all over a line: no two share a command.
      for (let i = 0; i < 300; i += 1) await client.ask('shop', [{ entries: { merchant: value } }], { timeoutMs: 20_000 });
      client.close();
      await weir.stop();
      monitor.destroy();
      return seen;
    };
    const without = await counted({ EVENTS_URL: '', EVENTS_SECRET_FILE: '' }, 'w');
    const withEvents = await counted({}, 'e');
    expect([...without]).toEqual([['take', 300]]);
    expect(withEvents.get('take')).toBe(300);
    // Three lines, in at most as many batches.
    expect(withEvents.get('event-add')).toBeLessThanOrEqual(3);
    expect(namesOf(receiver)).toEqual(linesOf(['e']));
    figure(`300 take and ${withEvents.get('event-add')} event-add for 300 decisions`);
  },
  TIMEOUT_MS,
);
