/** The tables of `npm run bench`, in Markdown. */

import { CONTENDERS } from '../servers/contenders';
import type { Environment } from '../support/environment';
import { percent, spread, table, threeDigits, whole } from '../support/markdown';
import { spreadOf } from '../support/statistics';
import { failureOf, holds, measureBar, type BarScope, type Measured, type Round } from './bar';
import type { BucketsMemory } from './buckets-memory';
import type { RowFigures } from './measure-row';
import { CONNECTIONS, loadId, peerOf, rowId, WORKLOADS, type Row } from './rows';

export interface DecisionsResult extends BarScope {
  readonly environment: Environment;
  readonly loadBefore: string;
  readonly loadAfter: string;
  /** How processes were pinned to cores, or why not. */
  readonly pinning: string;
  readonly notes: readonly string[];
  readonly rows: readonly Row[];
  readonly rounds: readonly Round[];
  readonly roundMs: { readonly closed: number; readonly open: number };
  /** Undefined where single rows were selected. */
  readonly memory: BucketsMemory | undefined;
}

export const TITLES: Readonly<Record<Row['contender'], string>> = {
  ...CONTENDERS,
  one_evalsha: '`RedisStore` alone, one `EVALSHA` per decision',
};

/** The server that all ratios of processor time refer to. */
const BASE = 'constant_grpc_js';

/** The server that shows what the machine does to every latency. */
const CONTROL = 'constant_lean';

const MIB = 1024 * 1024;

/** One call in a hundred was sent later than that: the generator has not kept its schedule. */
const LATE_MS = 1;
/** A round in which the server waited for a core for more than this part of the time was spoiled by other processes. */
const SPOILED_BY_WAITS = 0.1;

/** Part of the calls due that must have been answered in the time. */
const ANSWERED_SHARE = 0.99;

/** Of this server decisions without Redis are a row of the bar. */
const DEFAULT_SETTINGS = 'redis_default';

export function renderDecisions(result: DecisionsResult): string {
  return [
    introduction(result),
    barSection(result),
    targetSection(result),
    closedSection(result),
    openSection(result),
    witnessSection(result),
    memorySection(result),
  ]
    .filter((section) => section !== '')
    .join('\n\n');
}

function introduction({ environment, loadBefore, loadAfter, rounds, roundMs, pinning, notes }: DecisionsResult): string {
  const { date, node, redis, cores, processor } = environment;
  return `## A decision, from the wire to the wire

\`npm run bench\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}); load average ${loadBefore} before, ${loadAfter} after,
including the run itself. ${pinning}
Medians of ${rounds.length} rounds of ${roundMs.closed / 1000} s (open loops ${roundMs.open / 1000} s). Each round measures every row once, on warm servers. The
lowest and the highest round are in brackets. A ratio compares figures of the same round; its rows ran one after the other.
${notes.map((note) => `\n${note}\n`).join('')}
- **Weir** is \`deploy/bin/ratelimit\`, the command of the image, with \`bench/limits.yaml\` and the default settings, except \`TRANSPORT\`,
  the address of Redis, and \`REDIS_OP_TIMEOUT=1s\`: the generator shares the core of Redis and delays its answers.
  The rows of "${CONTENDERS.redis_default}" keep the default.
- **${CONTENDERS.constant_grpc_js}** is \`bench/servers/grpc-js-server.ts\`: @grpc/grpc-js with @grpc/proto-loader. It decides nothing.
- **${CONTENDERS.constant_lean}** is Weir's transport and codec alone. It decides nothing either.
- **${CONTENDERS.bare_node}** is \`bench/servers/bare-node-server.ts\`: it reads calls, sends Redis one \`PING\` a turn, and answers. It shows
  the cost that any Node server has at one call per connection; most of it is the kernel's.
- **${TITLES.one_evalsha}**: Weir's store and script without transport and without batching.
- The **generator** (\`bench/load\`) is one process. It sends prepared frames and draws keys at random.`;
}

function barSection(result: DecisionsResult): string {
  const rows = measureBar(result.rounds, result).map((measured) => {
    const { row, spread: figures } = measured;
    return [row.title, figures === undefined ? 'not measured' : spread(figures, threeDigits), String(row.atMost), verdictOf(measured)];
  });
  return `### The bar

${table(['', 'measured', 'at most', 'holds'], rows)}`;
}

function verdictOf(measured: Measured): string {
  const verdict = holds(measured);
  return verdict === undefined ? '-' : verdict ? 'yes' : '**no**';
}

