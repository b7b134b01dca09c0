/** Members of a divided limit get weighted max-min fair shares within 5 %, over several instances, and together never more than the limit. */

import type { RateLimitRequest } from '../../src/domain/descriptor/descriptor';
import { NOTHING_TAKEN, toDecision } from '../../src/domain/decide/to-decision';
import { isOutsideWindows } from '../../src/domain/bucket/take';
import type { RuleSet } from '../../src/domain/rule/rule-set';
import { FairShares } from '../../src/state/fair/fair-shares';
import { MemoryDemandBoard } from '../../src/state/fair/memory-demand-board';
import { Preparation } from '../../src/state/request/preparation';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { entriesOf, requestOf } from '../support/decisions/rules';
import { figure } from '../support/docs/figure';
import { randomFrom, type Random } from '../support/random/random';
import { compileText } from '../unit/compile/compile-config';

const START_US = 1_800_000_000_000_000;
const WINDOW_US = 60_000_000;
const INSTANCES = 3;
const LOOK_US = 200_000;
const WINDOWS = 12;
/** The first window has no window before it, and sliding ones remember it in the second. */
const FIRST = 2;

interface Member {
  readonly name: string;
  readonly weight: number;
  /** Hits that it asks for in a window, by the number of the window. */
  readonly asks: (window: number) => number;
}

const LIMIT = 600;
const BURST = 60;

const steady = (hits: number) => () => hits;

/** Exact weighted max-min shares, by raising the level in small steps of the members that still want more. */
function fairShares(capacity: number, asked: readonly { readonly hits: number; readonly weight: number }[]): number[] {
  const given = asked.map(() => 0);
  let left = capacity;
  for (;;) {
    const open = asked.map((_, i) => i).filter((i) => given[i]! < asked[i]!.hits - 1e-9);
    if (open.length === 0 || left < 1e-6) return given;
    const weight = open.reduce((sum, i) => sum + asked[i]!.weight, 0);
    const step = Math.min(left / weight, ...open.map((i) => (asked[i]!.hits - given[i]!) / asked[i]!.weight));
    for (const i of open) {
      given[i]! += step * asked[i]!.weight;
      left -= step * asked[i]!.weight;
    }
  }
}

interface Instance {
  readonly preparation: Preparation;
  readonly shares: FairShares;
}

class Fleet {
  nowUs = START_US;
  private readonly store = new MemoryStore({ nowUs: () => this.nowUs, bucketsMax: 10_000 });
  private readonly board = new MemoryDemandBoard();
  private readonly instances: readonly Instance[];

  constructor(ruleSet: RuleSet, withoutShares?: true) {
    const clockUs = () => this.nowUs;
    this.instances = Array.from({ length: INSTANCES }, () => {
      const onError = (error: unknown) => {
        throw error;
      };
      const shares = new FairShares({ board: this.board, clockUs, onError });
      const modes = { shadow: false, quota: false };
      return {
        shares,
        preparation: new Preparation({ ruleSet, modes, keyPrefix: '', nowUs: clockUs, fair: withoutShares ? undefined : shares }),
      };
    });
  }

  decide(request: RateLimitRequest, at: number): boolean {
    const { preparation, shares } = this.instances[at]!;
    const { matched, group } = preparation.of(request);
    const [outcome = NOTHING_TAKEN] = this.store.decide([group]);
    if (isOutsideWindows(outcome) || outcome instanceof Error) throw new Error('no verdict');
    const decision = toDecision(matched, outcome, () => this.nowUs);
    shares.record({ request, matched, verdict: outcome, decision });
    return !outcome.overLimit;
  }

  async look(): Promise<void> {
    for (const { shares } of this.instances) await shares.look();
  }
}

interface Run {
  readonly algorithm: string;
  /** Without shares, who asks first gets all. */
  readonly withoutShares?: true;
  readonly members: readonly Member[];
  readonly random: Random;
}

interface Result {
  /** By member, hits admitted and hits that are fair, over all windows from `FIRST` on. */
  readonly admitted: number[];
  readonly fair: number[];
  /** The most hits of a window. */
  readonly most: number;
}

async function run({ algorithm, members, random, withoutShares }: Run): Promise<Result> {
  const weights = members.map(({ name, weight }) => `${name}: ${weight}`).join(', ');
  const burst = algorithm === 'leaky_bucket' ? `, burst: ${BURST}` : '';
  const fleet = new Fleet(
    compileText(
      `domain: d\ndescriptors: [{ key: k, value: v, rate_limit: { unit: minute, requests_per_unit: ${LIMIT}, algorithm: ${algorithm}${burst} }, fair: { entry: m, weights: { ${weights} } } }]\n`,
    ),
    withoutShares,
  );
  const requests = members.map(({ name }) => requestOf([{ entries: entriesOf('k=v', `m=${name}`) }]));
  const admitted = members.map(() => 0);
  const fair = members.map(() => 0);
  let most = 0;
  for (let window = 0; window < WINDOWS; window += 1) {
    const startUs = START_US + window * WINDOW_US;
    const asked = members.map(({ asks, weight }) => ({ hits: asks(window), weight }));
    const arrivals = asked
      .flatMap(({ hits }, member) => Array.from({ length: hits }, () => ({ atUs: startUs + random(WINDOW_US / 1_000) * 1_000, member })))
      .sort((a, b) => a.atUs - b.atUs);
    let sum = 0;
    let lookUs = startUs;
    for (const { atUs, member } of [...arrivals, { atUs: startUs + WINDOW_US - 1, member: undefined }]) {
      for (; lookUs <= atUs; lookUs += LOOK_US) {
        fleet.nowUs = lookUs;
        await fleet.look();
      }
      fleet.nowUs = atUs;
      if (member === undefined || !fleet.decide(requests[member]!, random(INSTANCES))) continue;
      sum += 1;
      if (window >= FIRST) admitted[member]! += 1;
    }
    most = Math.max(most, sum);
    if (window >= FIRST) fairShares(LIMIT, asked).forEach((hits, i) => (fair[i]! += hits));
  }
  return { admitted, fair, most };
}

