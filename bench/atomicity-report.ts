/** The tables of `npm run bench:atomicity`, in Markdown. */

import type { ClockVariant, Guard } from './caller-clocks';
import { LAYOUTS, type Cost } from './cost';
import type { Environment } from './environment';
import { percent, spread, table, whole } from './markdown';
import { BURST, CALLERS, PER_SECOND, type OverGrant } from './over-grant';
import type { Way, WayName } from './ways';

export interface AtomicityResult {
  readonly environment: Environment;
  readonly loadBefore: string;
  readonly loadAfter: string;
  readonly rounds: number;
  readonly roundMs: number;
  readonly overGrantMs: number;
  readonly costs: readonly Cost[];
  readonly overGrants: readonly OverGrant<Way>[];
  readonly clocks: readonly OverGrant<ClockVariant>[];
}

const WAY_TITLES: Readonly<Record<WayName, string>> = {
  evalsha: 'one `EVALSHA`',
  three_commands: '`TIME`, `GET`, `SET`',
  watch: '`WATCH` … `EXEC`',
};

const GUARD_TITLES: Readonly<Record<Guard, string>> = {
  nothing: '`now - stored` as it comes',
  elapsed: '`max(0, now - stored)`',
  latest: '`max(now, stored)`',
};

/** A comparison published elsewhere, of the same three ways: hot_key, 64 callers, burst 10, 10/s, 3 s. */
const PUBLISHED_ON = 'Apple M3 Pro, Redis 7, Go';
const PUBLISHED: Readonly<Record<WayName, { readonly ns: number; readonly calls: string; readonly overGrant: string }>> = {
  evalsha: { ns: 20_658, calls: '1.0', overGrant: '0.00 %' },
  three_commands: { ns: 54_528, calls: '3.0', overGrant: '207.5 %' },
  watch: { ns: 1_166_537, calls: '50.7', overGrant: '-5 %, 1,526 errors' },
};

export function renderAtomicity(result: AtomicityResult): string {
  return [introduction(result), costSection(result), overGrantSection(result), publishedSection(result), clockSection(result)].join('\n\n');
}

function introduction({ environment, loadBefore, loadAfter, rounds }: AtomicityResult): string {
  const { date, node, redis, cores, processor } = environment;
  return `## Atomicity: one script against commands

\`npm run bench:atomicity\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}), which Redis, the callers and
whatever else ran here shared; load average ${loadBefore} before, ${loadAfter} after, the run itself included. Medians of ${rounds} rounds,
interleaved: every row had its turn in each round. In brackets the lowest and the highest round.

One hit is taken from one token bucket, in three ways. All keep the same state as the same text and compute the same numbers.

- **${WAY_TITLES.evalsha}**: Weir's \`RedisStore.take\` with \`lua/take.lua\`, from the arguments to the verdict; one connection
  for all callers. What \`src/wrap-redis.ts\` wraps around it (the deadline, the measurements) is left out, as are rules and gRPC.
- **${WAY_TITLES.three_commands}**: read, compute in the process, write; each awaited. One connection for all callers. A denial writes nothing.
- **${WAY_TITLES.watch}**: \`WATCH\`, \`GET\`, \`TIME\`, compute, \`MULTI\` \`SET\` \`EXEC\` (sent together), and again at once if another
  caller wrote first, up to 1,000 times. A watch is a connection's own, so each caller has a connection.

All are node-redis clients of one process. What waits on one connection is sent in one write, so with many callers on it a command costs
its encoding and decoding rather than its trip; \`WATCH\` cannot share a connection and pays each trip.`;
}