/** Weir and the target row by row, each figure with its ratio. */
function targetSection({ rows, rounds, target }: DecisionsResult): string {
  if (target === undefined) return '';
  const weir = peerOf(target.name);
  const lines = rows
    .filter(({ contender }) => contender === 'target')
    .map((row) => {
      const own: Row = { ...row, contender: weir };
      const figure = (of: (figures: RowFigures) => number | undefined): string => beside(rounds, { own, row, of });
      return [
        `${WORKLOADS[row.workload].title}, ${loadId(row.load)}`,
        figure(({ serverUs }) => serverUs),
        figure(({ redisUs }) => redisUs),
        figure(({ perSecond }) => perSecond),
        figure(({ latencyMs }) => latencyMs?.p50),
        figure(({ latencyMs }) => latencyMs?.p99),
        figure(({ latencyMs }) => latencyMs?.p999),
        sumOf(roundsOf(own, rounds), ({ fallbacks }) => fallbacks),
      ];
    });
  return `### ${TITLES[weir]} beside the target

Each field: Weir, the target, and in brackets the ratio Weir / target (the median of the rounds' own ratios).

${table(['row', 'CPU µs', 'Redis CPU µs', 'decisions per second', 'p50 ms', 'p99 ms', 'p99.9 ms', 'Weir without Redis'], lines)}`;
}

function beside(
  rounds: readonly Round[],
  { own, row, of }: { readonly own: Row; readonly row: Row; readonly of: (figures: RowFigures) => number | undefined },
): string {
  const [ours, theirs] = [known(roundsOf(own, rounds), of), known(roundsOf(row, rounds), of)];
  if (ours.length === 0 && theirs.length === 0) return '-';
  const format = (values: readonly number[]): string => (values.length === 0 ? '-' : threeDigits(spreadOf(values).median));
  const ratios = ratiosOf(rounds, { above: own, below: row, of });
  return `${format(ours)}, ${format(theirs)}${ratios.length === 0 ? '' : ` (${threeDigits(spreadOf(ratios).median)})`}`;
}

function closedSection({ rows, rounds }: DecisionsResult): string {
  const lines = rows
    .filter(({ load }) => load.kind === 'closed')
    .map((row) => {
      const all = roundsOf(row, rounds);
      return [
        TITLES[row.contender],
        WORKLOADS[row.workload].title,
        shapeOf(row),
        spread(spreadOf(all.map(({ serverUs }) => serverUs)), threeDigits),
        ratioToBase(row, rounds),
        whole(median(all, ({ perSecond }) => perSecond)),
        `${whole(median(all, ({ busy }) => busy) * 100)} %`,
        waitedOf(all),
        optional(all, ({ latencyMs }) => latencyMs?.p50, threeDigits),
        optional(all, ({ latencyMs }) => latencyMs?.p99, threeDigits),
        optional(all, ({ redisUs }) => redisUs, threeDigits),
        optional(all, ({ redisCalls }) => redisCalls, threeDigits),
        whole(median(all, ({ residentBytes }) => residentBytes) / MIB),
        worst(all, ({ overGrant }) => overGrant, percent),
        sumOf(all, ({ fallbacks }) => fallbacks),
        sumOf(all, ({ failed }) => failed),
      ];
    });
  if (lines.length === 0) return '';
  const header = [
    'server',
    'request',
    'streams',
    'CPU µs',
    'to grpc-js',
    'per second',
    'busy',
    'waited',
    'p50 ms',
    'p99 ms',
    'Redis CPU µs',
    'Redis calls',
    'RSS MiB',
    'over-grant',
    'without Redis',
    'failed',
  ];
  return `### The cost of a decision

Closed loops: connections x streams, each stream with one call under way at any time. \`RedisStore\` has as many callers.

${table(header, lines)}

- **CPU µs**: user and system time of all threads and processes of the server, per decision, from the first call to the last answer (connecting
  excluded); of \`RedisStore\`, the process that calls it. **to grpc-js**: its ratio to ${CONTENDERS[BASE]}, at the same streams.
- **per second**: decisions; **busy**: processor time of the server per second, 100 % is one core. Below 100 % the limit was the other
  core, which the generator and Redis share. **waited**: the part of the time in which the server could run and had no core.
  **†**: that was more than ${percent(SPOILED_BY_WAITS)} in some rounds, which other processes spoiled. **p50, p99**: from sending a call to its answer, of each eighth call.
- **Redis CPU µs** and **Redis calls**, per decision: processor time of the Redis process, and commands sent to it (\`INFO commandstats\`);
  commands inside a script are not sent.
- **over-grant**: hits admitted beyond those allowed, in the worst round. Keys that are not used up: each admitted hit must have been charged to
  its bucket (of 100 keys, 20, or the one). The exhausted key: what its limit lets pass since its first call.
- **without Redis**: decisions made by a failure mode; **failed**: calls answered with an error, or not at all; both summed over all rounds.`;
}

