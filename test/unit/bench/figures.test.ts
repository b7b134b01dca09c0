/** A benchmark computes hits, ratios within a round and bounds correctly. */

import { BAR, barOf, failureOf, gateOf, holds, measureBar, NOT_YET, type Round } from '../../../bench/rows/bar';
import { inOrderOfRound, rowId, selectRows, unknownWords } from '../../../bench/rows/rows';
import { allowedMost, chargedMost, overGrant } from '../../../bench/rows/admitted-hits';
import { parseTarget } from '../../../bench/servers/contenders';
import { parseCpuList } from '../../../bench/support/cores';
import { keptUp, renderDecisions, wrongCounts } from '../../../bench/rows/decisions-report';
import { parseH2load } from '../../../bench/load/h2load';
import { threeDigits } from '../../../bench/support/markdown';
import type { RowFigures } from '../../../bench/rows/measure-row';
import { parseResidentBytes, parseStatUs, processorTimeUs, residentBytes } from '../../../bench/support/process-usage';

describe('a process', () => {
  test('its processor time is read behind any name', () => {
    const stat = (name: string): string => `42 (${name}) S 1 42 42 0 -1 4194560 2000 0 10 0 123 45 0 0 20 0 11 0 100 1000 500`;
    expect(parseStatUs(stat('node'))).toBe(1_680_000);
    expect(parseStatUs(stat('a) S 9 9 (b'))).toBe(1_680_000);
  });

  test('its memory is read in bytes', () => {
    expect(parseResidentBytes('Name:\tnode\nVmRSS:\t  2048 kB\nThreads:\t11\n')).toBe(2_097_152);
    expect(() => parseResidentBytes('Name:\tnode\n')).toThrow('VmRSS');
  });

  test('the processor time of this process grows with its work', () => {
    const before = processorTimeUs(process.pid);
    // Not for a time: of that this process may get nothing. Far longer than a step of the system's count.
    const untilMs = performance.now() + 10_000;
    while (processorTimeUs(process.pid) === before && performance.now() < untilMs);
    expect(processorTimeUs(process.pid) - before).toBeGreaterThan(0);
    expect(residentBytes(process.pid)).toBeGreaterThan(10_000_000);
  });

  test('cores are read from a list of ranges', () => {
    expect(parseCpuList('0-2,5')).toEqual([0, 1, 2, 5]);
    expect(parseCpuList('3')).toEqual([3]);
    expect(parseCpuList('')).toEqual([]);
  });
});

test('the output of h2load has the number of answers', () => {
  const output =
    'finished in 732.13ms, 914.29 req/s, 66.37KB/s\nrequests: 640 total, 896 started, 640 done, 639 succeeded, 1 failed, 0 errored, 0 timeout\n';
  expect(parseH2load(output)).toEqual({ done: 640, succeeded: 639, perSecond: 914.29 });
  expect(() => parseH2load('could not connect')).toThrow('could not connect');
});

test('a target has a host, a port and a process', () => {
  expect(parseTarget({ address: '127.0.0.1:8081', pid: 7 })).toEqual({ host: '127.0.0.1', port: 8081, pid: 7 });
  expect(parseTarget({ address: '127.0.0.1', pid: 7 })).toBeUndefined();
  expect(parseTarget({ address: '127.0.0.1:8081', pid: NaN })).toBeUndefined();
});

