/** Requests that wait are served in order, bounded, with one timer, and an aborted wait takes nothing. */

import { InvalidRequestError } from '../../../src/program/library/limiter/invalid-request-error';
import type { LimitResult, WaitOptions } from '../../../src/program/library/limiter/limiter';
import { WaitQueueFullError } from '../../../src/program/library/limiter/wait-queue-full-error';
import { WaitQueue, type WaitQueueOptions } from '../../../src/program/library/wait/wait-queue';
import type { WireRequest } from '../../../src/server/transport/messages/wire';
import { ManualClock } from '../../support/clock/manual-clock';
import { randomFrom, seededInFull, type Random } from '../../support/random/random';

/** The failure mode is `closed`, so that nothing that it decides counts as served. */
function undecided(error: Error): LimitResult {
  return { allowed: false, decidedBy: 'failure-mode', headers: [], statuses: [], error };
}

const ALLOWED: LimitResult = { allowed: true, decidedBy: 'weir', headers: [], statuses: [] };
const DENIED: LimitResult = { allowed: false, decidedBy: 'weir', headers: [], statuses: [] };

/** One hit fits every `spacingMs`, after `burst` at once: a bucket for each key. */
class Buckets {
  /** Hits taken, by key. */
  readonly taken = new Map<string, number>();
  asked = 0;
  private readonly freeAtMs = new Map<string, number>();

  constructor(
    private readonly clock: ManualClock,
    private readonly options: { readonly spacingMs: number; readonly burst: number },
  ) {}

  readonly ask: WaitQueueOptions['ask'] = (wire) => {
    this.asked += 1;
    const key = wire.domain ?? '';
    const hits = wire.hits_addend ?? 1;
    const { spacingMs, burst } = this.options;
    const now = this.clock.nowMs();
    const freeAt = Math.max(this.freeAtMs.get(key) ?? 0, now);
    const waitMs = freeAt + hits * spacingMs - now - burst * spacingMs;
    if (waitMs > 0) return Promise.resolve({ result: DENIED, waitMs });
    this.freeAtMs.set(key, freeAt + hits * spacingMs);
    this.taken.set(key, (this.taken.get(key) ?? 0) + hits);
    return Promise.resolve({ result: ALLOWED, waitMs: undefined });
  };
}

interface Ended {
  readonly name: string;
  readonly end: string;
  readonly afterMs: number;
}

/** A queue before such buckets, and what becomes of its waits. */
class Scene {
  readonly clock = new ManualClock();
  readonly buckets: Buckets;
  readonly queue: WaitQueue;
  readonly ended: Ended[] = [];

  constructor({ spacingMs = 100, burst = 1, ...options }: Partial<WaitQueueOptions> & { spacingMs?: number; burst?: number } = {}) {
    this.buckets = new Buckets(this.clock, { spacingMs, burst });
    this.queue = new WaitQueue({
      clock: this.clock,
      ask: this.buckets.ask,
      callMs: 0,
      undecided,
      jitterMs: () => 0,
      waitersMax: 10_000,
      waitBytesMax: 2 ** 30,
      ...options,
    });
  }

  wait(name: string, { key = 'shop', hits, ...options }: WaitOptions & { readonly key?: string; readonly hits?: number }): void {
    const wire: WireRequest = { domain: key, descriptors: [], ...(hits !== undefined && { hits_addend: hits }) };
    const startMs = this.clock.nowMs();
    const end = (text: string): void => {
      this.ended.push({ name, end: text, afterMs: this.clock.nowMs() - startMs });
    };
    this.queue.wait(wire, options).then(
      ({ allowed, decidedBy }) => {
        end(allowed ? 'served' : decidedBy === 'weir' ? 'denied' : 'undecided');
      },
      (error: unknown) => {
        end((error as Error).name);
      },
    );
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms, { settled: () => [this.ended.length, this.buckets.asked] });
  }

  names(end: string): string[] {
    return this.ended.filter((each) => each.end === end).map(({ name }) => name);
  }

  get taken(): number {
    return [...this.buckets.taken.values()].reduce((sum, hits) => sum + hits, 0);
  }
}

test('waits are served in the order in which they came, each when it fits, with one timer for all', async () => {
  const scene = new Scene();
  for (const name of ['a', 'b', 'c', 'd']) scene.wait(name, { maxMs: 1_000 });
  await scene.advance(1_000);
  expect(scene.ended).toEqual(['a', 'b', 'c', 'd'].map((name, i) => ({ name, end: 'served', afterMs: i * 100 })));
  expect(scene.clock).toMatchObject({ timersMax: 1, timerCount: 0 });
  // Each asks once when it comes, because nobody waits yet; then only the first asks at its turn, and the next one after it.
  expect(scene.buckets.asked).toBe(4 + 2 + 2 + 1);
  expect(scene.queue.waiting).toBe(0);
});

