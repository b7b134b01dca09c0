/** The tables of `npm run bench`, in Markdown. */

import { failureOf, holds, measureBar, type Measured, type Round } from './bar';
import type { BucketsMemory } from './buckets-memory';
import { CONNECTIONS, cellId, WORKLOADS, type Cell } from './cells';
import { CONTENDERS } from './contenders';
import type { Environment } from './environment';
import { percent, spread, table, threeDigits, whole } from './markdown';
import type { CellRound } from './measure-cell';
import { spreadOf } from './statistics';

export interface DecisionsResult {
  readonly environment: Environment;
  readonly loadBefore: string;
  readonly loadAfter: string;
  /** How processes were tied to cores, or why not. */
  readonly pinning: string;
  readonly notes: readonly string[];
  readonly cells: readonly Cell[];
  readonly rounds: readonly Round[];
  readonly roundMs: { readonly closed: number; readonly open: number };
  readonly memory: BucketsMemory;
}

export const TITLES: Readonly<Record<Cell['contender'], string>> = { ...CONTENDERS, one_evalsha: '`RedisStore` alone, one `EVALSHA` per decision' };

/** What every ratio of processor time is a ratio to. */
const BASE = 'constant_grpc_js';

const MIB = 1024 * 1024;

/** Sent later than that, one call in a hundred: the generator has not kept its schedule. */
const LATE_MS = 1;
/** Of the calls that were due, so many must have been answered in the time. */
const ANSWERED_SHARE = 0.99;

export function renderDecisions(result: DecisionsResult): string {
  return [introduction(result), barSection(result), closedSection(result), openSection(result), witnessSection(result), memorySection(result)]
    .filter((section) => section !== '')
    .join('\n\n');
}

function introduction({ environment, loadBefore, loadAfter, rounds, roundMs, pinning, notes }: DecisionsResult): string {
  const { date, node, redis, cores, processor } = environment;
  return `## A decision, from the wire to the wire

\`npm run bench\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}); load average ${loadBefore} before, ${loadAfter} after,
the run itself included. ${pinning}
Medians of ${rounds.length} rounds of ${roundMs.closed / 1000} s (open loops ${roundMs.open / 1000} s), interleaved: every row had its turn in each round, and every server was warm. In
brackets the lowest and the highest round. Ratios are of figures of the same round, in which rows of one load were
measured one after the other.
${notes.map((note) => `\n${note}\n`).join('')}
- **Weir** is \`deploy/bin/ratelimit\`, the command of the image, with \`bench/limits.yaml\` and the default settings but for \`TRANSPORT\` and where Redis is.
- **${CONTENDERS.constant_grpc_js}** is \`bench/grpc-js-server.ts\`: @grpc/grpc-js with @grpc/proto-loader as anyone would write it. It decides nothing.
- **${CONTENDERS.constant_lean}** is Weir's transport and codec alone. It decides nothing either.
- **${CONTENDERS.bare_node}** is \`bench/bare-node-server.ts\`: it carries bytes between the same sockets, and nothing else. One call at a time
  for each connection costs that much in Node, whatever decides it: most of it is the kernel's.
- **${TITLES.one_evalsha}**: Weir's own store and script, without transport, and without what puts calls together.
- The **generator** (\`bench/load\`) sends frames made in advance over ${CONNECTIONS} connections; keys are drawn at random. It is a process of its own.`;
}