describe('admitted hits against allowed hits', () => {
  const slow = { requests: 100, perSeconds: 10_000 };

  const peeks = (figures: readonly (readonly [remaining: number, resetSeconds: number])[]) =>
    figures.map(([remaining, resetSeconds]) => ({ remaining, resetSeconds }));

  test('a slow refill is computed from the time when a bucket is full again', () => {
    // A hit takes 100 s to come back. The first was charged 3 in 7 s, the second none, the third had been full.
    const [before, after] = [
      peeks([
        [95, 500],
        [96, 400],
        [100, 0],
      ]),
      peeks([
        [92, 793],
        [96, 393],
        [98, 193],
      ]),
    ];
    expect(chargedMost({ before, after, elapsedSeconds: 7, limit: slow })).toEqual([3, 0, 2]);
  });

  test('a reading is rounded up by less than a second, which adds no hit', () => {
    const charged = (resetSeconds: number) =>
      chargedMost({ before: peeks([[95, 500]]), after: peeks([[94, resetSeconds]]), elapsedSeconds: 6, limit: slow });
    expect([charged(593), charged(500)]).toEqual([[1], [0]]);
  });

  test('a fast refill is computed from the remaining hits', () => {
    const fast = { requests: 1_000_000, perSeconds: 100 };
    const charged = chargedMost({ before: peeks([[900_000, 10]]), after: peeks([[880_000, 12]]), elapsedSeconds: 0.5, limit: fast });
    // 20,000 less, though 5,000 came back; one may be hidden in the rounding.
    expect(charged).toEqual([25_001]);
  });

  test('a limit allows its capacity and its refill', () => {
    expect(allowedMost({ requests: 10, perSeconds: 60 }, 30)).toBe(15);
  });

  test('an excess hit is found in any bucket, and no bucket offsets another', () => {
    expect(overGrant([3, 4], [3, 4])).toBe(0);
    expect(overGrant([3, 4], [3.9, 5])).toBe(0);
    expect(overGrant([4, 1], [3, 5])).toBe(1 / 8);
    expect(overGrant([1], [0])).toBe(1);
  });
});

const figures = (serverUs: number, rest: Partial<RowFigures> = {}): RowFigures => ({
  decisions: 1000,
  denied: 0,
  failed: 0,
  perSecond: 2000,
  serverUs,
  busy: 0.5,
  residentBytes: 100 * 1024 * 1024,
  redisUs: 10,
  redisCalls: 0.01,
  overGrant: 0,
  fallbacks: 0,
  latencyMs: { p50: 1, p99: 2, p999: 3 },
  lateMs: { p50: 0.1, p99: 0.2, p999: 0.3 },
  rate: 2000,
  ...rest,
});

/** A target of each kind, so that the rows beside both are there. */
const ROWS = [
  ...new Map(
    (['reference', 'limitador'] as const).flatMap((name) =>
      selectRows({ form: 'full', target: { name }, hasNewestRedis: true }).map((row) => [rowId(row), row] as const),
    ),
  ).values(),
];

/** Every row measured: 2 µs, and the base `baseUs`. */
function roundOf(baseUs: number, changed: ReadonlyMap<string, RowFigures> = new Map()): Round {
  return new Map(
    ROWS.map((each) => [rowId(each), changed.get(rowId(each)) ?? figures(each.contender === 'constant_grpc_js' ? baseUs : 2)]),
  );
}

const named = (name: string) => BAR.find((row) => row.name === name)!;