test('keys have lines of their own, and one timer', async () => {
  const scene = new Scene();
  for (let i = 0; i < 40; i += 1) scene.wait(`w${i}`, { key: `k${i % 10}`, maxMs: 1_000 });
  await scene.advance(350);
  expect(scene.ended.map(({ afterMs }) => afterMs)).toEqual(Array.from({ length: 40 }, (_, i) => Math.floor(i / 10) * 100));
  expect(scene.clock).toMatchObject({ timersMax: 1, timerCount: 0 });
});

test('one that wants many hits keeps its place, and one whose time is too short is denied at once', async () => {
  const scene = new Scene({ burst: 5 });
  scene.wait('first', { maxMs: 1_000, hits: 5 });
  scene.wait('many', { maxMs: 1_000, hits: 5 });
  await scene.advance(0);
  scene.wait('few', { maxMs: 1_000, hits: 1 });
  scene.wait('short', { maxMs: 499 });
  await scene.advance(0);
  expect(scene.ended.map(({ name, end }) => [name, end])).toEqual([
    ['first', 'served'],
    ['short', 'denied'],
  ]);
  await scene.advance(1_000);
  expect(scene.names('served')).toEqual(['first', 'many', 'few']);
});

test('after a refusal the next one asks for itself if it wants other hits, and is denied without a question if it wants the same', async () => {
  const scene = new Scene({ burst: 10 });
  scene.wait('taker', { maxMs: 0, hits: 10 });
  scene.wait('head', { maxMs: 600, hits: 5 });
  await scene.advance(0);
  for (const name of ['a', 'b']) scene.wait(name, { maxMs: 600, hits: 5 });
  scene.wait('small', { maxMs: 1_000, hits: 1 });
  await scene.advance(450);
  // Somebody who does not wait takes most of what the first one waits for.
  await scene.buckets.ask({ domain: 'shop', hits_addend: 4 }, { timeoutMs: undefined, leftMs: 0 });
  await scene.advance(50);
  expect(scene.names('denied')).toEqual(['head', 'a', 'b']);
  expect(scene.names('served')).toEqual(['taker', 'small']);
  expect(scene.buckets.asked).toBe(2 + 1 + 2);
});

test('without a wait that helps the answer is a denial at once, and a failure mode decides at once, too', async () => {
  const answers = [
    { result: DENIED, waitMs: undefined },
    { result: undecided(new Error('away')), waitMs: undefined },
  ];
  const scene = new Scene({ ask: () => Promise.resolve(answers.shift()!) });
  scene.wait('a', { maxMs: 1_000 });
  scene.wait('b', { maxMs: 1_000, key: 'other' });
  await scene.advance(0);
  expect(scene.ended.map(({ end }) => end)).toEqual(['denied', 'undecided']);
});

test('a wait without time is a check', async () => {
  const scene = new Scene();
  scene.wait('a', { maxMs: 0 });
  scene.wait('b', { maxMs: 0 });
  await scene.advance(0);
  expect(scene.ended).toEqual([
    { name: 'a', end: 'served', afterMs: 0 },
    { name: 'b', end: 'denied', afterMs: 0 },
  ]);
});

test('a signal ends a wait with its reason and takes nothing; the next one moves up, no earlier than it fits', async () => {
  const scene = new Scene();
  const [first, later] = [new AbortController(), new AbortController()];
  scene.wait('taker', { maxMs: 0 });
  scene.wait('first', { maxMs: 1_000, signal: first.signal });
  scene.wait('later', { maxMs: 1_000, signal: later.signal });
  scene.wait('last', { maxMs: 1_000 });
  await scene.advance(50);
  first.abort(new RangeError('gone'));
  later.abort(new RangeError('gone'));
  await scene.advance(0);
  expect(scene.names('RangeError')).toEqual(['first', 'later']);
  await scene.advance(49);
  expect(scene.names('served')).toEqual(['taker']);
  await scene.advance(1);
  expect(scene.names('served')).toEqual(['taker', 'last']);
  expect(scene.taken).toBe(2);
  scene.wait('aborted', { maxMs: 1_000, signal: AbortSignal.abort(new RangeError('before')) });
  await scene.advance(1_000);
  expect(scene.taken).toBe(2);
});

