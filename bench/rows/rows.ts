/** The rows of `npm run bench`: which server is measured, with which request, under which load. */

import type { UnitName } from '../../src/domain/descriptor/unit';
import type { Asked } from '../load/calls';
import type { ContenderName } from '../servers/contenders';

/** Connections of a row that is not about their number. */
export const CONNECTIONS = 4;

/** Streams of each connection that keep a server busy. */
export const SATURATING_STREAMS = 64;

/** Keys of a row that is not about one key. */
const MANY_KEYS = 100_000;

/** Keys that come again within a second, as those of real limits do: their buckets exist. Of `MANY_KEYS`, with many descriptors nearly every bucket is new. */
const STEADY_KEYS = 2_000;

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
  /** The first keys, whose buckets are read before and after a round to count the hits charged. */
  readonly watchedBelow: number;
  /** A bucket that runs dry: its hits are counted against what the limit allows, not against what remains. */
  readonly runsDry?: true;
}

const NEVER_USED_UP: WorkloadLimit = { requests: 10_000, unit: 'day', perSeconds: 86_400 };

/** The keys of `limits.yaml` in order; a request of n descriptors has the first n. */
const ENTRY_KEYS = ['user', 'tenant', ...Array.from({ length: 18 }, (_, i) => `dimension_${String(i + 3).padStart(2, '0')}`)];

function ofDescriptors(count: number, keyCount = MANY_KEYS): Workload {
  const keys = `${keyCount.toLocaleString('en-US')} keys`;
  // Each watched key is read twice a round for each descriptor.
  return {
    title: count === 1 ? keys : `${keys}, ${count} descriptors`,
    asked: { domain: 'bench', entryKeys: ENTRY_KEYS.slice(0, count) },
    keyCount,
    limit: NEVER_USED_UP,
    watchedBelow: count > 2 ? 20 : 100,
  };
}