describe('the bar', () => {
  test.each(['reference', 'limitador', undefined] as const)('each row finds its figures in a full run beside %s', (name) => {
    const target = name && { name };
    const ids = new Set(selectRows({ form: 'full', target }).map(rowId));
    const round = new Map([...roundOf(100)].filter(([id]) => ids.has(id)));
    expect(measureBar([round], { target }).filter(({ spread }) => spread === undefined)).toEqual([]);
  });

  test('each row of Weir alone finds its figures in a short run', () => {
    const ids = new Set(selectRows({ form: 'short' }).map(rowId));
    const round = new Map([...roundOf(100)].filter(([id]) => ids.has(id)));
    expect(measureBar([round]).filter(({ spread }) => spread === undefined)).toEqual([]);
  });

  test('a bound beside a target applies beside that target alone, and never fails a run', () => {
    const named = (scope: Parameters<typeof barOf>[0]) => new Set(barOf(scope).map(({ target }) => target));
    expect(named({})).toEqual(new Set([undefined]));
    expect(named({ target: { name: undefined } })).toEqual(new Set([undefined]));
    expect(named({ target: { name: 'reference' } })).toEqual(new Set([undefined, 'reference']));
    for (const row of barOf({ target: { name: 'limitador' } })) if (row.target !== undefined) expect(gateOf(row)).toBeUndefined();
  });

  test('a Redis with MSETEX has a lower bound of processor time', () => {
    const bound = (hasMsetex: boolean) =>
      barOf({ target: { name: 'reference' }, hasMsetex }).find(({ name }) => name === 'reference: Redis CPU: five 4x64')?.atMost;
    expect([bound(false), bound(true)]).toEqual([0.8, 0.5]);
  });

  test('the two sides of a ratio are measured one after the other', () => {
    const ordered = inOrderOfRound(ROWS);
    expect(new Set(ordered)).toEqual(new Set(ROWS));
    expect(ordered).toHaveLength(ROWS.length);
    const loads = ordered.map(({ load }) => JSON.stringify(load)).filter((load, i, all) => load !== all[i - 1]);
    expect(loads).toEqual([...new Set(loads)]);
    const ofWeir = ordered.filter(({ contender }) => contender === 'redis');
    const saturating = ofWeir.findIndex(({ load }) => load.kind === 'closed' && load.streams === 64);
    expect(ofWeir.findIndex(({ load }) => load.kind === 'open' && load.rate === 'half')).toBeGreaterThan(saturating);
  });

  test('ratios are made within each round, and their median counts', () => {
    const measured = measureBar([roundOf(100), roundOf(50), roundOf(40)]).find(({ row }) => row.name === 'lean_transport')!;
    expect(measured.spread).toEqual({ median: 0.04, min: 0.02, max: 0.05 });
    expect(holds(measured)).toBe(false);
  });

  test('calls per denied request differ from calls per decision', () => {
    const round = roundOf(100, new Map([['redis exhausted 4x64', figures(2, { decisions: 1000, denied: 500, redisCalls: 0.001 })]]));
    expect(named('redis_calls_denied').of(round)).toBeCloseTo(0.002);
  });

  test('counts must keep the bound, processor time twice the bound, latency nothing', () => {
    for (const row of BAR) {
      const kept = row.target === undefined ? { count: row.atMost, cpu: 2 * row.atMost, latency: undefined }[row.kind] : undefined;
      expect({ row: row.name, gate: gateOf(row) }).toEqual({ row: row.name, gate: row.name in NOT_YET ? undefined : kept });
    }
  });

  test('a row above its gate is reported, and a row within it or without one is not', () => {
    const row = { ...named('lean_transport'), name: 'kept' };
    const at = (median: number) => ({ row, spread: { median, min: 0, max: 9 } });
    expect(failureOf(at(0.0601))).toContain('over 0.06');
    expect(failureOf(at(0.06))).toBeUndefined();
    expect(failureOf({ row, spread: undefined })).toBeUndefined();
    const [notYet] = Object.keys(NOT_YET);
    if (notYet !== undefined) expect(failureOf({ row: named(notYet), spread: { median: 99, min: 99, max: 99 } })).toBeUndefined();
  });

  test('every row without a bound yet says why', () => {
    for (const [name, reason] of Object.entries(NOT_YET)) {
      expect(BAR.map((row) => row.name)).toContain(name);
      expect(reason).not.toBe('');
    }
  });
});

describe('rows are selected', () => {
  const ids = (only: readonly string[]) => selectRows({ form: 'full', target: { name: 'reference' }, only }).map(rowId);

  test('rows are selected by server, request and load, each with several values', () => {
    expect(ids(['redis', 'target', 'five', '4x64'])).toEqual(['redis five 4x64', 'target five 4x64']);
    expect(ids(['200x1', 'redis'])).toEqual(['redis many 200x1']);
    expect(ids([]).length).toBeGreaterThan(50);
  });

  test('an unknown word is reported as such', () => {
    expect(unknownWords(['redis', 'five', '4x64', 'open-half', 'h2load-8', 'rediss'])).toEqual(['rediss']);
  });
});

