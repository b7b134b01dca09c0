/** The tables of `npm run bench -- atomicity`, in Markdown. */

import type { ClockVariant, Guard } from './caller-clocks';
import { LAYOUTS, type Cost } from './strategy-cost';
import type { Environment } from '../support/environment';
import { percent, spread, table, whole } from '../support/markdown';
import { BURST, CALLERS, PER_SECOND, type OverGrant } from './over-grant';
import type { RoundTripCosts } from './round-trips';
import type { Strategy, StrategyName } from './strategies';

export interface AtomicityResult {
  readonly environment: Environment;
  readonly loadBefore: string;
  readonly loadAfter: string;
  readonly rounds: number;
  readonly roundMs: number;
  readonly overGrantMs: number;
  readonly costs: readonly Cost[];
  readonly roundTrips: readonly RoundTripCosts[];
  readonly overGrants: readonly OverGrant<Strategy>[];
  readonly clocks: readonly OverGrant<ClockVariant>[];
}

const STRATEGY_TITLES: Readonly<Record<StrategyName, string>> = {
  evalsha: 'one `EVALSHA`',
  eval: 'one `EVAL`',
  three_commands: '`TIME`, `GET`, `SET`',
  three_commands_if_fits: '`TIME`, `GET`, `SET` if it fits',
  watch: '`WATCH` … `EXEC`',
};

const GUARD_TITLES: Readonly<Record<Guard, string>> = {
  nothing: '`now - stored` as it comes',
  elapsed: '`max(0, now - stored)`',
  latest: '`max(now, stored)`',
};

/** A comparison published elsewhere, of strategies that write as these do: hot_key, 64 callers, burst 10, 10/s, 3 s. */
const PUBLISHED_ON = 'Apple M3 Pro, Redis 7, Go';
const PUBLISHED: Readonly<Partial<Record<StrategyName, { readonly ns: number; readonly calls: string; readonly overGrant: string }>>> = {
  evalsha: { ns: 20_658, calls: '1.0', overGrant: '0.00 %' },
  three_commands: { ns: 54_528, calls: '3.0', overGrant: '207.5 %' },
  watch: { ns: 1_166_537, calls: '50.7', overGrant: '-5 %, 1,526 errors' },
};

export function renderAtomicity(result: AtomicityResult): string {
  return [
    introduction(result),
    costSection(result),
    roundTripSection(result),
    overGrantSection(result),
    publishedSection(result),
    clockSection(result),
  ].join('\n\n');
}

function introduction({ environment, loadBefore, loadAfter, rounds }: AtomicityResult): string {
  const { date, node, redis, cores, processor } = environment;
  return `## Atomicity: one script against commands

\`npm run bench -- atomicity\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}), shared by Redis and
the callers; load average ${loadBefore} before, ${loadAfter} after, including the run itself. Medians of ${rounds} rounds; each round measures
every row once. The lowest and the highest round are in brackets.

Five strategies take one hit from one token bucket. All keep the same state and compute the same numbers. The script stores it as bytes, the commands as text.

- **${STRATEGY_TITLES.evalsha}**: Weir's \`RedisStore.take\` with \`lua/take.lua\`, from the arguments to the verdict, on one connection
  for all callers; without the deadline and the measurements of \`src/state/resilience/wrap-redis.ts\`, rules and gRPC.
- **${STRATEGY_TITLES.eval}**: the same script, but each call carries its text.
- **${STRATEGY_TITLES.three_commands}**: read, compute in the process, write; each awaited. One connection for all callers. A denial is written too, as in the
  published comparison below: the bucket as it was read.
- **${STRATEGY_TITLES.three_commands_if_fits}**: the same, but a denial writes nothing.
- **${STRATEGY_TITLES.watch}**: \`WATCH\`, \`GET\`, \`TIME\`, compute, \`MULTI\` \`SET\` \`EXEC\` (sent together), and again at once if another
  caller wrote first, up to 1,000 times. A watch is a connection's own, so each caller has a connection.

All run in one process. Commands that wait on one connection are sent in one write, so with many callers a command costs its encoding and
decoding rather than its trip. \`WATCH\` cannot share a connection and pays each trip.`;
}

