/** A process counts only hits that could be used as demand, remembers a bounded number of names, and drops old levels when its store is dead. */

import { NEVER } from '../../../src/domain/algorithm/engine';
import type { GroupVerdict, Verdict } from '../../../src/domain/bucket/take';
import { toDecision } from '../../../src/domain/decide/to-decision';
import { matchRequest, type MatchControl } from '../../../src/domain/rule/match';
import type { DemandBoard, DemandCounts, DemandWindow } from '../../../src/state/fair/demand-board';
import { FairShares } from '../../../src/state/fair/fair-shares';
import { MemoryDemandBoard } from '../../../src/state/fair/memory-demand-board';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileText } from '../compile/compile-config';

const START_US = 1_800_000_000_000_000;
const MINUTE_US = 60_000_000;
const MODES = { shadow: false, quota: false };

const RULES = compileText(`
domain: d
descriptors:
  - { key: k, rate_limit: { unit: minute, requests_per_unit: 100, algorithm: fixed_window }, fair: { entry: t, weights: { a: 3 } } }
  - { key: other, rate_limit: { unit: minute, requests_per_unit: 5, algorithm: fixed_window } }
`);

class SeenBoard implements DemandBoard {
  readonly graceUs = 0;
  readonly added: { window: DemandWindow; counts: DemandCounts }[] = [];
  reads = 0;
  isDown = false;
  private readonly board = new MemoryDemandBoard();

  async add(window: DemandWindow, counts: DemandCounts): Promise<void> {
    if (this.isDown) throw new Error('down');
    this.added.push({ window, counts: new Map(counts) });
    await this.board.add(window, counts);
  }

  read(window: DemandWindow): Promise<DemandCounts> {
    this.reads += 1;
    return this.isDown ? Promise.reject(new Error('down')) : this.board.read(window);
  }
}

let nowUs: number;
let board: SeenBoard;
let errors: unknown[];
let shares: FairShares;

beforeEach(() => {
  nowUs = START_US;
  board = new SeenBoard();
  errors = [];
  shares = new FairShares({ board, clockUs: () => nowUs, onError: (error) => errors.push(error) });
});

interface Asking {
  readonly hits?: number;
  readonly descriptors?: readonly (readonly string[])[];
  /** Indexes of the takes that deny. */
  readonly denies?: readonly number[];
  /** They never fit. */
  readonly never?: boolean;
  readonly fallback?: true;
}

function ask(entries: readonly string[], { hits = 1, descriptors = [], denies = [], never = false, fallback }: Asking = {}): void {
  const request = { ...requestOf([entries, ...descriptors].map((each) => ({ entries: entriesOf(...each) }))), hits };
  const matched = matchRequest({ ruleSet: RULES, request, modes: MODES, fair: shares });
  const verdicts = matched.matches
    .flatMap(({ limits }) => limits)
    .map((_, i): Verdict => {
      const denied = denies.includes(i);
      return { fits: !denied, remaining: 1, retryAfterUs: denied && never ? NEVER : 0, resetAfterUs: 1, ...(denied && { denies: true }) };
    });
  const verdict: GroupVerdict = { overLimit: denies.length > 0, verdicts, nowUs, ...(fallback && { fallback }) };
  shares.record({ request, matched, verdict, decision: toDecision(matched, verdict, () => nowUs) });
}

function shareOf(member: string): number {
  const request = requestOf([{ entries: entriesOf('k=v', `t=${member}`) }]);
  return matchRequest({ ruleSet: RULES, request, modes: MODES, fair: shares }).matches[0]!.limits[1]!.capacity;
}

async function at(us: number): Promise<void> {
  nowUs = us;
  await shares.look();
}

const countsOf = () => board.added.map(({ counts }) => Object.fromEntries(counts));

test('demand is what was admitted, and what the limit or the share itself denied', async () => {
  ask(['k=v', 't=a'], { hits: 3 });
  ask(['k=v', 't=a'], { hits: 5, denies: [0] });
  ask(['k=v', 't=a'], { hits: 7, denies: [1] });
  // The limit of another descriptor denies it.
  ask(['k=v', 't=a'], { hits: 11, descriptors: [['other=x']], denies: [2] });
  // It can never fit the limit, or the share.
  ask(['k=v', 't=a'], { hits: 13, denies: [0], never: true });
  ask(['k=v', 't=a'], { hits: 13, denies: [1], never: true });
  // A refund, and a check.
  ask(['k=v', 't=a'], { hits: -4 });
  ask(['k=v', 't=a'], { hits: 0 });
  ask(['k=v']);
  await shares.look();
  expect(countsOf()).toEqual([{ a: 15, '': 1 }]);
});

test('the window after has the shares of the demand before it, and the one after that its own', async () => {
  ask(['k=v', 't=a'], { hits: 90 });
  ask(['k=v', 't=b'], { hits: 90 });
  await at(START_US + 1_000);
  expect([shareOf('a'), shareOf('b'), shares.dividedNow]).toEqual([100, 100, 0]);
  await at(START_US + MINUTE_US);
  expect([shareOf('a'), shareOf('b'), shareOf('c'), shares.dividedNow]).toEqual([75, 25, 25, 1]);
  const { version } = shares;
  ask(['k=v', 't=a'], { hits: 10 });
  await at(START_US + 2 * MINUTE_US);
  expect([shareOf('a'), shareOf('b'), shares.dividedNow]).toEqual([100, 100, 0]);
  expect(shares.version).toBeGreaterThan(version);
});