describe('the report', () => {
  const result = (rounds: readonly Round[]) => ({
    environment: { date: '2026-01-01', node: '20', redis: '7', cores: 2, processor: 'any' },
    loadBefore: '0.10',
    loadAfter: '1.20',
    pinning: 'Tied.',
    notes: ['A note.'],
    rows: ROWS,
    rounds,
    roundMs: { closed: 1_500, open: 4_000 },
    memory: { redis: { buckets: 10, bytesPerBucket: 100 }, embedded: { buckets: 20, bytesPerBucket: 80, residentBytes: 2 ** 27 } },
  });

  test('the report has a line for every row of the bar and every measured row', () => {
    const text = renderDecisions(result([roundOf(100), roundOf(50)]));
    for (const { title } of barOf()) expect(text).toContain(`| ${title} | `);
    // Those of the first table, of the second, and of the third; a head, a rule, and the two stores.
    const lines = text.split('\n').filter((line) => line.startsWith('| '));
    expect(lines.length).toBe(barOf().length + ROWS.length + 2 + 5);
    expect(text).not.toContain('NaN');
    expect(text).toContain('A note.');
  });

  test('the report has figures and ratios of both beside a target', () => {
    const text = renderDecisions({ ...result([roundOf(100)]), target: { name: 'reference' } });
    expect(text).toContain('| 100,000 keys, 5 descriptors, 4x64 | 2.00, 2.00 (1.00) | 10.0, 10.0 (1.00) |');
    expect(text).toContain('| p99, Weir / reference: `many open-2000` | 1.00 ');
  });

  test('the report counts what must be zero in every round of every row', () => {
    const bad = new Map([['redis two 4x64', figures(2, { overGrant: 0.5, fallbacks: 3, failed: 2 })]]);
    const rounds = [roundOf(100), roundOf(100, bad), roundOf(100, bad)];
    expect(wrongCounts(result([roundOf(100)]))).toEqual([]);
    expect(wrongCounts(result(rounds))).toEqual([
      'redis two 4x64: over-granted, as a part of what was allowed: 0.5',
      'redis two 4x64: decided without Redis: 6',
      'redis two 4x64: failed: 4',
    ]);
  });

  test('the report marks the rounds in which other processes had the core', () => {
    const row = figures(2, { waited: 0.01 });
    const of = (waited: number) => roundOf(100, new Map([['redis many 4x64', { ...row, waited }]]));
    const text = renderDecisions(result([of(0.01), of(0.3), of(0.02)]));
    const marked = text.split('\n').filter((each) => each.startsWith('| ') && each.includes('†'));
    expect(marked).toHaveLength(1);
    expect(marked[0]).toContain('| Weir, Redis, lean | 100,000 keys | 4 x 64 |');
    expect(marked[0]).toContain('† (1 of 3 rounds)');
  });

  test('the report takes the control off the latency of answers', () => {
    const answered = (p99: number) => figures(2, { answerMs: { p50: 1, p99, p999: 9 } });
    const round = new Map([
      ['constant_lean many open-2000', answered(3)],
      ['redis many open-2000', answered(5)],
    ]);
    const text = renderDecisions(result([roundOf(100, round)]));
    const [line = ''] = text.split('\n').filter((each) => each.startsWith('| Weir, Redis, lean | 2,000 |'));
    expect(line).toContain('| 5.00 | 2.00 | 2.00 |');
  });

  test('the report says when a schedule was missed, and by which side', () => {
    expect(keptUp({ lateMs: 0.4, perSecond: 1999, rate: 2000 })).toBe('yes');
    expect(keptUp({ lateMs: 4, perSecond: 1999, rate: 2000 })).toContain('generator');
    expect(keptUp({ lateMs: 0.4, perSecond: 1500, rate: 2000 })).toBe('no: 1,500 a second were answered');
  });

  test('figures have three significant digits', () => {
    expect([0, 0.000123456, 0.0312, 3.14159, 31.4159, 3141.59].map(threeDigits)).toEqual([
      '0',
      '0.000123',
      '0.0312',
      '3.14',
      '31.4',
      '3,142',
    ]);
  });
});
