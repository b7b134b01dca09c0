/** The metrics of several workers read as those of one process. */

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricSnapshot } from '../../../src/workers/messages';
import { READING_TIMEOUT_MS, WorkerMetrics } from '../../../src/workers/worker-metrics';

interface FakeWorker {
  readonly counter: Counter<'rule'>;
  readonly seen: Gauge;
  readonly held: Gauge;
  readonly time: Histogram;
  snapshot(): Promise<MetricSnapshot>;
}

function makeWorker(): FakeWorker {
  const registry = new Registry();
  const registers = [registry];
  return {
    counter: new Counter({ name: 'hits_total', help: 'h', labelNames: ['rule'], registers }),
    seen: new Gauge({ name: 'instances', help: 'h', aggregator: 'max', registers }),
    held: new Gauge({ name: 'held', help: 'h', registers }),
    time: new Histogram({ name: 'seconds', help: 'h', buckets: [1, 2], registers }),
    snapshot: async () => (await registry.getMetricsAsJSON()) as unknown as MetricSnapshot,
  };
}

interface Scene {
  readonly metrics: WorkerMetrics;
  readonly workers: Map<number, FakeWorker>;
  readonly silent: Set<number>;
}

function makeScene(count: number): Scene {
  const workers = new Map(Array.from({ length: count }, (_, i) => [i + 1, makeWorker()]));
  const silent = new Set<number>();
  const metrics = new WorkerMetrics({
    own: new Registry(),
    ask: (reading) => {
      for (const [id, worker] of workers) {
        if (!silent.has(id)) void worker.snapshot().then((snapshot) => { metrics.hear(id, { reading, snapshot }); });
      }
      return workers.size;
    },
  });
  return { metrics, workers, silent };
}

test('counters and histograms are added up, gauges by their own rule', async () => {
  const { metrics, workers } = makeScene(2);
  for (const [id, worker] of workers) {
    worker.counter.inc({ rule: 'a' }, id);
    worker.counter.inc({ rule: `only-${id}` });
    worker.seen.set(2);
    worker.held.set(10);
    worker.time.observe(id - 0.5);
  }
  const text = await metrics.metrics();
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

test('what a worker had counted stays when it ends; its gauges go', async () => {
  const { metrics, workers } = makeScene(3);
  for (const [id, worker] of workers) {
    worker.counter.inc({ rule: 'a' }, 10 ** id);
    worker.held.set(1);
  }
  expect(await metrics.metrics()).toContain('hits_total{rule="a"} 1110\n');
  for (const id of [2, 3]) {
    workers.delete(id);
    await metrics.retire(id);
  }
  const text = await metrics.metrics();
  expect(text).toContain('hits_total{rule="a"} 1110\n');
  expect(text).toContain('held 1\n');
});

test('of workers that end at the same time none is forgotten, nor counted twice, at any time', async () => {
  const { metrics, workers } = makeScene(6);
  for (const [id, worker] of workers) worker.counter.inc({ rule: 'a' }, 10 ** (id - 1));
  await metrics.metrics();
  const ids = [...workers.keys()];
  workers.clear();
  const retired = ids.slice(0, 1).map((id) => metrics.retire(id));
  const readings: Promise<string>[] = [];
  for (let turn = 0; turn < 50; turn += 1) {
    // The next one, while the last is still added up.
    const [id] = ids.slice(retired.length);
    if (id !== undefined && turn % 2 === 0) retired.push(metrics.retire(id));
    readings.push(metrics.metrics());
    await Promise.resolve();
  }
  await Promise.all(retired);
  readings.push(metrics.metrics());
  for (const reading of readings) expect(await reading).toContain('hits_total{rule="a"} 111111\n');
});

test('what a worker says without being asked is its last word', async () => {
  const { metrics, workers } = makeScene(2);
  for (const worker of workers.values()) worker.counter.inc({ rule: 'a' });
  await metrics.metrics();
  const worker = workers.get(2)!;
  worker.counter.inc({ rule: 'a' }, 10);
  workers.delete(2);
  metrics.hear(2, { snapshot: await worker.snapshot() });
  await metrics.retire(2);
  expect(await metrics.metrics()).toContain('hits_total{rule="a"} 12\n');
});

test('one that does not answer is waited for only so long, and what it last said stands', async () => {
  const { metrics, workers, silent } = makeScene(2);
  for (const worker of workers.values()) worker.counter.inc({ rule: 'a' });
  await metrics.metrics();
  silent.add(2);
  workers.get(1)!.counter.inc({ rule: 'a' });
  jest.useFakeTimers();
  const reading = metrics.metrics();
  await jest.advanceTimersByTimeAsync(READING_TIMEOUT_MS);
  jest.useRealTimers();
  expect(await reading).toContain('hits_total{rule="a"} 3\n');
});
