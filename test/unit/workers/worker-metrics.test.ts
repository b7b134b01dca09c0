/** Counters do not decrease when workers end. */

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { readMetrics } from '../../../src/server/observability/metrics/metrics-snapshot';
import { RuleMetrics } from '../../../src/server/observability/metrics/rule-metrics';
import type { FromWorker } from '../../../src/server/workers/messages';
import { WorkerCounts } from '../../../src/server/workers/worker-counts';
import { READING_TIMEOUT_MS, WorkerMetrics } from '../../../src/server/workers/worker-metrics';

interface FakeWorker {
  readonly counter: Counter<'rule'>;
  readonly seen: Gauge;
  readonly held: Gauge;
  readonly time: Histogram;
  readonly rules: RuleMetrics;
  tell(reading?: number): Promise<void>;
}

/** What a line between two processes makes of a message. */
function sent<T>(message: T): T {
  return structuredClone(message);
}

function makeWorker(hear: (message: Extract<FromWorker, { kind: 'metrics' | 'metric_rows' }>) => void): FakeWorker {
  const registry = new Registry();
  const registers = [registry];
  const counts = new WorkerCounts((message) => {
    if (message.kind === 'metrics' || message.kind === 'metric_rows') hear(sent(message));
    return Promise.resolve();
  });
  return {
    counter: new Counter({ name: 'hits_total', help: 'h', labelNames: ['rule'], registers }),
    seen: new Gauge({ name: 'instances', help: 'h', aggregator: 'max', registers }),
    held: new Gauge({ name: 'held', help: 'h', registers }),
    time: new Histogram({ name: 'seconds', help: 'h', buckets: [1, 2], registers }),
    rules: new RuleMetrics({ registry, seriesMax: 1000, nearLimitRatio: 1, sanitizeDots: false }),
    tell: async (reading) => counts.report(await readMetrics(registry), reading),
  };
}

interface Scene {
  readonly metrics: WorkerMetrics;
  readonly workers: Map<number, FakeWorker>;
  readonly silent: Set<number>;
  /** The text that Prometheus is shown. */
  readonly text: () => Promise<string>;
  readonly add: (id: number) => FakeWorker;
}

function makeScene(count: number): Scene {
  const workers = new Map<number, FakeWorker>();
  const silent = new Set<number>();
  const metrics = new WorkerMetrics({
    own: new Registry(),
    ask: (reading) => {
      for (const [id, worker] of workers) if (!silent.has(id)) void worker.tell(reading);
      return workers.size;
    },
  });
  const add = (id: number): FakeWorker => {
    const worker = makeWorker((message) => {
      metrics.record(id, message);
    });
    workers.set(id, worker);
    return worker;
  };
  for (let id = 1; id <= count; id += 1) add(id);
  return { metrics, workers, silent, add, text: async () => Buffer.concat(await metrics.text()).toString() };
}

function hit(rules: RuleMetrics, { key, hits }: { readonly key: string; readonly hits: number }): void {
  rules.record({
    domain: 'd',
    path: [key],
    sent: false,
    hits,
    fits: false,
    remaining: 0,
    capacity: 1,
    shadow: false,
    cached: false,
    denied: true,
    isReport: false,
    debt: 0,
    cut: 0,
  });
}

/** Of the counters of rules. */
function linesOf(text: string, name: string): string[] {
  return (text.match(new RegExp(`^ratelimit_service_rate_limit_${name}\\{.*$`, 'gm')) ?? [])
    .map((line) => line.replace(/^\w+\{domain="d",key1="(.*)"\} /, '$1 '))
    .sort();
}

test("counters of rules are added up by their labels, in any order of the workers' series", async () => {
  const { workers, text } = makeScene(2);
  for (const key of ['a', 'b', 'c']) hit(workers.get(1)!.rules, { key, hits: 1 });
  for (const key of ['c', 'x', 'a']) hit(workers.get(2)!.rules, { key, hits: 10 });
  expect(linesOf(await text(), 'total_hits')).toEqual(['a 11', 'b 1', 'c 11', 'x 10']);
  // Known rows are not sent again, and new ones follow on them.
  for (const key of ['b', 'y']) hit(workers.get(2)!.rules, { key, hits: 100 });
  const after = await text();
  expect(linesOf(after, 'total_hits')).toEqual(['a 11', 'b 101', 'c 11', 'x 10', 'y 100']);
  expect(linesOf(after, 'over_limit')).toEqual(linesOf(after, 'total_hits'));
  expect(linesOf(after, 'within_limit')).toEqual([]);
});

