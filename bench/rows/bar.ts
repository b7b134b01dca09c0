/** The bar: the bound of each ratio, always between figures of one round, and which bounds fail a run. */

import { spreadOf, type Spread } from '../support/statistics';
import type { RowFigures } from './measure-row';
import { BY_DESCRIPTORS, STEADY_BY_DESCRIPTORS, type TargetName } from './rows';

/** Figures of the same round, by `rowId`. */
export type Round = ReadonlyMap<string, RowFigures>;

export interface BarRow {
  readonly name: string;
  readonly title: string;
  readonly atMost: number;
  /** Where Redis has MSETEX, which writes many keys in one command. */
  readonly atMostWithMsetex?: number;
  /** Counts are exact; processor time and latency depend on what else the machine does. */
  readonly kind: 'count' | 'cpu' | 'latency';
  /** The bound counts only beside this target. */
  readonly target?: TargetName;
  /** Undefined if the round did not measure it. */
  readonly of: (round: Round) => number | undefined;
}

type Figure = (row: RowFigures) => number | undefined;

const GRPC_JS = 'constant_grpc_js many 4x64';
const REDIS = 'redis many 4x64';

const serverUs: Figure = (row) => row.serverUs;
const redisUs: Figure = (row) => row.redisUs;
const p99: Figure = (row) => row.latencyMs?.p99;
const secondsPerDecision: Figure = (row) => 1 / row.perSecond;

const OWN: readonly BarRow[] = [
  {
    name: 'lean_transport',
    title: 'lean transport, constant answer / grpc-js, constant answer (CPU per call, 64 streams)',
    atMost: 0.03,
    kind: 'cpu',
    of: ratio(serverUs, 'constant_lean many 4x64', GRPC_JS),
  },
  {
    name: 'embedded',
    title: 'whole decision, embedded / grpc-js, constant answer',
    atMost: 0.06,
    kind: 'cpu',
    of: ratio(serverUs, 'embedded many 4x64', GRPC_JS),
  },
  {
    name: 'redis',
    title: 'whole decision, Redis, 100,000 keys / grpc-js, constant answer',
    atMost: 0.1,
    kind: 'cpu',
    of: ratio(serverUs, REDIS, GRPC_JS),
  },
  {
    name: 'redis_one_stream',
    title: 'whole decision, Redis, 1 stream per connection / bare Node, which asks Redis and says yes, at the same',
    atMost: 1.5,
    kind: 'cpu',
    of: ratio(serverUs, 'redis many 4x1', 'bare_node many 4x1'),
  },
  {
    name: 'redis_cpu',
    title: 'Redis CPU per decision, 100,000 keys / one EVALSHA per decision',
    atMost: 0.6,
    kind: 'cpu',
    of: ratio(redisUs, REDIS, 'one_evalsha many 4x64'),
  },
  {
    name: 'redis_cpu_hot_key',
    title: 'Redis CPU per decision, one hot key / one EVALSHA per decision',
    atMost: 0.1,
    kind: 'cpu',
    of: ratio(redisUs, 'redis hot 4x64', 'one_evalsha hot 4x64'),
  },
  {
    name: 'redis_calls',
    title: 'Redis calls per decision, 256 streams',
    atMost: 0.05,
    kind: 'count',
    of: (round) => round.get(REDIS)?.redisCalls,
  },
  {
    name: 'redis_calls_denied',
    title: 'Redis calls per denied request on an exhausted key',
    atMost: 0.001,
    kind: 'count',
    of: (round) => {
      const row = round.get('redis exhausted 4x64');
      return row?.redisCalls === undefined ? undefined : (row.redisCalls * row.decisions) / Math.max(1, row.denied);
    },
  },
  {
    name: 'without_redis',
    title: 'part of the decisions made without Redis, default settings, worst row',
    atMost: 0,
    kind: 'count',
    of: (round) => {
      const rows = [...round].filter(([id]) => id.startsWith('redis_default ')).map(([, row]) => row);
      return rows.length === 0 ? undefined : Math.max(...rows.map(({ fallbacks = 0, decisions }) => fallbacks / Math.max(1, decisions)));
    },
  },
  {
    name: 'latency',
    title: 'p99 at 2,000/s on Redis / grpc-js, constant answer',
    atMost: 1.5,
    kind: 'latency',
    of: ratio(p99, 'redis many open-2000', 'constant_grpc_js many open-2000'),
  },
];

interface TargetBound {
  readonly figure: Figure;
  readonly what: string;
  readonly kind: BarRow['kind'];
  /** Request and load of a row, and its bound. */
  readonly atMost: Readonly<Record<string, number>>;
  readonly withMsetex?: number;
}

function everyDescriptors(atMost: (descriptors: number) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(BY_DESCRIPTORS).map(([count, workload]) => [`${workload} 4x64`, atMost(Number(count))]));
}

/** Throughput of at least three times the reference's: a decision takes at most a third of the time. */
const A_THIRD = 0.333;

const REDIS_CPU_BY_DESCRIPTORS: Readonly<Record<number, number>> = { 1: 0.6, 2: 0.7 };
const STEADY_REDIS_CPU_BY_DESCRIPTORS: Readonly<Record<number, number>> = { 1: 0.6, 5: 1.1 };
const SERVER_CPU_BY_DESCRIPTORS: Readonly<Record<number, number>> = { 1: 0.08 };

