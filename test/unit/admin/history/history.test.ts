/** The last hour by minute: of rules, keys and instances, with gaps where nothing could be read. */

import { History, KEYS_MAX, UNWATCHED_PROCESSES_MAX } from '../../../../src/administration/admin/history/history';
import { MS_PER_MINUTE } from '../../../../src/lib/time-units';
import type { InstanceFacts } from '../../../../src/state/instances/instance-facts';
import { CountReader } from '../../../../src/administration/admin/live/count-reader';
import type { LiveCounts } from '../../../../src/administration/admin/live/live-counts';
import type { TopAnswer, TopItem, TopQuery } from '../../../../src/state/top/top-keys';

class Fleet {
  atMs = 1_700_000_000_000;
  asked = 0;
  denied = 0;
  items: readonly TopItem[] = [];
  processes = 1;
  fails = false;
  readonly questions: TopQuery[] = [];
  readonly history = new History({
    counter: new CountReader({ counts: ({ fromRow }) => Promise.resolve(this.counts(fromRow)) }),
    top: { top: (query) => this.top(query) },
    instances: { list: () => Promise.resolve(Array.from({ length: this.processes }, (_, i) => this.facts(i))) },
    nowMs: () => this.atMs,
  });

  async pass(): Promise<void> {
    this.atMs += MS_PER_MINUTE;
    await this.history.endMinute();
  }

  private counts(fromRow: number): LiveCounts {
    const column = (value: number) => Float64Array.from([value]);
    return {
      atMs: this.atMs,
      decisions: this.asked,
      errors: 0,
      fallbackDecisions: 0,
      cachedDenials: 0,
      unmatched: 0,
      decisionTimes: { bounds: [0.001, Infinity], counts: [this.asked, this.asked] },
      stores: [],
      rules: {
        added: [{ domain: 'd', rule: 'merchant' }].slice(fromRow),
        asked: column(this.asked),
        over: column(this.denied),
        near: column(0),
        shadow: column(0),
      },
    };
  }

  private top(query: TopQuery): Promise<TopAnswer> {
    this.questions.push(query);
    if (this.fails) return Promise.reject(new Error('away'));
    return Promise.resolve({
      items: this.items,
      unlistedMax: 0,
      totalHits: 0,
      coveredMs: MS_PER_MINUTE,
      instances: this.processes,
      missing: 0,
    });
  }

  private facts(i: number): InstanceFacts {
    return {
      id: `i${i}`,
      host: 'h',
      pid: i,
      version: '1',
      startedAtMs: 0,
      reportedAtMs: this.atMs,
      generation: 1,
      domains: 1,
      configRefused: false,
      degraded: [],
      load: { decisionsPerS: 10 * (i + 1), eventLoopUtilization: 0.5 },
    };
  }
}

function key(value: string, count: number, error = 0): TopItem {
  return { domain: 'd', rule: 'merchant', entries: `merchant=${value}`, count, error };
}

test('rules have the hits of each minute, and the current minute as a rate', async () => {
  const fleet = new Fleet();
  await fleet.history.endMinute();
  for (let minute = 1; minute <= 3; minute += 1) {
    fleet.asked += 100 * minute;
    fleet.denied += 10 * minute;
    await fleet.pass();
  }
  expect((await fleet.history.rules()).rows).toEqual([
    {
      named: { domain: 'd', rule: 'merchant' },
      columns: [
        [10, 20, 30],
        [100, 200, 300],
      ],
    },
  ]);
  fleet.atMs += MS_PER_MINUTE / 2;
  fleet.asked += 200;
  expect((await fleet.history.rules()).rows[0]?.columns).toEqual([
    [10, 20, 30, 0],
    [100, 200, 300, 400],
  ]);
  const points = await fleet.history.points();
  expect(points.map(({ askedPerS }) => Math.round(askedPerS * 60))).toEqual([100, 200, 300, 400]);
  expect(points[0]).toMatchObject({ decisionP99Ms: 0.99 });
});

test('the first seconds of a minute are not a rate, because a burst in them would look like a flood', async () => {
  const fleet = new Fleet();
  await fleet.history.endMinute();
  await fleet.pass();
  fleet.asked += 50;
  fleet.atMs += 9_999;
  expect(await fleet.history.points()).toHaveLength(1);
  fleet.atMs += 1;
  expect((await fleet.history.points()).map(({ askedPerS }) => askedPerS)).toEqual([0, 5]);
});

test('keys have their certain hits, and a minute without an answer is a gap', async () => {
  const fleet = new Fleet();
  fleet.items = [key('a', 10, 4), key('b', 3)];
  await fleet.pass();
  fleet.fails = true;
  await fleet.pass();
  fleet.fails = false;
  fleet.items = [key('b', 9)];
  await fleet.pass();
  fleet.items = [];
  const { atMs, rows } = await fleet.history.keys('denied');
  expect(rows.map(({ named: { entries }, columns }) => [entries, columns[0]])).toEqual([
    ['merchant=b', [3, 9, 0]],
    ['merchant=a', [6, 0, 0]],
  ]);
  expect(atMs.map((ms) => (ms - atMs[0]!) / MS_PER_MINUTE)).toEqual([0, 2, 2]);
});

test('a flood of keys that come once keeps a bounded number', async () => {
  const fleet = new Fleet();
  for (let minute = 0; minute < 20; minute += 1) {
    fleet.items = [key('steady', 1_000), ...Array.from({ length: 99 }, (_, i) => key(`${minute}.${i}`, 5))];
    await fleet.pass();
  }
  const { rows } = await fleet.history.keys('asked');
  expect(rows.length).toBeLessThanOrEqual(KEYS_MAX + 100);
  expect(rows[0]?.named.entries).toBe('merchant=steady');
});

test('of many processes keys are read only while somebody looks', async () => {
  const fleet = new Fleet();
  fleet.processes = UNWATCHED_PROCESSES_MAX + 1;
  await fleet.pass();
  expect(fleet.questions).toHaveLength(2);
  await fleet.pass();
  expect(fleet.questions).toHaveLength(2);
  expect((await fleet.history.instances()).rows).toHaveLength(UNWATCHED_PROCESSES_MAX + 1);
  await fleet.pass();
  expect(fleet.questions).toHaveLength(4);
  fleet.atMs += 3 * 3_600_000;
  await fleet.pass();
  expect(fleet.questions).toHaveLength(4);
});
