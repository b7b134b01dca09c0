/** The figures of decisions with and without consoles, in Markdown. */

import type { Environment } from '../support/environment';
import { spread, table, threeDigits, whole } from '../support/markdown';
import { spreadOf } from '../support/statistics';

/** Of one Weir in one round. */
export interface ConsoleRound {
  readonly decisionsPerS: number;
  /** Processor time of a decision, with all that the process does besides. */
  readonly costUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Calls that failed, or that nobody answered. */
  readonly lost: number;
}

export interface ConsoleFigures {
  readonly environment: Environment;
  readonly load: { readonly before: string; readonly after: string };
  readonly openPerSecond: number;
  readonly roundMs: number;
  readonly rounds: readonly {
    readonly alone: ConsoleRound;
    readonly looked: ConsoleRound;
    readonly answers: { readonly answered: number; readonly failed: number };
  }[];
}

export function renderConsoles({ environment, load, openPerSecond, roundMs, rounds }: ConsoleFigures): string {
  const { date, node, redis, cores, processor } = environment;
  const row = (title: string, of: (round: ConsoleRound) => number, show: (value: number) => string): string[] => [
    title,
    spread(spreadOf(rounds.map(({ alone }) => of(alone))), show),
    spread(spreadOf(rounds.map(({ looked }) => of(looked))), show),
    spread(spreadOf(rounds.map(({ alone, looked }) => of(looked) / of(alone))), threeDigits),
  ];
  const sum = (of: (round: (typeof rounds)[number]) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  return [
    '## Open consoles',
    `\`npm run bench -- consoles\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}); load average ${load.before} before, ${load.after}\nafter, including the run itself.`,
    `Two Weirs on one Redis, in turn in each of ${rounds.length} rounds of ${roundMs / 1_000} s for each load. Five consoles look at one of them: the pages Overview, Who is
limited, Tenant, Rules and Instances. A client asks what these pages ask, at their intervals (\`bench/consoles/page-calls.ts\`, which a test compares
with the pages in Chromium), because five browsers would take the cores from Weir. Weir has one core, with its admin thread; the generator, the
client and Redis have the other one. Medians, with the lowest and the highest round in brackets.`,
    table(
      ['figure', 'no console', 'five consoles', 'ratio'],
      [
        row('decisions a second, as fast as they go', ({ decisionsPerS }) => decisionsPerS, whole),
        row('processor time of a decision, us', ({ costUs }) => costUs, threeDigits),
        row(`p50 at ${whole(openPerSecond)} a second, ms`, ({ p50Ms }) => p50Ms, threeDigits),
        row(`p99 at ${whole(openPerSecond)} a second, ms`, ({ p99Ms }) => p99Ms, threeDigits),
      ],
    ),
    `Calls lost: ${sum(({ alone }) => alone.lost)} without consoles, ${sum(({ looked }) => looked.lost)} with five. The admin API answered ${whole(sum(({ answers }) => answers.answered))} requests of the consoles, and refused ${sum(({ answers }) => answers.failed)}.`,
  ].join('\n\n');
}