function costSection({ costs, roundMs }: AtomicityResult): string {
  const rows = LAYOUTS.flatMap((layout) =>
    costs
      .filter((cost) => cost.layout === layout)
      .map((cost) => {
        const weir = costs.find((other) => other.strategy === 'evalsha' && other.layout === layout && other.callers === cost.callers)!;
        return [
          `\`${layout}\``,
          String(cost.callers),
          STRATEGY_TITLES[cost.strategy],
          spread(cost.nsPerDecision, whole),
          ratio(cost.nsPerDecision.median, weir.nsPerDecision.median),
          cost.callsPerDecision.toFixed(1),
          whole(cost.redisUsPerDecision),
          cost.objectsPerDecision === undefined ? '?' : whole(cost.objectsPerDecision),
          cost.bytesPerDecision === undefined ? '?' : whole(cost.bytesPerDecision),
          whole(cost.gaveUp),
        ];
      }),
  );
  const header = [
    'keys',
    'callers',
    'strategy',
    'ns per decision',
    'ratio',
    'Redis calls',
    'Redis CPU µs',
    'allocations',
    'bytes allocated',
    'gave up',
  ];
  return `### The cost of a decision by strategy

A limit so large that every decision is a yes and writes. Rounds of ${(roundMs / 1000).toFixed(1)} s.

${table(header, rows)}

- **ns per decision**: wall time of the round divided by decisions of all callers; **ratio**: to ${STRATEGY_TITLES.evalsha} with the same keys and callers.
- **Redis calls**: commands sent by the client per decision, from what Redis counted (\`INFO commandstats\`). Commands inside
  the script are not sent and not counted; a \`SET\` queued for a refused \`EXEC\` is.
- **Redis CPU µs**: processor time of the Redis process per decision (\`INFO cpu\`): what a decision costs the one server that all share.
- **allocations**: objects on V8's heap per decision in the callers' process, counted by V8's sampling heap profiler at an interval of one byte, in a
  run of 50 ms after each round; objects that compiled code allocates in one step count as one.
- **bytes allocated**: growth of \`heapUsed + external\` of the callers' process per decision, in a run a quarter as long after each
  round, with a young generation so large that nothing is collected in it (a run with a collection is left out, \`?\` if that was all
  of them). It holds what the client library, its buffers and the caller's loop allocate; Redis's own memory is not in it.
- **gave up**: decisions without an answer after 1,000 tries, in all rounds.`;
}

function roundTripSection({ roundTrips }: AtomicityResult): string {
  const rows = roundTrips.flatMap(({ delayMs, costs }) =>
    costs.map((cost) => {
      const weir = costs.find((other) => other.strategy === 'evalsha' && other.layout === cost.layout && other.callers === cost.callers)!;
      return [
        `${delayMs} ms`,
        `\`${cost.layout}\``,
        String(cost.callers),
        STRATEGY_TITLES[cost.strategy],
        spread(cost.nsPerDecision, whole),
        ratio(cost.nsPerDecision.median, weir.nsPerDecision.median),
        cost.callsPerDecision.toFixed(1),
        whole(cost.redisUsPerDecision),
        whole(cost.gaveUp),
      ];
    }),
  );
  const pings = roundTrips.map(({ delayMs, pingMs }) => `${pingMs.toFixed(2)} ms at ${delayMs} ms`).join(', ');
  const header = ['round trip', 'keys', 'callers', 'strategy', 'ns per decision', 'ratio', 'Redis calls', 'Redis CPU µs', 'gave up'];
  return `### With a network between

The same behind a proxy (\`bench/servers/delaying-proxy.ts\`) that delays each reply. A \`PING\` takes ${pings}.

${table(header, rows)}`;
}