/** A queue whose first answer is a denial, and the others come when the test says so. */
function answeredByHand(): { readonly scene: Scene; readonly answers: (() => void)[] } {
  const answers: (() => void)[] = [];
  let asked = 0;
  const scene = new Scene({
    ask: () => {
      asked += 1;
      if (asked === 1) return Promise.resolve({ result: DENIED, waitMs: 100 });
      return new Promise((resolve) => {
        answers.push(() => {
          resolve({ result: ALLOWED, waitMs: undefined });
        });
      });
    },
  });
  return { scene, answers };
}

test('what the request of an aborted wait has taken goes to the next one that wants the same', async () => {
  const { scene, answers } = answeredByHand();
  const abort = new AbortController();
  scene.wait('aborted', { maxMs: 1_000, signal: abort.signal });
  await scene.advance(0);
  scene.wait('heir', { maxMs: 1_000 });
  await scene.advance(100);
  abort.abort(new RangeError('gone'));
  expect(answers).toHaveLength(1);
  answers[0]!();
  await scene.advance(0);
  expect(scene.ended.map(({ name, end }) => [name, end])).toEqual([
    ['aborted', 'RangeError'],
    ['heir', 'served'],
  ]);
  expect(answers).toHaveLength(1);
});

test('a wait ends in time while the request of another is on its way', async () => {
  const { scene, answers } = answeredByHand();
  scene.wait('asks', { maxMs: 1_000 });
  await scene.advance(0);
  scene.wait('behind', { maxMs: 130 });
  await scene.advance(500);
  expect(scene.ended).toEqual([{ name: 'behind', end: 'denied', afterMs: 130 }]);
  answers[0]!();
  await scene.advance(0);
  expect(scene.names('served')).toEqual(['asks']);
});

test('a wait that is aborted in the moment of its first answer does not stand in line', async () => {
  const scene = new Scene();
  scene.wait('taker', { maxMs: 0 });
  const abort = new AbortController();
  scene.wait('aborted', { maxMs: 1_000, signal: abort.signal });
  abort.abort(new RangeError('gone'));
  await scene.advance(1_000);
  expect(scene.names('RangeError')).toEqual(['aborted']);
  expect(scene.taken).toBe(1);
});

test('a wait asks again only if it has the time of a call left', async () => {
  const scene = new Scene({ callMs: 20 });
  scene.wait('taker', { maxMs: 0 });
  scene.wait('long', { maxMs: 120 });
  await scene.advance(0);
  scene.wait('short', { maxMs: 119 });
  await scene.advance(200);
  expect(scene.names('served')).toEqual(['taker', 'long']);
  expect(scene.ended.find(({ name }) => name === 'short')).toEqual({ name: 'short', end: 'denied', afterMs: 0 });
});

test('jitter delays a turn, and never beyond the end of the wait', async () => {
  const scene = new Scene({ jitterMs: (waitMs) => waitMs });
  scene.wait('taker', { maxMs: 0 });
  scene.wait('a', { maxMs: 1_000 });
  await scene.advance(1_000);
  scene.wait('taker', { maxMs: 0 });
  scene.wait('b', { maxMs: 100 });
  await scene.advance(1_000);
  expect(scene.ended.filter(({ name }) => name !== 'taker')).toEqual([
    { name: 'a', end: 'served', afterMs: 200 },
    { name: 'b', end: 'served', afterMs: 100 },
  ]);
});

test('a full queue refuses with a named error, by number and by bytes, and has room again when a wait ends', async () => {
  const byNumber = new Scene({ waitersMax: 3 });
  for (const name of ['taker', 'a', 'b', 'c']) byNumber.wait(name, { maxMs: 1_000 });
  await byNumber.advance(0);
  expect(byNumber.names('WaitQueueFullError')).toEqual(['c']);
  await byNumber.advance(100);
  byNumber.wait('d', { maxMs: 1_000 });
  await byNumber.advance(1_000);
  expect(byNumber.names('served')).toEqual(['taker', 'a', 'b', 'd']);
  const byBytes = new Scene({ waitBytesMax: 4_096 });
  byBytes.wait('large', { key: 'x'.repeat(2_000), maxMs: 1_000 });
  await byBytes.advance(0);
  expect(byBytes.names('WaitQueueFullError')).toEqual(['large']);
  await expect(byBytes.queue.wait({ domain: 'x'.repeat(2_000), descriptors: [] }, { maxMs: 1 })).rejects.toThrow(WaitQueueFullError);
});

test('close ends all waits by the failure mode, with their timer, and later ones at once', async () => {
  const scene = new Scene();
  for (const name of ['taker', 'a', 'b']) scene.wait(name, { maxMs: 1_000 });
  scene.wait('other', { key: 'other', maxMs: 1_000 });
  await scene.advance(0);
  scene.queue.close(new Error('closed'));
  scene.wait('late', { maxMs: 1_000 });
  await scene.advance(0);
  expect(scene.names('undecided').sort()).toEqual(['a', 'b', 'late']);
  expect(scene.clock.timerCount).toBe(0);
  await scene.advance(1_000);
  expect(scene.taken).toBe(2);
  expect(scene.queue.waiting).toBe(0);
});