/** What members may miss of their fair share, or get beyond it. */
const ERROR = 0.05;

/** Hits are whole, so a difference of one in a window is allowed. */
const ROUNDING = WINDOWS - FIRST;

const SMALL = { name: 'small', weight: 1, asks: steady(60) };
const FLOOD = { name: 'flood', weight: 1, asks: steady(1_500) };

const STEADY: Readonly<Record<string, readonly Member[]>> = {
  'one that floods, and one that asks for little': [FLOOD, SMALL],
  'four that all want more, with weights': [
    { name: 'a', weight: 1, asks: steady(700) },
    { name: 'b', weight: 2, asks: steady(900) },
    { name: 'c', weight: 3, asks: steady(800) },
    { name: 'd', weight: 4, asks: steady(1_000) },
  ],
  'one of a large weight that asks for little': [
    { name: 'a', weight: 10, asks: steady(100) },
    { name: 'b', weight: 1, asks: steady(800) },
    { name: 'c', weight: 1, asks: steady(400) },
  ],
  'one that floods, and a hundred that ask for little': [
    FLOOD,
    ...Array.from({ length: 100 }, (_, i) => ({ name: `m${i}`, weight: 1, asks: steady(3) })),
  ],
  'less than there is': [
    { name: 'a', weight: 1, asks: steady(200) },
    { name: 'b', weight: 1, asks: steady(250) },
  ],
};

/** The most hits that the limit admits from the beginning of a minute to its end. */
const MOST = {
  fixed_window: LIMIT,
  sliding_window_counter: LIMIT,
  sliding_window_log: LIMIT,
  token_bucket: 2 * LIMIT,
  leaky_bucket: LIMIT + 1 + BURST,
};

type Algorithm = keyof typeof MOST;

const ALGORITHMS = Object.keys(MOST) as Algorithm[];

test.each(ALGORITHMS.flatMap((algorithm) => Object.entries(STEADY).map(([name, members]) => ({ algorithm, name, members }))))(
  '$algorithm: $name',
  async ({ algorithm, members }) => {
    const { admitted, fair, most } = await run({ algorithm, members, random: randomFrom() });
    expect(most).toBeLessThanOrEqual(MOST[algorithm]);
    const off = admitted.map((hits, i) => Math.max(0, Math.abs(hits - fair[i]!) - ROUNDING) / fair[i]!);
    figure(`${(100 * Math.max(...off)).toFixed(1)} % off`);
    expect(Math.max(...off)).toBeLessThanOrEqual(ERROR);
  },
);

test('without shares the one that floods starves the other', async () => {
  const { admitted, fair } = await run({ algorithm: 'fixed_window', members: [FLOOD, SMALL], random: randomFrom(), withoutShares: true });
  expect(admitted[1]).toBeLessThan(fair[1]! / 2);
});

test.each(ALGORITHMS)('%s: what one leaves unused is given to others a window later', async (algorithm) => {
  const isThere = (window: number) => Math.floor(window / 4) % 2 === 0;
  const members = [
    { name: 'a', weight: 1, asks: steady(900) },
    { name: 'b', weight: 1, asks: (window: number) => (isThere(window) ? 900 : 0) },
  ];
  const { admitted, fair, most } = await run({ algorithm, members, random: randomFrom() });
  expect(most).toBeLessThanOrEqual(MOST[algorithm]);
  // It leaves once.
  const late = LIMIT / 2;
  expect(admitted[0]).toBeGreaterThanOrEqual(fair[0]! * (1 - ERROR) - late);
  expect(admitted[1]).toBeGreaterThanOrEqual(fair[1]! * (1 - ERROR));
});

test.each(ALGORITHMS)('%s: more members than hits leave little unused, and none gets more than a few', async (algorithm) => {
  const members = Array.from({ length: 700 }, (_, i) => ({ name: `m${i}`, weight: 1, asks: steady(2) }));
  const { admitted, most } = await run({ algorithm, members, random: randomFrom() });
  expect(most).toBeLessThanOrEqual(MOST[algorithm]);
  expect(admitted.reduce((sum, hits) => sum + hits, 0)).toBeGreaterThan(0.8 * LIMIT * (WINDOWS - FIRST));
  expect(Math.max(...admitted)).toBeLessThanOrEqual(2 * (WINDOWS - FIRST));
});