function overGrantSection({ overGrants, overGrantMs }: AtomicityResult): string {
  const rows = overGrants.map(({ contender, admitted, excess, gaveUp, decisions, sent }) => [
    STRATEGY_TITLES[contender.name],
    spread(admitted, whole),
    spread(excess, percent),
    whole(decisions),
    sent === undefined ? '-' : whole(sent),
    whole(gaveUp),
  ]);
  return `### Over-grant

Burst ${BURST}, ${PER_SECOND}/s, ${CALLERS} callers on one key, ${overGrantMs / 1000} s: hits admitted against ${BURST} + ${PER_SECOND} × elapsed seconds, by the clock of the callers. The
command fails if a single round of Weir's lies above 0. A little below 0 is exact: hits are whole,
the time is not, and a hit that comes due at the very end may find nobody asking.

${table(['strategy', 'admitted', 'over-grant', 'decisions', 'Redis calls in all', 'gave up'], rows)}`;
}

function publishedSection({ costs, overGrants }: AtomicityResult): string {
  const cost = (strategy: StrategyName): Cost | undefined =>
    costs.find((each) => each.layout === 'hot_key' && each.callers === 64 && each.strategy === strategy);
  const rows = overGrants.map(({ contender: { name }, excess, gaveUp }) => {
    const [here, weir, there, weirThere] = [cost(name)!, cost('evalsha')!, PUBLISHED[name], PUBLISHED.evalsha];
    return [
      STRATEGY_TITLES[name],
      `${whole(here.nsPerDecision.median)} (${ratio(here.nsPerDecision.median, weir.nsPerDecision.median)})`,
      there === undefined || weirThere === undefined ? '-' : `${whole(there.ns)} (${ratio(there.ns, weirThere.ns)})`,
      here.callsPerDecision.toFixed(1),
      there?.calls ?? '-',
      gaveUp === 0 ? percent(excess.median) : `${percent(excess.median)}, ${whole(gaveUp)} gave up`,
      there?.overGrant ?? '-',
    ];
  });
  const header = ['strategy', 'ns here (ratio)', 'ns there (ratio)', 'calls here', 'calls there', 'over-grant here', 'over-grant there'];
  return `### Beside a published comparison

The same strategies, \`hot_key\`, 64 callers; ${STRATEGY_TITLES.three_commands_if_fits} and ${STRATEGY_TITLES.eval} were not published; "there" is **another machine** (${PUBLISHED_ON}). Compare the ratios within each, not the times.

${table(header, rows)}`;
}

function clockSection({ clocks, overGrantMs }: AtomicityResult): string {
  const rows = clocks.map(({ contender: { clock }, admitted, excess, evenShare }) => [
    clock.of === 'redis' ? "Redis's `TIME`" : "the caller's",
    clock.of === 'redis' ? '-' : `${whole(clock.skewMs)} ms`,
    clock.of === 'redis' ? '-' : GUARD_TITLES[clock.guard],
    spread(admitted, whole),
    spread(excess, percent),
    `${whole(evenShare * 100)} %`,
  ]);
  return `### Whose clock

The same limit, callers and ${overGrantMs / 1000} s, from two instances with 32 callers each, one's clock behind the other's; the one
behind asks first, which is the worse case. The script is a small one (\`bench/atomicity/caller-clock.lua\`), atomic in each row, so
what differs is the clock alone. It keeps tokens and a time and writes both on every call, as such scripts are often
written. Weir takes no time from a caller.

${table(['clock', 'skew', 'the script uses', 'admitted', 'over-grant', 'to the instance behind'], rows)}

- \`now - stored\` as it comes: a step back takes tokens away, the next step forward gives them back.
- \`max(0, now - stored)\`: a step back takes nothing away but is stored, so each step forward is paid out anew.
- \`max(now, stored)\`: the stored time never goes back; the skew is paid out once, if the instance behind comes first.`;
}

function ratio(value: number, base: number): string {
  const times = value / base;
  return `${times < 10 ? times.toFixed(2) : whole(times)}x`;
}