export const WORKLOADS = {
  many: ofDescriptors(1),
  two: ofDescriptors(2),
  three: ofDescriptors(3),
  five: ofDescriptors(5),
  ten: ofDescriptors(10),
  twenty: ofDescriptors(20),
  steady: ofDescriptors(1, STEADY_KEYS),
  steady_five: ofDescriptors(5, STEADY_KEYS),
  steady_ten: ofDescriptors(10, STEADY_KEYS),
  steady_twenty: ofDescriptors(20, STEADY_KEYS),
  check: {
    title: '100,000 keys, checks (0 hits)',
    asked: { domain: 'bench', entryKeys: ['user'], hits: 0 },
    keyCount: MANY_KEYS,
    limit: NEVER_USED_UP,
    // A check charges nothing.
    watchedBelow: 0,
  },
  report: {
    title: '100,000 keys, usage reports (1 hit of the descriptor)',
    asked: { domain: 'bench', entryKeys: ['user'], hits: 1 },
    keyCount: MANY_KEYS,
    limit: NEVER_USED_UP,
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

/** Requests of 1, 2, 3, 5, 10, and 20 descriptors. */
export const BY_DESCRIPTORS = { 1: 'many', 2: 'two', 3: 'three', 5: 'five', 10: 'ten', 20: 'twenty' } as const satisfies Readonly<
  Record<number, WorkloadName>
>;

/** The same with keys that come again. */
export const STEADY_BY_DESCRIPTORS = { 1: 'steady', 5: 'steady_five', 10: 'steady_ten', 20: 'steady_twenty' } as const satisfies Readonly<
  Record<number, WorkloadName>
>;

/** Calls a second of an open loop; `half`: half of what the same server decided in its closed loop. */
export type OpenRate = 2_000 | 5_000 | 10_000 | 'half';

export type Load =
  | { readonly kind: 'closed'; readonly connections: number; readonly streams: number }
  | { readonly kind: 'open'; readonly rate: OpenRate }
  /** The same closed loop by a generator that is not ours. */
  | { readonly kind: 'h2load'; readonly streams: number };

export interface Row {
  /** A server, or RedisStore alone, which sends one EVALSHA for each decision. */
  readonly contender: ContenderName | 'one_evalsha';
  readonly workload: WorkloadName;
  readonly load: Load;
}

/** The row's name: `redis five 4x64`, `embedded many open-2000`. `--rows` selects by each of the three words. */
export function rowId({ contender, workload, load }: Row): string {
  return `${contender} ${workload} ${loadId(load)}`;
}

export function loadId(load: Load): string {
  switch (load.kind) {
    case 'closed':
      return `${load.connections}x${load.streams}`;
    case 'open':
      return `open-${load.rate}`;
    case 'h2load':
      return `h2load-${load.streams}`;
  }
}

type Shape = readonly [connections: number, streams: number];

/** At which the transports are compared. */
const STREAMS: readonly Shape[] = [
  [4, 64],
  [4, 8],
  [4, 1],
];
/** Connections with one call at a time each, as sidecars have them. */
const ONE_CALL: readonly Shape[] = [
  [1, 1],
  [4, 1],
  [200, 1],
  [1_000, 1],
];
const SATURATING: readonly Shape[] = [[CONNECTIONS, SATURATING_STREAMS]];
const DESCRIPTORS = Object.values(BY_DESCRIPTORS);
const STEADY_DESCRIPTORS = Object.values(STEADY_BY_DESCRIPTORS);

function closed(contender: Row['contender'], workload: WorkloadName, shapes: readonly Shape[] = SATURATING): Row[] {
  return shapes.map(([connections, streams]) => ({ contender, workload, load: { kind: 'closed', connections, streams } }));
}

function open(contender: ContenderName, rates: readonly OpenRate[]): Row[] {
  return rates.map((rate) => ({ contender, workload: 'many', load: { kind: 'open', rate } }));
}

function byH2load(contender: ContenderName, all: readonly number[]): Row[] {
  return all.map((streams) => ({ contender, workload: 'many', load: { kind: 'h2load', streams } }));
}

/** The rows of a server that counts in Redis, beside its peers. */
function onRedis(contender: ContenderName): Row[] {
  return [
    ...[...DESCRIPTORS, ...STEADY_DESCRIPTORS].flatMap((workload) => closed(contender, workload)),
    ...closed(contender, 'many', ONE_CALL),
    ...closed(contender, 'hot'),
    ...closed(contender, 'exhausted'),
    ...open(contender, [2_000, 10_000]),
  ];
}

/** The same for a server that counts in its own memory. */
function inMemory(contender: ContenderName): Row[] {
  return [
    ...closed(contender, 'many'),
    ...closed(contender, 'five'),
    ...closed(contender, 'twenty'),
    ...closed(contender, 'many', [
      [4, 1],
      [200, 1],
    ]),
    ...closed(contender, 'hot'),
    ...open(contender, [2_000, 10_000]),
  ];
}

/** In the order of the report; a closed loop stands before the open loop that takes half of it. */
const FULL: readonly Row[] = [
  ...closed('constant_grpc_js', 'many', STREAMS),
  ...closed('constant_lean', 'many', STREAMS),
  ...closed('bare_node', 'many', [
    [4, 1],
    [200, 1],
  ]),
  ...inMemory('embedded'),
  ...closed('embedded', 'many', [[4, 8]]),
  ...closed('embedded_grpc_js', 'many'),
  ...onRedis('redis'),
  ...closed('redis', 'many', [[4, 8]]),
  ...closed('redis_default', 'many', [
    [4, 64],
    [200, 1],
    [1_000, 1],
  ]),
  ...closed('redis_workers', 'many', [
    [4, 64],
    [200, 1],
  ]),
  ...closed('redis_grpc_js', 'many', STREAMS),
  ...closed('one_evalsha', 'many'),
  ...closed('one_evalsha', 'hot'),
  ...byH2load('constant_grpc_js', [64, 8, 1]),
  ...byH2load('constant_lean', [64, 8, 1]),
  ...open('constant_grpc_js', [2_000, 'half']),
  ...open('constant_lean', [2_000, 10_000]),
  ...open('embedded', ['half']),
  ...open('redis', ['half']),
  ...closed('redis_window', 'many', [[4, 1]]),
  ...open('redis_window', [2_000, 10_000]),
  ...open('redis_grpc_js', [2_000]),
];

/** Weir on the newest Redis of `.cache/redis-versions`. */
const NEWEST_REDIS: readonly Row[] = [
  ...[...DESCRIPTORS, ...STEADY_DESCRIPTORS].flatMap((workload) => closed('redis_newest', workload)),
  ...closed('redis_newest', 'many', [[4, 1]]),
];

/** What the bar needs without a target, and no more. */
const SHORT: readonly Row[] = [
  ...closed('constant_grpc_js', 'many'),
  ...closed('constant_lean', 'many'),
  ...closed('bare_node', 'many', [[4, 1]]),
  ...closed('embedded', 'many'),
  ...closed('redis', 'many', [
    [4, 64],
    [4, 1],
    [200, 1],
  ]),
  ...closed('redis', 'five'),
  ...closed('redis', 'hot'),
  ...closed('redis', 'exhausted'),
  ...closed('redis_default', 'many'),
  ...closed('one_evalsha', 'many'),
  ...closed('one_evalsha', 'hot'),
  ...byH2load('constant_grpc_js', [64]),
  ...byH2load('constant_lean', [64]),
  ...open('constant_grpc_js', [2_000]),
  ...open('constant_lean', [2_000]),
  ...open('redis', [2_000]),
];

/** The target's rows and those of Weir beside it, in a short run. */
function shortOf(contender: ContenderName, all: readonly Row[]): readonly Row[] {
  const left = new Set(['open-10000', '1000x1']);
  return all.filter((row) => row.contender === contender && !left.has(loadId(row.load)) && !['hot', 'exhausted'].includes(row.workload));
}

/** Checks and usage reports, each beside an ordinary decision. */
const USAGE: readonly Row[] = [
  ...closed('constant_grpc_js', 'many'),
  ...closed('embedded', 'many'),
  ...closed('embedded', 'check'),
  ...closed('embedded', 'report'),
  ...closed('redis', 'many'),
  ...closed('redis', 'check'),
  ...closed('redis', 'report'),
];

/** A decision with the decision log, beside one without. */
const LOGGED: readonly Row[] = (['embedded', 'embedded_logged', 'redis', 'redis_logged'] as const).flatMap((contender) => [
  ...closed(contender, 'many'),
  ...closed(contender, 'five'),
]);

/** What the target is: the reference counts in Redis, limitador in its memory. */
export const TARGET_NAMES = ['reference', 'limitador'] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

/** The Weir that a target is compared with. */
export function peerOf(target: TargetName | undefined): 'redis' | 'embedded' {
  return target === 'limitador' ? 'embedded' : 'redis';
}

export interface Selection {
  readonly form: 'full' | 'short' | 'usage' | 'logged';
  /** Undefined without a target. `name` is undefined where it was not said what the target is. */
  readonly target?: { readonly name: TargetName | undefined } | undefined;
  /** Whether a newer Redis is installed. */
  readonly hasNewestRedis?: boolean;
  /** Words of row ids: a row is measured if each group of alternatives has a word of it. Empty: all rows. */
  readonly only?: readonly string[];
}

export function selectRows({ form, target, hasNewestRedis = false, only = [] }: Selection): readonly Row[] {
  const rows =
    form === 'usage' || form === 'logged'
      ? { usage: USAGE, logged: LOGGED }[form]
      : [...(form === 'full' ? FULL : SHORT), ...(form === 'full' && hasNewestRedis ? NEWEST_REDIS : []), ...besideTarget(form, target)];
  const unique = new Map(rows.map((row) => [rowId(row), row]));
  return [...unique.values()].filter((row) => isSelected(rowId(row), only));
}

function besideTarget(form: 'full' | 'short', target: Selection['target']): readonly Row[] {
  if (target === undefined) return [];
  const weir = peerOf(target.name);
  const rowsOf = weir === 'redis' ? onRedis : inMemory;
  if (form === 'full') return [...rowsOf(weir), ...rowsOf('target')];
  return [...shortOf(weir, rowsOf(weir)), ...shortOf('target', rowsOf('target'))];
}

/** Servers, requests, and loads are named apart: `redis,target,five,4x64` is five descriptors at 4x64 of those two servers. */
function isSelected(id: string, only: readonly string[]): boolean {
  const known = id.split(' ');
  const kinds = [isContender, isWorkload, (word: string) => !isContender(word) && !isWorkload(word)];
  return known.every((word, kind) => {
    const wanted = only.filter((each) => kinds[kind]!(each));
    return wanted.length === 0 || wanted.includes(word);
  });
}

const CONTENDER_WORDS = new Set([...FULL, ...NEWEST_REDIS, ...LOGGED].map(({ contender }) => contender as string).concat('target'));

function isContender(word: string): boolean {
  return CONTENDER_WORDS.has(word);
}

function isWorkload(word: string): boolean {
  return word in WORKLOADS;
}

/** Words of `--rows` that name nothing. */
export function unknownWords(only: readonly string[]): readonly string[] {
  return only.filter((word) => !isContender(word) && !isWorkload(word) && !/^(\d+x\d+|open-(\d+|half)|h2load-\d+)$/.test(word));
}

/** The servers that these rows need. */
export function contendersOf(rows: readonly Row[]): ReadonlySet<ContenderName> {
  return new Set(rows.map(({ contender }) => contender).filter((name) => name !== 'one_evalsha'));
}

/**
 * The order of a round: rows of one load and request one after the other, since ratios are between such rows, and the speed of the machine
 * changes within a round of minutes.
 */
export function inOrderOfRound(rows: readonly Row[]): readonly Row[] {
  const byLoad = new Map<string, Row[]>();
  for (const row of rows) {
    const load = loadId(row.load);
    byLoad.set(load, [...(byLoad.get(load) ?? []), row]);
  }
  const workloads = Object.keys(WORKLOADS);
  return [...byLoad.values()].flatMap((own) => own.toSorted((a, b) => workloads.indexOf(a.workload) - workloads.indexOf(b.workload)));
}