function costSection({ costs, roundMs }: AtomicityResult): string {
  const rows = LAYOUTS.flatMap((layout) =>
    costs
      .filter((cost) => cost.layout === layout)
      .map((cost) => {
        const weir = costs.find((other) => other.way === 'evalsha' && other.layout === layout && other.callers === cost.callers)!;
        return [
          `\`${layout}\``,
          String(cost.callers),
          WAY_TITLES[cost.way],
          spread(cost.nsPerDecision, whole),
          ratio(cost.nsPerDecision.median, weir.nsPerDecision.median),
          cost.callsPerDecision.toFixed(1),
          whole(cost.redisUsPerDecision),
          cost.bytesPerDecision === undefined ? '?' : whole(cost.bytesPerDecision),
          whole(cost.gaveUp),
        ];
      }),
  );
  const header = ['keys', 'callers', 'way', 'ns per decision', 'ratio', 'Redis calls', 'Redis CPU µs', 'bytes allocated', 'gave up'];
  return `### What a decision costs

A limit so large that every decision is a yes and writes. Rounds of ${(roundMs / 1000).toFixed(1)} s.

${table(header, rows)}

- **ns per decision**: wall time of the round divided by decisions of all callers; **ratio**: to ${WAY_TITLES.evalsha} with the same keys and callers.
- **Redis calls**: commands sent by the client per decision, from what Redis counted (\`INFO commandstats\`). What the script
  calls inside Redis is no trip over the network and not among them; a \`SET\` queued for an \`EXEC\` that was refused is.
- **Redis CPU µs**: processor time of the Redis process per decision (\`INFO cpu\`): what a decision costs the one server that all share.
- **bytes allocated**: growth of \`heapUsed + external\` of the callers' process per decision, in a run a quarter as long after each
  round, with a young generation so large that nothing is collected in it (a run with a collection is left out, \`?\` if that was all
  of them). It holds what the client library, its buffers and the caller's loop allocate; Redis's own memory is not in it.
- **gave up**: decisions without an answer after 1,000 tries, in all rounds.`;
}

function overGrantSection({ overGrants, overGrantMs }: AtomicityResult): string {
  const rows = overGrants.map(({ contender, admitted, excess, gaveUp }) => [WAY_TITLES[contender.name], spread(admitted, whole), spread(excess, percent), whole(gaveUp)]);
  return `### Over-grant

Burst ${BURST}, ${PER_SECOND}/s, ${CALLERS} callers on one key, ${overGrantMs / 1000} s: hits admitted against ${BURST} + ${PER_SECOND} × elapsed seconds, by the clock of the callers. The
command fails if a single round of Weir's lies above 0. A little below 0 is exact: hits are whole,
the time is not, and a hit that comes due at the very end may find nobody asking.

${table(['way', 'admitted', 'over-grant', 'gave up'], rows)}`;
}

function publishedSection({ costs, overGrants }: AtomicityResult): string {
  const cell = (way: WayName): Cost | undefined => costs.find((cost) => cost.layout === 'hot_key' && cost.callers === 64 && cost.way === way);
  const rows = overGrants.map(({ contender: { name }, excess, gaveUp }) => {
    const [here, weir, there] = [cell(name)!, cell('evalsha')!, PUBLISHED[name]];
    return [
      WAY_TITLES[name],
      `${whole(here.nsPerDecision.median)} (${ratio(here.nsPerDecision.median, weir.nsPerDecision.median)})`,
      `${whole(there.ns)} (${ratio(there.ns, PUBLISHED.evalsha.ns)})`,
      here.callsPerDecision.toFixed(1),
      there.calls,
      gaveUp === 0 ? percent(excess.median) : `${percent(excess.median)}, ${whole(gaveUp)} gave up`,
      there.overGrant,
    ];
  });
  const header = ['way', 'ns here (ratio)', 'ns there (ratio)', 'calls here', 'calls there', 'over-grant here', 'over-grant there'];
  return `### Beside a published comparison

The same three ways, \`hot_key\`, 64 callers; "there" is **another machine** (${PUBLISHED_ON}). Compare the ratios within each, not the times.

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
behind asks first, which is the worse case. The script is a small one (\`bench/caller-clock.lua\`), atomic in each row, so
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