test('requests that cost more than a share do not keep each other out for ever', async () => {
  for (let window = 0; window < 6; window += 1) {
    nowUs = START_US + window * MINUTE_US;
    await shares.look();
    const isShared = shareOf('b') < 60;
    // One of two requests fits the whole limit, and none fits a share.
    ask(['k=v', 't=b'], { hits: 60, ...(isShared && { denies: [1], never: true }) });
    ask(['k=v', 't=c'], { hits: 60, denies: [isShared ? 1 : 0], never: isShared });
    await shares.look();
    expect([window, isShared]).toEqual([window, window % 2 === 1]);
  }
});

test('an override of one member does not change what all of them divide', async () => {
  const override = { requestsPerUnit: 10, unit: 'minute' as const };
  const request = requestOf([{ entries: entriesOf('k=v', 't=a') }]);
  const control: MatchControl = {
    planOf: () => undefined,
    parentOf: () => undefined,
    planLimits: () => undefined,
    stageOf: () => undefined,
    select: () => ({ overrides: [{ kind: 'override', id: 'o', limit: override }] }),
  };
  ask(['k=v', 't=b'], { hits: 90 });
  ask(['k=v', 't=c'], { hits: 90 });
  const matched = matchRequest({ ruleSet: RULES, request, modes: MODES, fair: shares, control });
  expect(matched.matches[0]!.limits[0]!.requestsPerUnit).toBe(10);
  const verdicts = matched.matches[0]!.limits.map((): Verdict => ({ fits: true, remaining: 1, retryAfterUs: 0, resetAfterUs: 1 }));
  const verdict: GroupVerdict = { overLimit: false, verdicts, nowUs };
  shares.record({ request, matched, verdict, decision: toDecision(matched, verdict, () => nowUs) });
  await at(START_US + MINUTE_US);
  // One of the 100 is that of the third member, and one is left as room.
  expect(shareOf('b')).toBe(49);
});

test('counts are sent a few times in a window and at its end, not at each look', async () => {
  for (let second = 0; second < 60; second += 1) {
    nowUs = START_US + second * 1_000_000;
    ask(['k=v', 't=a']);
    await shares.look();
  }
  expect(board.added.length).toBeLessThanOrEqual(21);
  await at(START_US + MINUTE_US);
  expect(board.added.reduce((sum, { counts }) => sum + (counts.get('a') ?? 0), 0)).toBe(60);
});

test('the demand of a window is read once, and of nothing that nobody asks for', async () => {
  ask(['k=v', 't=a']);
  for (let i = 0; i < 5; i += 1) await at(START_US + MINUTE_US + i);
  expect(board.reads).toBe(1);
  for (let i = 0; i < 5; i += 1) await at(START_US + 5 * MINUTE_US + i);
  expect(board.reads).toBe(2);
  expect(board.added).toHaveLength(1);
});

test('a member that floods counts as much as the limit, however large its hits', async () => {
  for (let i = 0; i < 50; i += 1) ask(['k=v', 't=a'], { hits: Number.MAX_SAFE_INTEGER, denies: [0] });
  await shares.look();
  expect(countsOf()).toEqual([{ a: 100 }]);
});

test('a flood of names is counted by name up to a bound, the rest together, and long names by their digest', async () => {
  for (let i = 0; i < 3_000; i += 1) ask(['k=v', `t=${'x'.repeat(300)}${i}`]);
  await shares.look();
  const [{ counts } = { counts: new Map<string, number>() }] = board.added;
  expect(counts.size).toBe(1_001);
  expect(counts.get('')).toBe(100);
  for (const name of counts.keys()) expect(name.length).toBeLessThanOrEqual(255);
});

test('a flood of limits is counted up to a bound, and forgotten when nobody asks', async () => {
  for (let i = 0; i < 5_000; i += 1) ask([`k=v${i}`, 't=a']);
  await shares.look();
  expect(board.added).toHaveLength(1_000);
  await at(START_US + 3 * MINUTE_US);
  for (let i = 5_000; i < 5_500; i += 1) ask([`k=v${i}`, 't=a']);
  board.added.length = 0;
  await shares.look();
  expect(board.added).toHaveLength(500);
});

test('without its store a level ends after two windows more, what is counted is dropped, and every failure is said', async () => {
  ask(['k=v', 't=a'], { hits: 90 });
  ask(['k=v', 't=b'], { hits: 90 });
  await at(START_US + MINUTE_US);
  expect(shareOf('b')).toBe(25);
  board.isDown = true;
  for (let window = 1; window <= 4; window += 1) {
    nowUs = START_US + window * MINUTE_US + 5;
    ask(['k=v', 't=b'], { fallback: true });
    await shares.look();
    expect(shareOf('b')).toBe(window <= 3 ? 25 : 100);
  }
  expect(errors.length).toBeGreaterThanOrEqual(3);
  expect(board.added).toHaveLength(1);
});

test('a clock of the store that steps back by an hour costs two windows without shares at most', async () => {
  const flood = () => {
    ask(['k=v', 't=a'], { hits: 90 });
    ask(['k=v', 't=b'], { hits: 90 });
  };
  flood();
  await at(START_US + MINUTE_US);
  expect(shareOf('b')).toBe(25);
  const backUs = START_US - 60 * MINUTE_US;
  nowUs = backUs;
  flood();
  await shares.look();
  nowUs = backUs + MINUTE_US;
  ask(['k=v', 't=a']);
  await shares.look();
  expect([shareOf('a'), shareOf('b')]).toEqual([75, 25]);
  nowUs = backUs + 2 * MINUTE_US;
  ask(['k=v', 't=a']);
  await shares.look();
  expect(shareOf('b')).toBe(100);
});

test('what is counted is sent when the process stops', async () => {
  shares.start();
  ask(['k=v', 't=a']);
  await shares.stop();
  expect(countsOf()).toEqual([{ a: 1 }]);
});