function barSection({ rounds }: DecisionsResult): string {
  const rows = measureBar(rounds).map((measured) => {
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

function closedSection({ cells, rounds }: DecisionsResult): string {
  const rows = cells.filter(({ load }) => load.kind === 'closed').map((cell) => {
    const all = roundsOf(cell, rounds);
    const streams = cell.load.kind === 'closed' ? cell.load.streams : 0;
    return [
      TITLES[cell.contender],
      WORKLOADS[cell.workload].title,
      `${CONNECTIONS} x ${streams}`,
      spread(spreadOf(all.map(({ serverUs }) => serverUs)), threeDigits),
      ratioToBase(cell, rounds, `closed ${streams}`),
      whole(median(all, ({ perSecond }) => perSecond)),
      `${whole(median(all, ({ busy }) => busy) * 100)} %`,
      optional(all, ({ redisUs }) => redisUs, threeDigits),
      optional(all, ({ redisCalls }) => redisCalls, threeDigits),
      whole(median(all, ({ residentBytes }) => residentBytes) / MIB),
      worst(all, ({ overGrant }) => overGrant, percent),
      sumOf(all, ({ fallbacks }) => fallbacks),
      sumOf(all, ({ failed }) => failed),
    ];
  });
  const header = ['server', 'asked for', 'streams', 'CPU µs', 'to grpc-js', 'per second', 'busy', 'Redis CPU µs', 'Redis calls', 'RSS MiB', 'over-grant', 'without Redis', 'failed'];
  return `### What a decision costs

So many streams of each connection are always under way (a closed loop); of \`RedisStore\`, as many callers.

${table(header, rows)}

- **CPU µs**: user and system time of all threads of the server's process, for each decision; of \`RedisStore\`, of the process that calls it.
  **to grpc-js**: its ratio to ${CONTENDERS[BASE]}, with as many streams.
- **per second**: decisions; **busy**: part of the time that its core worked for the server. Where that is below 100 %, the generator and
  Redis, which share the other core, were the limit.
- **Redis CPU µs** and **Redis calls** for each decision, by \`INFO cpu\` and \`INFO commandstats\`. A call is a command sent; what a script does inside is none.
- **over-grant**: of the hits that the limits allowed, how many more were admitted, in the worst round. For the exhausted key that is what the limit
  lets pass since it was first asked for. Keys that are not used up: what was charged to them, read from when their buckets are full
  again, of 100 keys or the one; every hit admitted must have been charged.
- **without Redis**: decisions made by a failure mode; **failed**: calls that had an error for an answer, or none; both of all rounds.`;
}

function openSection({ cells, rounds }: DecisionsResult): string {
  const rows = cells.filter(({ load }) => load.kind === 'open').map((cell) => {
    const all = roundsOf(cell, rounds);
    const rate = all[0]?.rate ?? 0;
    const times = (share: 'p50' | 'p99' | 'p999'): string => spread(spreadOf(all.map(({ latencyMs }) => latencyMs?.[share] ?? NaN)), threeDigits);
    const lateMs = median(all, (round) => round.lateMs?.p99 ?? NaN);
    const perSecond = median(all, (round) => round.perSecond);
    return [
      TITLES[cell.contender],
      cell.load.kind === 'open' && cell.load.rate === 'half' ? `${whole(rate)} (half)` : whole(rate),
      times('p50'),
      times('p99'),
      times('p999'),
      threeDigits(median(all, ({ serverUs }) => serverUs)),
      threeDigits(lateMs),
      keptUp({ lateMs, perSecond, rate }),
      sumOf(all, ({ failed }) => failed),
    ];
  });
  return `### How long an answer takes

So many calls a second whatever becomes of those before (an open loop), evenly, for any of 100,000 keys. Latency counts from when a
call was due, not from when it was sent, so that a server that stalls does not stall the question.

${table(['server', 'calls a second', 'p50 ms', 'p99 ms', 'p99.9 ms', 'CPU µs', 'sent late, p99 ms', 'kept up', 'failed'], rows)}

- **half**: of what the same server decided in its closed loop with ${CONNECTIONS} x 64 streams, in the first round.
- **sent late**: from when a call was due until it was sent: what of the latency is the generator's own, which shares its core with Redis.
  **kept up**: whether that is below ${LATE_MS} ms and ${whole(ANSWERED_SHARE * 100)} % of the calls were answered in the time.`;
}

export function keptUp({ lateMs, perSecond, rate }: { readonly lateMs: number; readonly perSecond: number; readonly rate: number }): string {
  if (perSecond < rate * ANSWERED_SHARE) return `no: ${whole(perSecond)} a second were answered`;
  return lateMs < LATE_MS ? 'yes' : 'no: the generator was late';
}

function witnessSection({ cells, rounds }: DecisionsResult): string {
  const witnessed = cells.filter(({ load }) => load.kind === 'h2load');
  if (witnessed.length === 0) return '';
  const rows = witnessed.map((cell) => {
    const streams = cell.load.kind === 'h2load' ? cell.load.streams : 0;
    const own: Cell = { ...cell, load: { kind: 'closed', streams } };
    return [
      TITLES[cell.contender],
      `${CONNECTIONS} x ${streams}`,
      ...[own, cell].map((each) => spread(spreadOf(roundsOf(each, rounds).map(({ serverUs }) => serverUs)), threeDigits)),
      ratioToBase(own, rounds, `closed ${streams}`),
      ratioToBase(cell, rounds, `h2load ${streams}`),
      sumOf(roundsOf(cell, rounds), ({ failed }) => failed),
    ];
  });
  return `### A second witness

The same constant answers asked for by \`h2load\` (nghttp2), which sends one prepared body for ever.

${table(['server', 'streams', 'CPU µs', 'by h2load', 'to grpc-js', 'by h2load', 'failed'], rows)}`;
}

function memorySection({ memory: { redis, embedded } }: DecisionsResult): string {
  const rows = [
    ['Redis', whole(redis.buckets), whole(redis.bytesPerBucket), 'growth of `used_memory`'],
    ['embedded', whole(embedded.buckets), whole(embedded.bytesPerBucket), `growth of the process's RSS, to ${whole(embedded.residentBytes / MIB)} MiB in all`],
  ];
  return `### What a bucket takes

${table(['store', 'buckets', 'bytes each', 'measured by'], rows)}`;
}

function roundsOf(cell: Cell, rounds: readonly Round[]): CellRound[] {
  return rounds.map((round) => round.get(cellId(cell))).filter((each) => each !== undefined);
}

function ratioToBase(cell: Cell, rounds: readonly Round[], load: string): string {
  const ratios = rounds.flatMap((round) => {
    const [own, base] = [round.get(cellId(cell)), round.get(`${BASE} many ${load}`)];
    return own === undefined || base === undefined ? [] : [own.serverUs / base.serverUs];
  });
  return ratios.length === 0 || cell.contender === BASE ? '-' : spread(spreadOf(ratios), threeDigits);
}

function median(rounds: readonly CellRound[], of: (round: CellRound) => number): number {
  return spreadOf(rounds.map(of)).median;
}

function known(rounds: readonly CellRound[], of: (round: CellRound) => number | undefined): number[] {
  return rounds.map(of).filter((value) => value !== undefined);
}

function optional(rounds: readonly CellRound[], of: (round: CellRound) => number | undefined, format: (value: number) => string): string {
  const values = known(rounds, of);
  return values.length === 0 ? '-' : format(spreadOf(values).median);
}

function worst(rounds: readonly CellRound[], of: (round: CellRound) => number | undefined, format: (value: number) => string): string {
  const values = known(rounds, of);
  return values.length === 0 ? '-' : format(Math.max(...values));
}

function sumOf(rounds: readonly CellRound[], of: (round: CellRound) => number | undefined): string {
  return known(rounds, of).length === 0 ? '-' : whole(total(rounds, of));
}

/** What fails the run, for a person; none if nothing does. */
export function failuresOf(result: Pick<DecisionsResult, 'cells' | 'rounds'>): readonly string[] {
  return [...measureBar(result.rounds).map(failureOf).filter((failure) => failure !== undefined), ...wrongCounts(result)];
}

/** What must be none in every row, and is not. */
export function wrongCounts({ cells, rounds }: Pick<DecisionsResult, 'cells' | 'rounds'>): readonly string[] {
  return cells.flatMap((cell) => {
    const all = roundsOf(cell, rounds);
    const counts: readonly (readonly [what: string, count: number])[] = [
      ['over-granted, as a part of what was allowed', Math.max(0, ...known(all, ({ overGrant }) => overGrant))],
      ['decided without Redis', total(all, ({ fallbacks }) => fallbacks)],
      ['failed', total(all, ({ failed }) => failed)],
    ];
    return counts.filter(([, count]) => count > 0).map(([what, count]) => `${cellId(cell)}: ${what}: ${count}`);
  });
}

function total(rounds: readonly CellRound[], of: (round: CellRound) => number | undefined): number {
  return known(rounds, of).reduce((sum, value) => sum + value, 0);
}
