/** An outbox keeps one event for each mark, gives it to one process at a time, and is bounded. */

import type { Mark, Outbox, OutboxBounds } from '../../../src/state/events/outbox';
import { LISTED_MAX } from '../../../src/state/events/outbox';
import { MemoryOutbox } from '../../../src/state/events/memory-outbox';
import { RedisOutbox } from '../../../src/state/events/redis-outbox';
import { randomFrom, seeded } from '../../support/random/random';
import { loadClockedScript, setClock } from '../../support/redis/clocked-script';
import { redisOfFile } from '../../support/redis/redis-of-file';

const redis = redisOfFile();

const START_MS = 1_800_000_000_000;

interface Opened {
  /** Two processes on one outbox. */
  readonly one: Outbox;
  readonly other: Outbox;
  readonly setNow: (nowMs: number) => Promise<void>;
}

type Open = (bounds?: OutboxBounds) => Promise<Opened>;

const STORES: Readonly<Record<string, Open>> = {
  redis: async (bounds = {}) => {
    await redis.client.flushAll();
    const scripts = {
      add: loadClockedScript('event-add'),
      claim: loadClockedScript('event-claim'),
      settle: loadClockedScript('event-settle'),
      list: loadClockedScript('event-list'),
    };
    const open = () => new RedisOutbox({ run: (call, options) => redis.store.run(call, options), keyPrefix: 'p:', scripts, ...bounds });
    await setClock(redis.client, START_MS * 1_000);
    return { one: open(), other: open(), setNow: (nowMs) => setClock(redis.client, nowMs * 1_000) };
  },
  memory: (bounds = {}) => {
    let nowMs = START_MS;
    const outbox = new MemoryOutbox({ nowMs: () => nowMs, ...bounds });
    return Promise.resolve({
      one: outbox,
      other: outbox,
      setNow: (ms) => {
        nowMs = ms;
        return Promise.resolve();
      },
    });
  },
};

const mark = (key: string, more: Partial<Mark> = {}): Mark => ({ key, id: `id.${key}`, text: `{"of":"é ${key}"}`, ...more });

const outcomes = (answer: { readonly results: readonly { readonly outcome: string }[] }) => answer.results.map(({ outcome }) => outcome);