test('counters of rules of a worker that ended stay, and its successor adds to them', async () => {
  const { metrics, workers, text, add } = makeScene(2);
  for (const [id, { rules }] of workers) for (let rule = 0; rule < 300; rule += 1) hit(rules, { key: `r${rule}`, hits: id });
  await text();
  workers.delete(2);
  await metrics.retire(2);
  expect(linesOf(await text(), 'total_hits')).toHaveLength(300);
  hit(add(3).rules, { key: 'r299', hits: 10 });
  hit(workers.get(3)!.rules, { key: 'new', hits: 10 });
  const lines = linesOf(await text(), 'total_hits');
  expect(lines).toHaveLength(301);
  expect(lines).toEqual(expect.arrayContaining(['new 10', 'r0 3', 'r299 13']));
});

test('counters and histograms are added up, gauges by their own rule', async () => {
  const { workers, text: read } = makeScene(2);
  for (const [id, worker] of workers) {
    worker.counter.inc({ rule: 'a' }, id);
    worker.counter.inc({ rule: `only-${id}` });
    worker.seen.set(2);
    worker.held.set(10);
    worker.time.observe(id - 0.5);
  }
  const text = await read();
  expect(text.match(/^[a-z].*$/gm)?.sort()).toEqual(
    [
      'hits_total{rule="a"} 3',
      'hits_total{rule="only-1"} 1',
      'hits_total{rule="only-2"} 1',
      'instances 2',
      'held 20',
      'seconds_bucket{le="1"} 1',
      'seconds_bucket{le="2"} 2',
      'seconds_bucket{le="+Inf"} 2',
      'seconds_sum 2',
      'seconds_count 2',
    ].sort(),
  );
});

test('the counters of a worker stay when it ends, and its gauges go', async () => {
  const { metrics, workers, text: read } = makeScene(3);
  for (const [id, worker] of workers) {
    worker.counter.inc({ rule: 'a' }, 10 ** id);
    worker.held.set(1);
  }
  expect(await read()).toContain('hits_total{rule="a"} 1110\n');
  for (const id of [2, 3]) {
    workers.delete(id);
    await metrics.retire(id);
  }
  const text = await read();
  expect(text).toContain('hits_total{rule="a"} 1110\n');
  expect(text).toContain('held 1\n');
});

test('workers that end at the same time are each counted once, at any time', async () => {
  const { metrics, workers, text: read } = makeScene(6);
  for (const [id, worker] of workers) worker.counter.inc({ rule: 'a' }, 10 ** (id - 1));
  await read();
  const ids = [...workers.keys()];
  workers.clear();
  const retired = ids.slice(0, 1).map((id) => metrics.retire(id));
  const readings: Promise<string>[] = [];
  for (let turn = 0; turn < 50; turn += 1) {
    // The next one, while the last is still added up.
    const [id] = ids.slice(retired.length);
    if (id !== undefined && turn % 2 === 0) retired.push(metrics.retire(id));
    readings.push(read());
    await Promise.resolve();
  }
  await Promise.all(retired);
  readings.push(read());
  for (const reading of readings) expect(await reading).toContain('hits_total{rule="a"} 111111\n');
});

test('the unsolicited report of a worker is its last', async () => {
  const { metrics, workers, text: read } = makeScene(2);
  for (const worker of workers.values()) worker.counter.inc({ rule: 'a' });
  await read();
  const worker = workers.get(2)!;
  worker.counter.inc({ rule: 'a' }, 10);
  workers.delete(2);
  await worker.tell();
  await metrics.retire(2);
  expect(await read()).toContain('hits_total{rule="a"} 12\n');
});

test('a worker that does not answer is waited for up to a bound, and its last report stands', async () => {
  const { workers, silent, text: read } = makeScene(2);
  for (const worker of workers.values()) worker.counter.inc({ rule: 'a' });
  await read();
  silent.add(2);
  workers.get(1)!.counter.inc({ rule: 'a' });
  jest.useFakeTimers();
  const reading = read();
  await jest.advanceTimersByTimeAsync(READING_TIMEOUT_MS);
  jest.useRealTimers();
  expect(await reading).toContain('hits_total{rule="a"} 3\n');
});