function waitedOf(all: readonly RowFigures[]): string {
  const spoiled = all.filter(({ waited = 0 }) => waited > SPOILED_BY_WAITS).length;
  return optional(all, ({ waited }) => waited, percent) + (spoiled === 0 ? '' : ` † (${spoiled} of ${all.length} rounds)`);
}

function shapeOf({ load }: Row): string {
  return load.kind === 'closed' ? `${load.connections} x ${load.streams}` : loadId(load);
}

function openSection({ rows, rounds }: DecisionsResult): string {
  const lines = rows
    .filter(({ load }) => load.kind === 'open')
    .map((row) => {
      const all = roundsOf(row, rounds);
      const rate = all[0]?.rate ?? 0;
      const times = (share: 'p50' | 'p99' | 'p999'): string =>
        spread(spreadOf(all.map(({ latencyMs }) => latencyMs?.[share] ?? NaN)), threeDigits);
      const lateMs = median(all, (figures) => figures.lateMs?.p99 ?? NaN);
      const perSecond = median(all, (figures) => figures.perSecond);
      const control: Row = { ...row, contender: CONTROL };
      const aboveControl = rounds.flatMap((round) => {
        const [own, beside] = [row, control].map((each) => round.get(rowId(each))?.answerMs?.p99);
        return own === undefined || beside === undefined || row.contender === CONTROL ? [] : [own - beside];
      });
      return [
        TITLES[row.contender],
        row.load.kind === 'open' && row.load.rate === 'half' ? `${whole(rate)} (half)` : whole(rate),
        times('p50'),
        times('p99'),
        times('p999'),
        optional(all, ({ answerMs }) => answerMs?.p99, threeDigits),
        aboveControl.length === 0 ? '-' : threeDigits(spreadOf(aboveControl).median),
        threeDigits(median(all, ({ serverUs }) => serverUs)),
        optional(all, ({ redisUs }) => redisUs, threeDigits),
        threeDigits(lateMs),
        keptUp({ lateMs, perSecond, rate }),
        sumOf(all, ({ fallbacks }) => fallbacks),
        sumOf(all, ({ failed }) => failed),
      ];
    });
  if (lines.length === 0) return '';
  return `### Latency at a fixed rate

Open loops: calls at even times, whatever becomes of earlier calls, over ${CONNECTIONS} connections, for any of 100,000 keys. Latency counts from when a
call was due, so a server that stalls is charged for the calls that had to wait.

${table(['server', 'calls a second', 'p50 ms', 'p99 ms', 'p99.9 ms', 'p99 from sending', 'above the control', 'CPU µs', 'Redis CPU µs', 'sent late, p99 ms', 'kept up', 'without Redis', 'failed'], lines)}

- **half**: half of the decisions per second of the same server at ${CONNECTIONS} x 64 in the first round.
- **p99 from sending**: without the lateness of the generator. **above the control**: that less the same of ${CONTENDERS[CONTROL]}, at the same
  rate in the same round: what the machine and the transport cost is left out.
- **sent late**: from when a call was due until it was sent: this part of the latency is the generator's.
  **kept up**: that is below ${LATE_MS} ms, and ${whole(ANSWERED_SHARE * 100)} % of the calls were answered in the time.`;
}

export function keptUp({
  lateMs,
  perSecond,
  rate,
}: {
  readonly lateMs: number;
  readonly perSecond: number;
  readonly rate: number;
}): string {
  if (perSecond < rate * ANSWERED_SHARE) return `no: ${whole(perSecond)} a second were answered`;
  return lateMs < LATE_MS ? 'yes' : 'no: the generator was late';
}

