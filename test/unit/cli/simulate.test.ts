/** `weir simulate` admits exactly what the engines admit, bounds its input, and draws the same in every format. */

import fc from 'fast-check';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import { ARRIVALS_MAX, arrivalsOf, type ArrivalOptions } from '../../../src/program/cli/simulate/arrivals';
import type { Simulation } from '../../../src/program/cli/simulate/run-simulation';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { groupOf, take } from '../../support/decisions/groups';
import { runWeir } from '../../support/processes/command';
import { seeded } from '../../support/random/random';

const START_US = 1_767_225_600_000_000;
const OPTIONS: ArrivalOptions = { forUs: 10_000_000, fromUs: 0, seed: 1, burst: 1, atUs: [], startUs: START_US };

async function simulate(...args: readonly string[]): Promise<readonly Simulation[]> {
  const { exitCode, stdout, stderr } = await runWeir(['simulate', ...args, '--format', 'json']);
  expect([exitCode, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as { readonly simulations: readonly Simulation[] }).simulations;
}

test('arrivals of all options come together, in order', () => {
  expect(arrivalsOf({ ...OPTIONS, rate: '3/s', forUs: 1_000_000, fromUs: 500_000, burst: 2, atUs: [600_000] })).toEqual([
    500_000, 600_000, 600_000, 833_333, 1_166_667,
  ]);
  expect(arrivalsOf({ ...OPTIONS, text: '# times\n2\n\n 1.5s \n2026-01-01T00:00:03.25Z\n' })).toEqual([1_500_000, 2_000_000, 3_250_000]);
});

test('random arrivals have the mean that was asked for, and the same seed the same times', () => {
  const of = (seed: number) => arrivalsOf({ ...OPTIONS, poisson: '1000/s', seed });
  expect(of(7)).toEqual(of(7));
  expect(of(7)).not.toEqual(of(8));
  const gaps = of(7).map((atUs, i, all) => atUs - (all[i - 1] ?? 0));
  const meanUs = gaps.reduce((sum, each) => sum + each, 0) / gaps.length;
  expect(Math.abs(meanUs - 1_000)).toBeLessThan(30);
  // Gaps of independent arrivals vary as much as their mean.
  const deviationUs = Math.sqrt(gaps.reduce((sum, each) => sum + (each - meanUs) ** 2, 0) / gaps.length);
  expect(Math.abs(deviationUs / meanUs - 1)).toBeLessThan(0.05);
});

test.each<[string, Partial<ArrivalOptions>, RegExp]>([
  ['a rate of nothing', { rate: '0/s' }, /--rate: "0\/s" is not accepted/],
  ['a rate without a unit', { rate: '20' }, /--rate: "20" is not accepted; write a number for each s, minute, hour or day/],
  ['a rate that is not a number', { poisson: 'NaN/s' }, /--poisson: "NaN\/s"/],
  ['too many arrivals', { rate: '999999999/s' }, /more than 1000000 arrivals; simulate a shorter time/],
  ['a burst that is too large', { burst: ARRIVALS_MAX, atUs: [0, 1] }, /more than 1000000 arrivals/],
  ['a wrong line', { text: '1s\n-2s\n' }, /line 2 is not a time/],
  ['an instant before the start', { text: '2025-12-31T23:59:59Z' }, /line 1 is before the start/],
  ['no arrivals', { text: '\n# none\n' }, /there are no arrivals/],
])('%s is refused by name', (_what, options, message) => {
  expect(() => arrivalsOf({ ...OPTIONS, ...options })).toThrow(message);
});

test('exactly those are admitted that the engine of the store admits, for every algorithm', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-simulate-'));
  const file = path.join(folder, 'times');
  const gaps = fc.array(fc.integer({ min: 0, max: 40_000_000 }), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(gaps, fc.integer({ min: 1, max: 9 }), async (each, requestsPerUnit) => {
      let atUs = 0;
      const arrivalsUs = each.map((gapUs) => (atUs += gapUs));
      writeFileSync(file, arrivalsUs.map((us) => `${us}us`).join('\n'));
      for (const { name, admitted, requests, columns } of await simulate('--limit', `${requestsPerUnit}/minute`, '--arrivals', file)) {
        const expected = await admittedBy(name, { requestsPerUnit, arrivalsUs });
        expect([name, admitted, requests]).toEqual([name, expected, arrivalsUs.length]);
        expect(columns.reduce((sum, column) => sum + column.admitted, 0)).toBe(expected);
      }
    }),
    { ...seeded(60), endOnFailure: true },
  );
}, 120_000);