describe.each(Object.entries(STORES))('%s', (_, open) => {
  test('two processes add a mark once, and another again after its end', async () => {
    const { one, other, setNow } = await open();
    const endsMs = START_MS + 1_000;
    expect(outcomes(await one.add([mark('a', { lateAfterMs: endsMs }), mark('b'), mark('a', { lateAfterMs: endsMs })]))).toEqual([
      'added',
      'added',
      'known',
    ]);
    const again = await other.add([mark('a', { lateAfterMs: endsMs }), mark('b'), mark('c', { staysMs: 500 })]);
    expect(again).toMatchObject({
      nowMs: START_MS,
      isNew: false,
      events: 3,
      oldestMs: 0,
      results: [
        { outcome: 'known', endsMs },
        { outcome: 'known', endsMs: Infinity },
        { outcome: 'added', endsMs: START_MS + 500 },
      ],
    });
    await setNow(endsMs);
    // The mark of a window that is over is late, also when nobody knows it any more.
    await redis.client.del('p:weir:events:1{weir:events}mark:a');
    await redis.client.del('p:weir:events:1{weir:events}mark:c');
    const later = await other.add([mark('a', { lateAfterMs: endsMs }), mark('b'), mark('c', { staysMs: 500 })]);
    expect(outcomes(later)).toEqual(['late', 'known', 'added']);
    expect(later.oldestMs).toBe(1_000);
    const { claimed } = await one.claim({ max: 10, leaseMs: 1_000 });
    expect(claimed.map(({ id, text }) => [id, text])).toEqual([
      ['id.a', '{"of":"é a"}'],
      ['id.b', '{"of":"é b"}'],
      // A mark that stays for a time has the time in its id.
      [`id.c.${START_MS}`, '{"of":"é c"}'],
      [`id.c.${endsMs}`, '{"of":"é c"}'],
    ]);
  });

  test('a claim is of one process until it ends, and then passes on', async () => {
    const { one, other, setNow } = await open();
    await one.add([mark('a'), mark('b')]);
    const first = await one.claim({ max: 1, leaseMs: 5_000 });
    expect(first).toMatchObject({ gone: 0, claimed: [{ id: 'id.a', tries: 1, appendedMs: START_MS }] });
    expect((await other.claim({ max: 9, leaseMs: 5_000 })).claimed.map(({ id }) => id)).toEqual(['id.b']);
    await setNow(START_MS + 4_999);
    expect((await other.claim({ max: 9, leaseMs: 5_000 })).claimed).toEqual([]);
    await setNow(START_MS + 5_000);
    const passed = await other.claim({ max: 9, leaseMs: 5_000 });
    expect(passed.claimed.map(({ id, tries }) => [id, tries])).toEqual([
      ['id.a', 2],
      ['id.b', 2],
    ]);
    // What one process has settled, another settles no more.
    const { number } = first.claimed[0]!;
    expect(await one.settle([{ number, ending: 'delivered', waitMs: 0 }])).toEqual([true]);
    expect(await other.settle([{ number, ending: 'undelivered', waitMs: 0 }])).toEqual([false]);
    expect(await other.read()).toMatchObject({ events: 1, deliveredCount: 1, undeliveredCount: 0 });
  });

  test('an event that failed waits, and the lists show all three kinds', async () => {
    const { one, setNow } = await open();
    await one.add([mark('a'), mark('b'), mark('c')]);
    const { claimed } = await one.claim({ max: 3, leaseMs: 60_000 });
    const [a, b, c] = claimed.map(({ number }) => number);
    await setNow(START_MS + 10);
    await one.settle([
      { number: a!, ending: 'again', waitMs: 2_000 },
      { number: b!, ending: 'delivered', waitMs: 0 },
      { number: c!, ending: 'undelivered', waitMs: 0 },
    ]);
    expect(await one.read()).toEqual({
      events: 1,
      oldestAtMs: START_MS,
      deliveredCount: 1,
      undeliveredCount: 1,
      waiting: [{ atMs: START_MS + 2_010, appendedMs: START_MS, tries: 1, id: 'id.a', text: '{"of":"é a"}' }],
      delivered: [{ atMs: START_MS + 10, appendedMs: START_MS, tries: 1, id: 'id.b', text: '{"of":"é b"}' }],
      undelivered: [{ atMs: START_MS + 10, appendedMs: START_MS, tries: 1, id: 'id.c', text: '{"of":"é c"}' }],
    });
    expect((await one.claim({ max: 3, leaseMs: 1 })).claimed).toEqual([]);
    await setNow(START_MS + 2_010);
    expect((await one.claim({ max: 3, leaseMs: 1 })).claimed).toMatchObject([{ id: 'id.a', tries: 2 }]);
  });

  test('a full outbox sets no mark, so that the event comes when there is room', async () => {
    const { one, other } = await open({ eventsMax: 2 });
    expect(outcomes(await one.add([mark('a'), mark('b'), mark('c')]))).toEqual(['added', 'added', 'full']);
    const [first] = (await one.claim({ max: 1, leaseMs: 1_000 })).claimed;
    await one.settle([{ number: first!.number, ending: 'delivered', waitMs: 0 }]);
    expect(outcomes(await other.add([mark('c'), mark('d')]))).toEqual(['added', 'full']);
  });

  test('the bytes of an outbox are bounded, and come back with what leaves it', async () => {
    const text = 'x'.repeat(100);
    const { one } = await open({ bytesMax: 250 });
    for (let round = 0; round < 3; round += 1) {
      const answer = await one.add(['a', 'b', 'c'].map((key) => mark(`${round}${key}`, { text })));
      expect(outcomes(answer)).toEqual(['added', 'added', 'full']);
      const { claimed } = await one.claim({ max: 9, leaseMs: 1_000 });
      await one.settle(claimed.map(({ number }) => ({ number, ending: 'delivered' as const, waitMs: 0 })));
    }
  });

  test('the lists of the latest are bounded, the last one first', async () => {
    const { one } = await open();
    for (let round = 0; round < 3; round += 1) {
      await one.add(Array.from({ length: 40 }, (_each, i) => mark(`${round * 40 + i}`)));
      const { claimed } = await one.claim({ max: 40, leaseMs: 1_000 });
      await one.settle(claimed.map(({ number }) => ({ number, ending: 'delivered' as const, waitMs: 0 })));
    }
    const { delivered, deliveredCount } = await one.read();
    expect(deliveredCount).toBe(120);
    expect(delivered.map(({ id }) => id)).toEqual(Array.from({ length: LISTED_MAX }, (_each, i) => `id.${119 - i}`));
  });

  test('one call alone learns that there was no outbox', async () => {
    const { one, other } = await open();
    expect((await one.claim({ max: 1, leaseMs: 1 })).isNew).toBe(true);
    expect((await other.claim({ max: 1, leaseMs: 1 })).isNew).toBe(false);
    expect((await other.add([mark('a')])).isNew).toBe(false);
  });
});

