/** The histogram of times equals that of prom-client in text and JSON. */

import { Histogram, Registry } from 'prom-client';
import { LATENCY_BUCKETS_SECONDS, LatencyHistogram } from '../../../../src/server/observability/metrics/latency-histogram';
import { randomFrom } from '../../../support/random/random';

const ROW = { name: 'times_seconds', help: 'Times.' };

/** Times on, just below and just above the edges of buckets, beyond the last one, and none at all. */
function someTimes(): number[] {
  const random = randomFrom();
  return Array.from({ length: 2000 }, () => {
    const edge = LATENCY_BUCKETS_SECONDS[random(LATENCY_BUCKETS_SECONDS.length)]!;
    return [0, edge, edge * 0.999, edge * 1.001, 100][random(5)]!;
  });
}

test('text and JSON equal those of a prom-client histogram', async () => {
  const ours = new Registry();
  const theirs = new Registry();
  const histogram = new LatencyHistogram<'store'>(ours, ROW);
  const model = new Histogram({ ...ROW, labelNames: ['store'], registers: [theirs], buckets: [...LATENCY_BUCKETS_SECONDS] });
  const [redis, memory] = [histogram.with({ store: 'redis' }), histogram.with({ store: 'memory' })];
  model.zero({ store: 'redis' });
  model.zero({ store: 'memory' });
  for (const [i, seconds] of someTimes().entries()) {
    (i % 3 === 0 ? redis : memory).observe(seconds);
    model.observe({ store: i % 3 === 0 ? 'redis' : 'memory' }, seconds);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
  const plain = async (registry: Registry) =>
    (await registry.getMetricsAsJSON()).map(({ name, values }) => [name, values.map(({ labels, value }) => ({ labels, value }))]);
  expect(await plain(ours)).toEqual(await plain(theirs));
});

test('every caller gets the same series', () => {
  const histogram = new LatencyHistogram<'store'>(new Registry(), ROW);
  histogram.with({ store: 'redis' }).observe(1);
  histogram.with({ store: 'redis' }).observe(1000);
  expect(histogram.counts()).toEqual([{ labels: { store: 'redis' }, count: 2 }]);
});
