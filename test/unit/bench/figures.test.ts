/** What a benchmark makes of what it reads: processor time, cores, h2load's words, hits charged, the bar. */

import { BAR, failureOf, gateOf, holds, measureBar, NOT_YET, type Round } from '../../../bench/bar';
import { cellId, cellsOf, inOrderOfRound } from '../../../bench/cells';
import { allowedMost, chargedMost, overGrant } from '../../../bench/charges';
import { parseTarget } from '../../../bench/contenders';
import { parseCpuList } from '../../../bench/cores';
import { keptUp, renderDecisions, wrongCounts } from '../../../bench/decisions-report';
import { parseH2load } from '../../../bench/h2load';
import { threeDigits } from '../../../bench/markdown';
import type { CellRound } from '../../../bench/measure-cell';
import { parseResidentBytes, parseStatUs, processorTimeUs, residentBytes } from '../../../bench/process-usage';

describe('a process', () => {
  test('its time is read behind its name, whatever that is', () => {
    const stat = (name: string): string => `42 (${name}) S 1 42 42 0 -1 4194560 2000 0 10 0 123 45 0 0 20 0 11 0 100 1000 500`;
    expect(parseStatUs(stat('node'))).toBe(1_680_000);
    expect(parseStatUs(stat('a) S 9 9 (b'))).toBe(1_680_000);
  });

  test('its memory is read in bytes', () => {
    expect(parseResidentBytes('Name:\tnode\nVmRSS:\t  2048 kB\nThreads:\t11\n')).toBe(2_097_152);
    expect(() => parseResidentBytes('Name:\tnode\n')).toThrow('VmRSS');
  });

  test('this one: its time grows with what it does', () => {
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

test('h2load says how many were answered', () => {
  const output = 'finished in 732.13ms, 914.29 req/s, 66.37KB/s\nrequests: 640 total, 896 started, 640 done, 639 succeeded, 1 failed, 0 errored, 0 timeout\n';
  expect(parseH2load(output)).toEqual({ done: 640, succeeded: 639, perSecond: 914.29 });
  expect(() => parseH2load('could not connect')).toThrow('could not connect');
});

test('a target has a host, a port and a process', () => {
  expect(parseTarget('127.0.0.1:8081', 7)).toEqual({ host: '127.0.0.1', port: 8081, pid: 7 });
  expect(parseTarget('127.0.0.1', 7)).toBeUndefined();
  expect(parseTarget('127.0.0.1:8081', NaN)).toBeUndefined();
});

describe('hits admitted against hits allowed', () => {
  const slow = { requests: 100, perSeconds: 10_000 };

  const peeks = (figures: readonly (readonly [remaining: number, resetSeconds: number])[]) => figures.map(([remaining, resetSeconds]) => ({ remaining, resetSeconds }));

  test('where a refill is slow, it is read from when a bucket is full again: so much later, and the time that passed', () => {
    // A hit takes 100 s to come back. The first was charged 3 in 7 s, the second none, the third had been full.
    const [before, after] = [peeks([[95, 500], [96, 400], [100, 0]]), peeks([[92, 793], [96, 393], [98, 193]])];
    expect(chargedMost({ before, after, elapsedSeconds: 7, limit: slow })).toEqual([3, 0, 2]);
  });

  test('a reading is rounded up by less than a second, which makes no hit of none', () => {
    const charged = (resetSeconds: number) => chargedMost({ before: peeks([[95, 500]]), after: peeks([[94, resetSeconds]]), elapsedSeconds: 6, limit: slow });
    expect([charged(593), charged(500)]).toEqual([[1], [0]]);
  });

  test('where it is fast, it is read from what remains: so much less, and what has refilled', () => {
    const fast = { requests: 1_000_000, perSeconds: 100 };
    const charged = chargedMost({ before: peeks([[900_000, 10]]), after: peeks([[880_000, 12]]), elapsedSeconds: 0.5, limit: fast });
    // 20,000 less, though 5,000 came back; one may be hidden in the rounding.
    expect(charged).toEqual([25_001]);
  });

  test('a limit lets pass what it holds and what refills', () => {
    expect(allowedMost({ requests: 10, perSeconds: 60 }, 30)).toBe(15);
  });

  test('a hit beyond is seen in whichever bucket it was, and one bucket makes up for no other', () => {
    expect(overGrant([3, 4], [3, 4])).toBe(0);
    expect(overGrant([3, 4], [3.9, 5])).toBe(0);
    expect(overGrant([4, 1], [3, 5])).toBe(1 / 8);
    expect(overGrant([1], [0])).toBe(1);
  });
});

const cell = (serverUs: number, rest: Partial<CellRound> = {}): CellRound => ({
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

const CELLS = cellsOf({ short: false, usage: false, target: true });

/** Every cell measured: 2 µs, and the base `baseUs`. */
function roundOf(baseUs: number, changed: ReadonlyMap<string, CellRound> = new Map()): Round {
  return new Map(CELLS.map((each) => [cellId(each), changed.get(cellId(each)) ?? cell(each.contender === 'constant_grpc_js' ? baseUs : 2)]));
}

const named = (name: string) => BAR.find((row) => row.name === name)!;

describe('the bar', () => {
  test('each row finds its figures in a full run', () => {
    for (const { row, spread } of measureBar([roundOf(100)])) expect({ row: row.name, isMeasured: spread !== undefined }).toEqual({ row: row.name, isMeasured: true });
  });

  test('all but the target in a short one', () => {
    const ids = new Set(cellsOf({ short: true, usage: false, target: false }).map(cellId));
    const round = new Map([...roundOf(100)].filter(([id]) => ids.has(id)));
    expect(measureBar([round]).filter(({ spread }) => spread === undefined).map(({ row }) => row.name)).toEqual(['target']);
  });

  test('what a ratio is of was measured one after the other', () => {
    const ordered = inOrderOfRound(CELLS);
    expect(new Set(ordered)).toEqual(new Set(CELLS));
    expect(ordered).toHaveLength(CELLS.length);
    const loads = ordered.map(({ load }) => JSON.stringify(load)).filter((load, i, all) => load !== all[i - 1]);
    expect(loads).toEqual([...new Set(loads)]);
    const ofTarget = ordered.filter(({ contender }) => contender === 'target');
    const saturating = ofTarget.findIndex(({ load }) => load.kind === 'closed' && load.streams === 64);
    expect(ofTarget.findIndex(({ load }) => load.kind === 'open' && load.rate === 'half')).toBeGreaterThan(saturating);
  });

  test('ratios are made within each round, and their median counts', () => {
    const measured = measureBar([roundOf(100), roundOf(50), roundOf(40)]).find(({ row }) => row.name === 'lean_transport')!;
    expect(measured.spread).toEqual({ median: 0.04, min: 0.02, max: 0.05 });
    expect(holds(measured)).toBe(false);
  });

  test('calls for each denied request are not those for each decision', () => {
    const round = roundOf(100, new Map([['redis exhausted closed 64', cell(2, { decisions: 1000, denied: 500, redisCalls: 0.001 })]]));
    expect(named('redis_calls_denied').of(round)).toBeCloseTo(0.002);
  });

  test('counts are kept to the bound, processor time to twice of it, latency not at all', () => {
    for (const row of BAR) {
      const kept = { count: row.atMost, cpu: 2 * row.atMost, latency: undefined }[row.kind];
      expect({ row: row.name, gate: gateOf(row) }).toEqual({ row: row.name, gate: row.name in NOT_YET ? undefined : kept });
    }
  });

  test('a row that is over its gate says so; one that is not, or is not kept, says nothing', () => {
    const row = { ...named('lean_transport'), name: 'kept' };
    const at = (median: number) => ({ row, spread: { median, min: 0, max: 9 } });
    expect(failureOf(at(0.0601))).toContain('over 0.06');
    expect(failureOf(at(0.06))).toBeUndefined();
    expect(failureOf({ row, spread: undefined })).toBeUndefined();
    const [notYet] = Object.keys(NOT_YET);
    if (notYet !== undefined) expect(failureOf({ row: named(notYet), spread: { median: 99, min: 99, max: 99 } })).toBeUndefined();
  });

  test('every row that is not kept yet is a row, and says why', () => {
    for (const [name, reason] of Object.entries(NOT_YET)) {
      expect(BAR.map((row) => row.name)).toContain(name);
      expect(reason).not.toBe('');
    }
  });
});

describe('the report', () => {
  const result = (rounds: readonly Round[]) => ({
    environment: { date: '2026-01-01', node: '20', redis: '7', cores: 2, processor: 'any' },
    loadBefore: '0.10',
    loadAfter: '1.20',
    pinning: 'Tied.',
    notes: ['A note.'],
    cells: CELLS,
    rounds,
    roundMs: { closed: 1_500, open: 4_000 },
    memory: { redis: { buckets: 10, bytesPerBucket: 100 }, embedded: { buckets: 20, bytesPerBucket: 80, residentBytes: 2 ** 27 } },
  });

  test('has a line for every row of the bar and every cell', () => {
    const text = renderDecisions(result([roundOf(100), roundOf(50)]));
    for (const { title } of BAR) expect(text).toContain(`| ${title} | `);
    // Those of the first table, of the second, and of the third; a head, a rule, and the two stores.
    const lines = text.split('\n').filter((line) => line.startsWith('| '));
    expect(lines.length).toBe(BAR.length + CELLS.length + 2 + 5);
    expect(text).not.toContain('NaN');
    expect(text).toContain('A note.');
  });

  test('counts what must be none, in every round of every row', () => {
    const bad = new Map([['redis two closed 64', cell(2, { overGrant: 0.5, fallbacks: 3, failed: 2 })]]);
    const rounds = [roundOf(100), roundOf(100, bad), roundOf(100, bad)];
    expect(wrongCounts(result([roundOf(100)]))).toEqual([]);
    expect(wrongCounts(result(rounds))).toEqual([
      'redis two closed 64: over-granted, as a part of what was allowed: 0.5',
      'redis two closed 64: decided without Redis: 6',
      'redis two closed 64: failed: 4',
    ]);
  });

  test('says when a schedule was not kept, and whose fault it was', () => {
    expect(keptUp({ lateMs: 0.4, perSecond: 1999, rate: 2000 })).toBe('yes');
    expect(keptUp({ lateMs: 4, perSecond: 1999, rate: 2000 })).toContain('generator');
    expect(keptUp({ lateMs: 0.4, perSecond: 1500, rate: 2000 })).toBe('no: 1,500 a second were answered');
  });

  test('writes figures with three digits that tell something', () => {
    expect([0, 0.000123456, 0.0312, 3.14159, 31.4159, 3141.59].map(threeDigits)).toEqual(['0', '0.000123', '0.0312', '3.14', '31.4', '3,142']);
  });
});