function witnessSection({ rows, rounds }: DecisionsResult): string {
  const witnessed = rows.filter(({ load }) => load.kind === 'h2load');
  if (witnessed.length === 0) return '';
  const lines = witnessed.map((row) => {
    const streams = row.load.kind === 'h2load' ? row.load.streams : 0;
    const own: Row = { ...row, load: { kind: 'closed', connections: CONNECTIONS, streams } };
    return [
      TITLES[row.contender],
      `${CONNECTIONS} x ${streams}`,
      ...[own, row].map((each) => optional(roundsOf(each, rounds), ({ serverUs }) => serverUs, threeDigits)),
      ratioToBase(own, rounds),
      ratioToBase(row, rounds),
      sumOf(roundsOf(row, rounds), ({ failed }) => failed),
    ];
  });
  return `### A second generator

The constant answers once more, with the load of \`h2load\` (nghttp2), which sends one prepared body.

${table(['server', 'streams', 'CPU µs', 'by h2load', 'to grpc-js', 'by h2load', 'failed'], lines)}`;
}

function memorySection({ memory }: DecisionsResult): string {
  if (memory === undefined) return '';
  const { redis, embedded } = memory;
  const lines = [
    ['Redis', whole(redis.buckets), whole(redis.bytesPerBucket), 'growth of `used_memory`'],
    [
      'embedded',
      whole(embedded.buckets),
      whole(embedded.bytesPerBucket),
      `growth of the process's RSS, to ${whole(embedded.residentBytes / MIB)} MiB in all`,
    ],
  ];
  return `### The memory of a bucket

${table(['store', 'buckets', 'bytes each', 'measured by'], lines)}`;
}

function roundsOf(row: Row, rounds: readonly Round[]): RowFigures[] {
  return rounds.map((round) => round.get(rowId(row))).filter((each) => each !== undefined);
}

function ratioToBase(row: Row, rounds: readonly Round[]): string {
  const ratios = ratiosOf(rounds, {
    above: row,
    below: { contender: BASE, workload: 'many', load: row.load },
    of: ({ serverUs }) => serverUs,
  });
  return ratios.length === 0 || row.contender === BASE ? '-' : spread(spreadOf(ratios), threeDigits);
}

interface RatioInput {
  readonly above: Row;
  readonly below: Row;
  readonly of: (figures: RowFigures) => number | undefined;
}

function ratiosOf(rounds: readonly Round[], { above, below, of }: RatioInput): number[] {
  return rounds.flatMap((round) => {
    const [over, under] = [above, below].map((row) => {
      const figures = round.get(rowId(row));
      return figures && of(figures);
    });
    return over === undefined || under === undefined ? [] : [over / under];
  });
}

function median(all: readonly RowFigures[], of: (figures: RowFigures) => number): number {
  return spreadOf(all.map(of)).median;
}

function known(all: readonly RowFigures[], of: (figures: RowFigures) => number | undefined): number[] {
  return all.map(of).filter((value) => value !== undefined);
}

function optional(all: readonly RowFigures[], of: (figures: RowFigures) => number | undefined, format: (value: number) => string): string {
  const values = known(all, of);
  return values.length === 0 ? '-' : format(spreadOf(values).median);
}

function worst(all: readonly RowFigures[], of: (figures: RowFigures) => number | undefined, format: (value: number) => string): string {
  const values = known(all, of);
  return values.length === 0 ? '-' : format(Math.max(...values));
}

function sumOf(all: readonly RowFigures[], of: (figures: RowFigures) => number | undefined): string {
  return known(all, of).length === 0 ? '-' : whole(total(all, of));
}

/** What fails the run, for a person; none if nothing does. */
export function failuresOf(result: Pick<DecisionsResult, 'rows' | 'rounds' | 'target' | 'hasMsetex'>): readonly string[] {
  return [
    ...measureBar(result.rounds, result)
      .map(failureOf)
      .filter((failure) => failure !== undefined),
    ...wrongCounts(result),
  ];
}

/** Counts that must be zero in every row and are not. A target's are its own matter. */
export function wrongCounts({ rows, rounds }: Pick<DecisionsResult, 'rows' | 'rounds'>): readonly string[] {
  return rows
    .filter(({ contender }) => contender !== 'target')
    .flatMap((row) => {
      const all = roundsOf(row, rounds);
      const counts: readonly (readonly [what: string, count: number])[] = [
        ['over-granted, as a part of what was allowed', Math.max(0, ...known(all, ({ overGrant }) => overGrant))],
        ['decided without Redis', row.contender === DEFAULT_SETTINGS ? 0 : total(all, ({ fallbacks }) => fallbacks)],
        ['failed', total(all, ({ failed }) => failed)],
      ];
      return counts.filter(([, count]) => count > 0).map(([what, count]) => `${rowId(row)}: ${what}: ${count}`);
    });
}

function total(all: readonly RowFigures[], of: (figures: RowFigures) => number | undefined): number {
  return known(all, of).reduce((sum, value) => sum + value, 0);
}