async function admittedBy(
  name: string,
  { requestsPerUnit, arrivalsUs }: { readonly requestsPerUnit: number; readonly arrivalsUs: readonly number[] },
): Promise<number> {
  const algorithm = ALGORITHMS.find((each) => each === name);
  if (algorithm === undefined) throw new Error(`${name} is not an algorithm`);
  let nowUs = START_US;
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 10 });
  // Without a burst a leaky bucket holds one hit.
  const capacity = algorithm === 'leaky_bucket' ? 1 : requestsPerUnit;
  const group = groupOf([take('k', { limit: { algorithm, windowUs: 60_000_000, requestsPerUnit, capacity } })]);
  let admitted = 0;
  for (const atUs of arrivalsUs) {
    nowUs = START_US + atUs;
    const [outcome] = await store.take([group]);
    if (outcome !== undefined && 'overLimit' in outcome && !outcome.overLimit) admitted += 1;
  }
  return admitted;
}

test('clients that honour the answer come as often as needed, and a denial that no wait ends is given up', async () => {
  const [honoured] = await simulate('--limit', '10/minute', '--algorithm', 'fixed_window', '--burst', '30', '--retry', 'honour');
  expect(honoured).toMatchObject({ requests: 30, admitted: 30, retries: 30, lastAdmittedUs: 120_000_000 });
  const [fixed] = await simulate(
    '--limit',
    '10/minute',
    '--algorithm',
    'fixed_window',
    '--burst',
    '30',
    '--retry',
    '1s',
    '--retries-max',
    '5',
  );
  expect(fixed).toMatchObject({ requests: 30, admitted: 10, retries: 100, lastAdmittedUs: 0 });
  const [never] = await simulate(
    '--limit',
    '10/minute',
    '--algorithm',
    'fixed_window',
    '--burst',
    '1',
    '--hits',
    '11',
    '--retry',
    'honour',
  );
  expect(never).toMatchObject({ admitted: 0, retries: 0 });
});

test('a request to a configuration is simulated like one to its limit', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-simulate-'));
  const file = path.join(folder, 'limits.yaml');
  writeFileSync(
    file,
    'domain: "<d>"\ndescriptors: [{key: k, rate_limit: {unit: minute, requests_per_unit: 7, algorithm: fixed_window}}]\n',
  );
  const target = ['--config', file, '--domain', '<d>', '--descriptor', 'k=v', '--rate', '1/s', '--for', '30s'];
  const [configured] = await simulate(...target);
  const [own] = await simulate('--limit', '7/minute', '--algorithm', 'fixed_window', '--rate', '1/s', '--for', '30s');
  expect({ ...configured, name: '' }).toEqual({ ...own, name: '' });
  const formats = ['text', 'csv', 'svg', 'html'].map(async (format) => (await runWeir(['simulate', ...target, '--format', format])).stdout);
  const [text = '', csv = '', svg = '', html = ''] = await Promise.all(formats);
  expect(text).toMatch(/^<d> +7\/minute +30 +7 +23 +30 +0 +6s$/m);
  expect(csv.trim().split('\n')).toHaveLength(61);
  for (const page of [svg, html]) {
    expect(page).toContain('&#60;d&#62;: 7 of 30 admitted');
    expect(page).not.toMatch(/<d>|https?:\/\/(?!www\.w3\.org\/2000\/svg)|<script/);
  }
}, 60_000);

test.each([
  [['--rate', '1/s'], 'give either --limit, or --config with --domain and --descriptor'],
  [['--limit', '1/s', '--rate', '1/s'], 'use 20/minute or 20/5minute'],
  [['--limit', '1/minute', '--domain', 'd', '--rate', '1/s'], '--domain belongs to --config; remove it'],
  [['--limit', '1/minute', '--rate', '1/s', '--for', '-1s'], '--for: "-1s" is not a time'],
  [['--limit', '1/minute', '--burst', '1', '--retry', '0s'], '--retry: "0s" is not accepted'],
  [['--limit', '1/minute', '--arrivals', '/nowhere/times'], '--arrivals: ENOENT'],
  [
    ['--limit', '1/year', '--burst', '1', '--hits', '2', '--retry', '36500d', '--retries-max', '2'],
    'days after the start; simulate a shorter time',
  ],
  [['--limit', '1/minute', '--algorithm', 'bucket', '--burst', '1'], '--algorithm: "bucket" is not accepted'],
])('%j is refused with 2', async (args, message) => {
  const { exitCode, stderr } = await runWeir(['simulate', ...args]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('under a reserve each class is admitted its part', async () => {
  const args = ['--config', 'deploy/priority/api.yaml', '--domain', 'api', '--burst', '1200', '--for', '1s'];
  const admitted = await Promise.all(
    ['merchant=m', 'merchant=m,priority=high', 'merchant=m,priority=critical'].map((descriptor) =>
      simulate(...args, '--descriptor', descriptor),
    ),
  );
  expect(admitted.map(([simulation]) => simulation?.admitted)).toEqual([700, 900, 1_000]);
});
