/** Live figures are those of the last minute, by rule. */

import fc from 'fast-check';
import { CountReader } from '../../../src/administration/admin/live/count-reader';
import type { LiveCounts, RuleName } from '../../../src/administration/admin/live/live-counts';
import { LiveFigures, POINTS_MAX, SAMPLE_MS } from '../../../src/administration/admin/live/live-figures';
import { between, percentile } from '../../../src/administration/admin/live/percentile';

const BOUNDS = [0.001, 0.002, 0.004, Infinity];

/** A process whose counters grow by the same amounts in each interval. */
class Process {
  atMs = 1_700_000_000_000;
  readings = 0;
  private readonly rules: readonly RuleName[] = [
    { domain: 'd', rule: 'quiet' },
    { domain: 'd', rule: 'busy' },
    { domain: 'd', rule: 'shadow' },
  ];

  /** The wait between two readings. */
  pass(ms: number): void {
    this.atMs += ms;
  }

  counts({ fromRow }: { readonly fromRow: number }): Promise<LiveCounts> {
    const seconds = this.readings * (SAMPLE_MS / 1_000);
    this.readings += 1;
    return Promise.resolve({
      atMs: this.atMs,
      decisions: 100 * seconds,
      errors: 0,
      fallbackDecisions: 2 * seconds,
      cachedDenials: 0,
      unmatched: 0,
      decisionTimes: { bounds: BOUNDS, counts: [50, 90, 100, 100].map((share) => share * seconds) },
      stores: [{ store: 'redis', times: { bounds: BOUNDS, counts: [0, 0, 10, 10].map((share) => share * seconds) }, errors: seconds }],
      rules: {
        added: this.rules.slice(fromRow),
        asked: Float64Array.from([seconds, 100 * seconds, 50 * seconds]),
        over: Float64Array.from([0, 30 * seconds, 20 * seconds]),
        near: Float64Array.from([0, 5 * seconds, 0]),
        shadow: Float64Array.from([0, 0, 20 * seconds]),
      },
    });
  }
}

test('rates are over the last minute, and a rule in shadow mode denies nothing', async () => {
  const process = new Process();
  const figures = new LiveFigures({ counter: new CountReader(process), nowMs: () => process.atMs });
  expect(await figures.view({ rules: 10 })).toMatchObject({ windowS: 0, askedPerS: 0, rules: [] });
  for (let reading = 0; reading < 30; reading += 1) {
    process.pass(SAMPLE_MS);
    await figures.read();
  }
  const view = await figures.view({ rules: 2 });
  expect(view).toMatchObject({ windowS: 60, decisionsPerS: 100, fallbackPerS: 2, askedPerS: 151, deniedPerS: 30, rulesOmitted: 1 });
  expect(view.rules).toEqual([
    { domain: 'd', rule: 'busy', askedPerS: 100, deniedPerS: 30, asked: 15_000, denied: 4_500, near: 750, wouldDeny: 0 },
    { domain: 'd', rule: 'shadow', askedPerS: 50, deniedPerS: 0, asked: 7_500, denied: 0, near: 0, wouldDeny: 3_000 },
  ]);
  expect(view).toMatchObject({ decisionP50Ms: 1, decisionP99Ms: 3.8, stores: [{ store: 'redis', p50Ms: 3, errorsPerS: 1 }] });
  expect(view.history).toHaveLength(30);
  expect(view.history[0]).toMatchObject({ askedPerS: 151, deniedPerS: 30, decisionP99Ms: 3.8 });
  figures.stop();
});

test('the history has ten minutes at most, and goes when nobody has looked', async () => {
  const process = new Process();
  const figures = new LiveFigures({ counter: new CountReader(process), nowMs: () => process.atMs });
  await figures.view({ rules: 0 });
  for (let reading = 0; reading < POINTS_MAX + 10; reading += 1) {
    process.pass(SAMPLE_MS);
    await figures.read();
  }
  expect((await figures.view({ rules: 0 })).history).toHaveLength(POINTS_MAX);
  figures.stop();
  expect((await figures.view({ rules: 0 })).history).toEqual([]);
  figures.stop();
});

test('many questions at a time share one reading', async () => {
  const process = new Process();
  const figures = new LiveFigures({ counter: new CountReader(process), nowMs: () => process.atMs });
  await Promise.all(Array.from({ length: 20 }, () => figures.view({ rules: 1 })));
  expect(process.readings).toBe(1);
  figures.stop();
});

test('a percentile is within the bucket that holds its rank', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { minLength: 4, maxLength: 4 }), fc.double({ min: 0.01, max: 1, noNaN: true }), (each, share) => {
      const counts = each.map((_, bucket) => each.slice(0, bucket + 1).reduce((sum, count) => sum + count, 0));
      const found = percentile({ bounds: BOUNDS, counts }, share);
      const total = counts[3]!;
      if (total === 0) return found === undefined;
      const bucket = counts.findIndex((count) => count >= share * total);
      const [lower, upper] = [BOUNDS[bucket - 1] ?? 0, Math.min(BOUNDS[bucket]!, 0.004)];
      return found! >= Math.min(lower, upper) && found! <= upper;
    }),
  );
});

test('what was observed before is taken away', () => {
  const later = { bounds: BOUNDS, counts: [5, 6, 7, 8] };
  expect(between({ bounds: BOUNDS, counts: [1, 2, 3, 4] }, later).counts).toEqual([4, 4, 4, 4]);
  expect(between(undefined, later).counts).toEqual([5, 6, 7, 8]);
});
