/** Questions to Prometheus are bounded in number, time and bytes. */

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusUsage, UsageError, USAGE_METRIC } from '../../../../src/administration/admin/usage/prometheus-usage';
import { TOP_KEY_METRIC } from '../../../../src/server/observability/metrics/top-key-metric';

const NOW_MS = 1_700_000_100_000;

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function prometheus(answer: RequestListener): Promise<string> {
  const opened = createServer(answer);
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(opened.address() as AddressInfo).port}/base`;
}

const QUERY = { domain: 'payments', entries: 'merchant="x",y\\' };

test('the metric is that of top keys', () => {
  expect(USAGE_METRIC).toBe(TOP_KEY_METRIC.name);
});

test('a day is asked in steps of ten minutes, once in a minute, and hostile entries stay one label value', async () => {
  const asked: URL[] = [];
  const url = await prometheus((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://localhost'));
    const series = (question: string, values: readonly (readonly [number, string])[]) => ({ metric: { question }, values });
    response.end(
      JSON.stringify({
        status: 'success',
        data: {
          result: [
            series('denied', [[1_699_999_800, '7']]),
            series('asked', [
              [1_699_999_200, '20'],
              [1_699_999_800, '30'],
            ]),
            series('candidate_denied', [[1_699_999_800, '5']]),
          ],
        },
      }),
    );
  });
  let nowMs = NOW_MS;
  const usage = new PrometheusUsage({ url, nowMs: () => nowMs });
  const points = await usage.day(QUERY);
  expect(points).toEqual([
    { at: '2023-11-14T22:00:00.000Z', asked: 20, denied: 0 },
    { at: '2023-11-14T22:10:00.000Z', asked: 30, denied: 7 },
  ]);
  expect(await usage.day(QUERY)).toBe(points);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.pathname).toBe('/base/api/v1/query_range');
  expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
    query: 'sum by (question) (weir_top_key_hits{domain="payments",key="merchant=\\"x\\",y\\\\"})',
    start: '1699913700',
    end: '1700000100',
    step: '600',
    timeout: '5000ms',
  });
  nowMs += 61_000;
  await usage.day(QUERY);
  expect(asked).toHaveLength(2);
});

test.each<readonly [what: string, says: string, answer: RequestListener]>([
  ['refused', 'it answered 422', (_, response) => response.writeHead(422).end('{}')],
  ['not JSON', 'JSON', (_, response) => response.end('<html>')],
  ['of another form', 'its answer is not that of a range query', (_, response) => response.end('{"data":{}}')],
  ['endless', 'its answer has over 262144 bytes', (_, response) => response.end('x'.repeat(300_000))],
  ['never there', 'no answer in time', () => undefined],
  ['a redirect', 'it answered 302', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()],
])('an answer that is %s says so, and the next try asks again', async (_, says, answer) => {
  let asked = 0;
  const url = await prometheus((request, response) => {
    asked += 1;
    answer(request, response);
  });
  const usage = new PrometheusUsage({ url, nowMs: () => NOW_MS, timeoutMs: says.includes('time') ? 50 : 20_000 });
  await expect(usage.day(QUERY)).rejects.toThrow(says);
  await expect(usage.day(QUERY)).rejects.toThrow(UsageError);
  expect(asked).toBe(2);
});

test('at most four queries wait for Prometheus', async () => {
  const url = await prometheus(() => undefined);
  const usage = new PrometheusUsage({ url, nowMs: () => NOW_MS, timeoutMs: 200 });
  const all = await Promise.allSettled(Array.from({ length: 5 }, (_, i) => usage.day({ domain: 'd', entries: `k=${i}` })));
  const reasons = all.map((each) => String((each as PromiseRejectedResult).reason));
  expect(reasons[4]).toContain('4 queries wait for Prometheus');
  expect(reasons.filter((each) => each.includes('no answer in time'))).toHaveLength(4);
});
