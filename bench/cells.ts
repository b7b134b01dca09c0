/** What is measured: which server, asked for what, by how many at once or how often. */

import type { UnitName } from '../src/rule/unit';
import type { Asked } from './load/calls';
import type { ContenderName } from './contenders';

export const CONNECTIONS = 4;

/** Keys of a row that is not about one key. */
const MANY_KEYS = 100_000;

/** As `limits.yaml` has it. */
export interface WorkloadLimit {
  readonly requests: number;
  readonly unit: UnitName;
  readonly perSeconds: number;
}

export interface Workload {
  readonly title: string;
  readonly asked: Asked;
  readonly keyCount: number;
  readonly limit: WorkloadLimit;
  /** The first keys, whose buckets are read before and after; a bucket that runs dry is not told by what remains. */
  readonly watchedBelow: number;
  readonly runsDry?: true;
}

export const WORKLOADS = {
  many: {
    title: '100,000 keys',
    asked: { domain: 'bench', entryKeys: ['user'] },
    keyCount: MANY_KEYS,
    limit: { requests: 100_000, unit: 'year', perSeconds: 365 * 86_400 },
    watchedBelow: 100,
  },
  two: {
    title: '100,000 keys, two descriptors',
    asked: { domain: 'bench', entryKeys: ['user', 'tenant'] },
    keyCount: MANY_KEYS,
    limit: { requests: 100_000, unit: 'year', perSeconds: 365 * 86_400 },
    watchedBelow: 100,
  },
  check: {
    title: '100,000 keys, checks (0 hits)',
    asked: { domain: 'bench', entryKeys: ['user'], hits: 0 },
    keyCount: MANY_KEYS,
    limit: { requests: 100_000, unit: 'year', perSeconds: 365 * 86_400 },
    // A check charges nothing.
    watchedBelow: 0,
  },
  report: {
    title: '100,000 keys, usage reports (1 hit of the descriptor)',
    asked: { domain: 'bench', entryKeys: ['user'], hits: 1 },
    keyCount: MANY_KEYS,
    limit: { requests: 100_000, unit: 'year', perSeconds: 365 * 86_400 },
    watchedBelow: 100,
  },
  hot: {
    title: 'one hot key',
    asked: { domain: 'bench', entryKeys: ['hot'] },
    keyCount: 1,
    limit: { requests: 20_000_000, unit: 'hour', perSeconds: 3_600 },
    watchedBelow: 1,
  },
  exhausted: {
    title: 'one exhausted key: all over limit',
    asked: { domain: 'bench', entryKeys: ['exhausted'] },
    keyCount: 1,
    limit: { requests: 10, unit: 'minute', perSeconds: 60 },
    watchedBelow: 1,
    runsDry: true,
  },
} as const satisfies Readonly<Record<string, Workload>>;

export type WorkloadName = keyof typeof WORKLOADS;

/** In an open loop: so many a second, or half of what the same server did in its closed loop. */
export type OpenRate = 2_000 | 5_000 | 'half';

export type Load =
  | { readonly kind: 'closed'; readonly streams: number }
  | { readonly kind: 'open'; readonly rate: OpenRate }
  /** The same closed loop by a generator that is not ours. */
  | { readonly kind: 'h2load'; readonly streams: number };

export interface Cell {
  /** A server, or RedisStore alone, which sends one EVALSHA for each decision. */
  readonly contender: ContenderName | 'one_evalsha';
  readonly workload: WorkloadName;
  readonly load: Load;
}

/** As a name, for looking up. */
export function cellId({ contender, workload, load }: Cell): string {
  return `${contender} ${workload} ${loadId(load)}`;
}

function loadId(load: Load): string {
  return `${load.kind} ${load.kind === 'open' ? load.rate : load.streams}`;
}

const ALL_STREAMS = [64, 8, 1];
const ALL_RATES: readonly OpenRate[] = [2_000, 5_000, 'half'];