const BESIDE_REFERENCE: readonly TargetBound[] = [
  {
    what: 'Redis CPU',
    figure: redisUs,
    kind: 'cpu',
    atMost: everyDescriptors((count) => REDIS_CPU_BY_DESCRIPTORS[count] ?? 0.8),
    withMsetex: 0.5,
  },
  {
    what: 'Redis CPU',
    figure: redisUs,
    kind: 'cpu',
    atMost: Object.fromEntries(
      Object.entries(STEADY_BY_DESCRIPTORS).map(([count, workload]) => [
        `${workload} 4x64`,
        STEADY_REDIS_CPU_BY_DESCRIPTORS[Number(count)] ?? 1.3,
      ]),
    ),
  },
  { what: 'Redis CPU', figure: redisUs, kind: 'cpu', atMost: { 'many 1x1': 1.2, 'many 4x1': 0.9, 'many open-2000': 1.1 } },
  {
    what: 'server CPU',
    figure: serverUs,
    kind: 'cpu',
    atMost: {
      ...everyDescriptors((count) => SERVER_CPU_BY_DESCRIPTORS[count] ?? 0.15),
      'many 200x1': 0.2,
      'many 1000x1': 0.2,
      'many open-2000': 0.5,
    },
  },
  {
    what: 'time per decision (a third: 3 x the throughput)',
    figure: secondsPerDecision,
    kind: 'latency',
    atMost: everyDescriptors(() => A_THIRD),
  },
  { what: 'p99', figure: p99, kind: 'latency', atMost: { 'many open-2000': 0.9 } },
];

const BESIDE_LIMITADOR: readonly TargetBound[] = [
  { what: 'p99', figure: p99, kind: 'latency', atMost: { 'many 4x1': 1, 'many open-2000': 0.9 } },
  {
    what: 'server CPU',
    figure: serverUs,
    kind: 'cpu',
    atMost: { 'many 4x64': 0.2, 'five 4x64': 0.3, 'many 200x1': 0.5, 'many open-2000': 0.8 },
  },
];

function boundsBeside(target: TargetName, weir: string, bounds: readonly TargetBound[]): BarRow[] {
  return bounds.flatMap(({ what, figure, kind, atMost, withMsetex }) =>
    Object.entries(atMost).map(([row, bound]) => ({
      name: `${target}: ${what}: ${row}`,
      title: `${what}, Weir / ${target}: \`${row}\``,
      atMost: bound,
      ...(withMsetex !== undefined && { atMostWithMsetex: withMsetex }),
      kind,
      target,
      of: ratio(figure, `${weir} ${row}`, `target ${row}`),
    })),
  );
}

export const BAR: readonly BarRow[] = [
  ...OWN,
  ...boundsBeside('reference', 'redis', BESIDE_REFERENCE),
  ...boundsBeside('limitador', 'embedded', BESIDE_LIMITADOR),
];

function ratio(figure: Figure, above: string, below: string): BarRow['of'] {
  return (round) => {
    const [over, under] = [round.get(above), round.get(below)].map((row) => row && figure(row));
    return over === undefined || under === undefined ? undefined : over / under;
  };
}

/** What a run was like: it decides which bounds count. */
export interface BarScope {
  readonly target?: { readonly name: TargetName | undefined } | undefined;
  readonly hasMsetex?: boolean;
}

/** The rows that count in such a run, with their bounds. */
export function barOf({ target, hasMsetex = false }: BarScope = {}): readonly BarRow[] {
  return BAR.filter((row) => row.target === undefined || row.target === target?.name).map((row) =>
    hasMsetex && row.atMostWithMsetex !== undefined ? { ...row, atMost: row.atMostWithMsetex } : row,
  );
}

export interface Measured {
  readonly row: BarRow;
  /** Undefined if no round measured it. */
  readonly spread: Spread | undefined;
}

export function measureBar(rounds: readonly Round[], scope?: BarScope): readonly Measured[] {
  return barOf(scope).map((row) => {
    const values = rounds.map(row.of).filter((value) => value !== undefined);
    return { row, spread: values.length === 0 ? undefined : spreadOf(values) };
  });
}

/** Undefined if it was not measured. */
export function holds({ row, spread }: Measured): boolean | undefined {
  return spread && spread.median <= row.atMost;
}

/** Rows that no run fails by yet, each with the reason. Take a line out to have its bound kept. */
export const NOT_YET: Readonly<Record<string, string>> = {
  embedded: 'some 0.06 in a full run; in a short one, part of which is warm-up, up to 0.1',
  without_redis: 'the generator keeps the core of Redis busy, so that answers come later than the default REDIS_OP_TIMEOUT',
};

/** By how much processor time may miss the bar before a run fails, on a machine that does other things too. */
const CPU_SLACK = 2;

/** The bound that fails a run; undefined if this row fails none. A row beside a target is printed with pass or miss. */
export function gateOf({ name, kind, atMost, target }: BarRow): number | undefined {
  if (name in NOT_YET || kind === 'latency' || target !== undefined) return undefined;
  return kind === 'count' ? atMost : CPU_SLACK * atMost;
}

/** What is wrong with a row, for a person; undefined if nothing is, or if it fails no run. */
export function failureOf({ row, spread }: Measured): string | undefined {
  const gate = gateOf(row);
  if (gate === undefined || spread === undefined || spread.median <= gate) return undefined;
  return `${row.title}: ${spread.median.toPrecision(3)}, over ${gate} (the bar is ${row.atMost})`;
}