test('an outbox in Redis whose state was evicted begins again, and mixes no numbers', async () => {
  for (const goesOn of ['add', 'claim'] as const) {
    const { one } = await STORES.redis!();
    await one.add([mark('a'), mark('b')]);
    await redis.client.del('p:weir:events:1{weir:events}state');
    if (goesOn === 'claim') expect(await one.claim({ max: 9, leaseMs: 1 })).toMatchObject({ isNew: true, events: 0, claimed: [] });
    expect(await one.add([mark('c')])).toMatchObject({ isNew: goesOn === 'add', events: 1 });
    expect((await one.claim({ max: 9, leaseMs: 1 })).claimed).toMatchObject([{ number: 1, id: 'id.c' }]);
  }
});

/** Keys of Redis end by the clock of the machine, so the marks of a run last for much longer than the run. */
const STEP_MS = 60_000;

test('both outboxes answer a random sequence of calls in the same way', async () => {
  const { numRuns, seed } = seeded(400);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    const bounds = { eventsMax: 1 + random(6), bytesMax: 40 + random(200) };
    const [redisSide, memorySide] = [await STORES.redis!(bounds), await STORES.memory!(bounds)];
    let nowMs = START_MS;
    for (let step = 0; step < 40; step += 1) {
      nowMs += random(3) === 0 ? random(900) * STEP_MS : 0;
      const call = randomCall(random, nowMs);
      const answers = [];
      for (const side of [redisSide, memorySide]) {
        await side.setNow(nowMs);
        answers.push(await call(random(2) === 0 ? side.one : side.other));
      }
      expect(answers[0]).toEqual(answers[1]);
    }
  }
});

function randomCall(random: ReturnType<typeof randomFrom>, nowMs: number): (outbox: Outbox) => Promise<unknown> {
  const kind = random(4);
  if (kind === 0) {
    const marks = Array.from({ length: 1 + random(3) }, () => {
      const [lateAfterMs, staysMs] = [nowMs + (random(1_000) - 200) * STEP_MS, (1 + random(800)) * STEP_MS];
      const terms = [{}, { lateAfterMs }, { staysMs }, { lateAfterMs, staysMs }][random(4)]!;
      return mark(`${random(8)}`, terms);
    });
    return (outbox) => outbox.add(marks);
  }
  if (kind === 1) {
    const input = { max: 1 + random(4), leaseMs: (1 + random(500)) * STEP_MS };
    return (outbox) => outbox.claim(input);
  }
  if (kind === 2) {
    const settlements = Array.from({ length: 1 + random(3) }, () => ({
      number: 1 + random(12),
      ending: (['delivered', 'undelivered', 'again'] as const)[random(3)]!,
      waitMs: random(400) * STEP_MS,
    }));
    return (outbox) => outbox.settle(settlements);
  }
  return (outbox) => outbox.read();
}