function closed(contender: Cell['contender'], workload: WorkloadName, streams: readonly number[] = [64]): Cell[] {
  return streams.map((each) => ({ contender, workload, load: { kind: 'closed', streams: each } }));
}

function open(contender: ContenderName, rates: readonly OpenRate[] = ALL_RATES): Cell[] {
  return rates.map((rate) => ({ contender, workload: 'many', load: { kind: 'open', rate } }));
}

function byH2load(contender: ContenderName, all: readonly number[] = ALL_STREAMS): Cell[] {
  return all.map((streams) => ({ contender, workload: 'many', load: { kind: 'h2load', streams } }));
}

/** In the order of the report; what an open loop takes half of comes before it. */
const FULL: readonly Cell[] = [
  ...closed('constant_grpc_js', 'many', ALL_STREAMS),
  ...closed('constant_lean', 'many', ALL_STREAMS),
  ...closed('bare_node', 'many', [1]),
  ...closed('embedded', 'many', ALL_STREAMS),
  ...closed('embedded', 'hot'),
  ...closed('embedded_grpc_js', 'many'),
  ...closed('redis', 'many', ALL_STREAMS),
  ...closed('redis', 'two'),
  ...closed('redis', 'hot'),
  ...closed('redis', 'exhausted'),
  ...closed('redis_grpc_js', 'many', ALL_STREAMS),
  ...closed('one_evalsha', 'many'),
  ...closed('one_evalsha', 'hot'),
  ...byH2load('constant_grpc_js'),
  ...byH2load('constant_lean'),
  ...open('constant_grpc_js'),
  ...open('embedded'),
  ...open('redis'),
  ...open('redis_grpc_js'),
];

const TARGET: readonly Cell[] = [
  ...closed('target', 'many', ALL_STREAMS),
  ...closed('target', 'two'),
  ...closed('target', 'hot'),
  ...closed('target', 'exhausted'),
  ...open('target'),
];

/** Checks and usage reports, each beside an ordinary decision. */
const USAGE: readonly Cell[] = [
  ...closed('constant_grpc_js', 'many'),
  ...closed('embedded', 'many'),
  ...closed('embedded', 'check'),
  ...closed('embedded', 'report'),
  ...closed('redis', 'many'),
  ...closed('redis', 'check'),
  ...closed('redis', 'report'),
];

/** What the bar needs, and no more. */
const SHORT: readonly Cell[] = [
  ...closed('constant_grpc_js', 'many', [64, 1]),
  ...closed('constant_lean', 'many'),
  ...closed('embedded', 'many'),
  ...closed('redis', 'many', [64, 1]),
  ...closed('redis', 'two'),
  ...closed('redis', 'hot'),
  ...closed('redis', 'exhausted'),
  ...closed('one_evalsha', 'many'),
  ...closed('one_evalsha', 'hot'),
  ...byH2load('constant_grpc_js', [64]),
  ...byH2load('constant_lean', [64]),
  ...open('constant_grpc_js', [2_000]),
  ...open('redis', [2_000]),
];

/** The servers that these ask. */
export function contendersOf(cells: readonly Cell[]): ReadonlySet<ContenderName> {
  return new Set(cells.map(({ contender }) => contender).filter((name) => name !== 'one_evalsha'));
}

export function cellsOf({ short, usage, target }: { readonly short: boolean; readonly usage: boolean; readonly target: boolean }): readonly Cell[] {
  if (usage) return USAGE;
  return [...(short ? SHORT : FULL), ...(target ? TARGET : [])];
}

/**
 * The order of a round: rows of one load one after the other, since ratios are of such, and what the machine can do changes within a round
 * of minutes.
 */
export function inOrderOfRound(cells: readonly Cell[]): readonly Cell[] {
  const byLoad = new Map<string, Cell[]>();
  for (const cell of cells) {
    const load = loadId(cell.load);
    byLoad.set(load, [...(byLoad.get(load) ?? []), cell]);
  }
  return [...byLoad.values()].flat();
}