test.each([-1, NaN, Infinity, 86_400_001, undefined])('a maxMs of %p is refused', async (maxMs) => {
  const { queue } = new Scene();
  await expect(queue.wait({}, { maxMs: maxMs! })).rejects.toThrow(
    new InvalidRequestError(`maxMs is ${String(maxMs)}; set milliseconds from 0 to 86400000`),
  );
});

/** Waits of random lengths and hits on one key, aborts in a random order, and a clock that steps over many ends at once. */
test('10,000 waits on one key with aborts in random order and a clock that steps keep every promise', async () => {
  const WAITS = 10_000;
  const random: Random = randomFrom(seededInFull(WAITS));
  const scene = new Scene({ spacingMs: 3, burst: 20 });
  const aborts = Array.from({ length: WAITS }, () => new AbortController());
  const asked = Array.from({ length: WAITS }, () => ({ maxMs: 1 + random(20_000), hits: 1 + random(3) }));
  const aborted = new Set<number>();
  // From the first one on there is a line.
  await scene.buckets.ask({ domain: 'shop', hits_addend: 20 }, { timeoutMs: undefined, leftMs: 0 });
  asked[0] = { maxMs: 20_000, hits: 3 };
  for (const [i, wait] of asked.entries()) {
    scene.wait(String(i), { ...wait, signal: aborts[i]!.signal });
    if (i % 500 === 0) await scene.advance(random(9));
  }
  while (scene.queue.waiting > 0) {
    for (let n = 0; n < 150; n += 1) {
      const i = random(WAITS);
      if (random(3) === 0) aborted.add(i);
      if (aborted.has(i)) aborts[i]!.abort(new RangeError('gone'));
    }
    if (random(4) === 0) scene.clock.step(random(2_000));
    await scene.advance(random(400));
  }
  expect(scene.ended).toHaveLength(WAITS);
  const endOf = new Map(scene.ended.map((each) => [Number(each.name), each]));
  const served = scene.names('served').map(Number);
  // In order.
  expect(served).toEqual([...served].sort((a, b) => a - b));
  // Nothing was taken for one that was not served, and nobody was served for nothing.
  expect(scene.taken - 20).toBe(served.reduce((sum, i) => sum + asked[i]!.hits, 0));
  for (const [i, { end, afterMs }] of endOf) {
    // A step of the clock is seen only after it.
    if (end === 'served') expect(afterMs).toBeLessThanOrEqual(asked[i]!.maxMs);
    if (end === 'RangeError') expect(aborted.has(i)).toBe(true);
  }
  expect(new Set(scene.ended.map(({ end }) => end))).toEqual(new Set(['served', 'denied', 'RangeError']));
  expect(scene.clock).toMatchObject({ timersMax: 1, timerCount: 0 });
  expect(scene.queue.waiting).toBe(0);
  expect(served.length).toBeGreaterThan(100);
}, 120_000);

test('waits that were aborted leave no room taken, no text and no timer behind', async () => {
  const scene = new Scene({ spacingMs: 1_000_000, waitersMax: 100, waitBytesMax: 250_000 });
  const holder = new AbortController();
  scene.wait('taker', { maxMs: 0 });
  scene.wait('holder', { maxMs: 5_000_000, signal: holder.signal });
  await scene.advance(0);
  // Many more than there is room for, one after another.
  for (let round = 0; round < 1_000; round += 1) {
    const abort = new AbortController();
    scene.wait('w', { maxMs: 5_000_000, signal: abort.signal });
    abort.abort(new RangeError('gone'));
  }
  for (let round = 0; round < 300; round += 1) {
    const abort = new AbortController();
    scene.wait('w', { maxMs: 5_000_000, signal: abort.signal, key: `k${round % 2}` });
    abort.abort(new RangeError('gone'));
    if (round % 50 === 0) await scene.advance(0);
  }
  await scene.advance(0);
  // The first answers of the two new keys were there before the signal.
  expect(scene.names('served')).toEqual(['taker', 'w', 'w']);
  expect(scene.names('RangeError')).toHaveLength(1_298);
  expect(scene.ended).toHaveLength(1_301);
  expect(scene.queue.waiting).toBe(1);
  holder.abort(new RangeError('gone'));
  await scene.advance(0);
  expect(scene.queue.waiting).toBe(0);
  expect(scene.clock.timerCount).toBe(0);
});
