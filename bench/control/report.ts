/** The figures of control data in Markdown. */

import type { Environment } from '../support/environment';
import { spread, table, threeDigits, whole } from '../support/markdown';
import type { Spread } from '../support/statistics';
import type { Costs, CostRow } from './decision-cost';
import type { Floors } from './floors';
import { BURST_CHANGES, type Size } from './records';
import type { Turns } from './turns';

/** The start of a replica: the parts run at the same time where they can. */
export interface Start {
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly redisSeconds: number;
  readonly parsingSeconds: number;
  readonly applyingSeconds: number;
  readonly turns: Turns<void>;
  readonly usedMb: number;
  readonly residentMb: number;
}

export interface ControlFigures {
  readonly environment: Environment;
  readonly load: { readonly before: string; readonly after: string };
  readonly size: Size;
  readonly start: Start;
  readonly changing: Turns<void>;
  readonly changes: { readonly spread: Spread; readonly p99Ms: number };
  readonly costs: Costs;
  readonly floors: Floors;
}

export function renderControl({ environment, load, size, start, changing, changes, costs, floors }: ControlFigures): string {
  const { date, node, redis, cores, processor } = environment;
  return [
    '## Control data',
    `\`npm run bench -- control\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}); load average ${load.before} before, ${load.after}\nafter, including the run itself. Replica, writer and requests are in one process, Redis is in another.`,
    `${whole(size.tenants)} tenants with a plan and ${whole(size.overrides)} overrides, one domain:`,
    table(['figure', 'measured', 'bar'], figures({ start, changing, changes })),
    `A decision in process, with the embedded store of 100,000 buckets, and matching alone. **Without** and **with** are nanoseconds of
processor time of the same requests without control data and with them, chunk by chunk in turn (medians of 15 rounds); the lowest and
the highest ratio of a round are in brackets. The bar is 1.05 for a decision. For the blocks, ${whole(size.overrides)} of them were added.`,
    table(['requests', 'decision: without', 'with', 'ratio', 'matching: without', 'with', 'ratio'], costRows(costs)),
    `The smallest programs that do what a lookup cannot avoid (\`bench/control/floors.ts\`, the fastest of 15 rounds): finding a text
that was just received in a \`Map\` of 100,000 takes ${whole(floors.mapNs)} ns. A read at a random place of 8 MB, and one of 40 MB at the place that it names,
take ${whole(floors.readsNs)} ns: the plan of a tenant of a million needs these two if all tenants ask alike.`,
  ].join('\n\n');
}

function figures({ start, changing, changes }: Pick<ControlFigures, 'start' | 'changing' | 'changes'>): string[][] {
  const { seconds, processorSeconds, redisSeconds, parsingSeconds, applyingSeconds, turns, usedMb, residentMb } = start;
  return [
    ['start', `${seconds.toFixed(1)} s`, '10 s'],
    ['- processor time of the process', `${processorSeconds.toFixed(1)} s`, ''],
    ['- processor time of Redis, meanwhile', `${redisSeconds.toFixed(1)} s`, ''],
    ['- replies into records', `${parsingSeconds.toFixed(2)} s`, ''],
    ['- records into the replica', `${applyingSeconds.toFixed(2)} s`, ''],
    ['longest turn of the event loop, start', `${turns.longestMs.toFixed(1)} ms (${turns.over5Ms} over 5 ms)`, '5 ms'],
    [
      `longest turn, ${whole(BURST_CHANGES)} changes at once`,
      `${changing.longestMs.toFixed(1)} ms (${changing.over5Ms} over 5 ms)`,
      '5 ms',
    ],
    ['memory used', `${usedMb.toFixed(0)} MB (resident ${residentMb.toFixed(0)} MB more)`, '120 MB'],
    [
      'from a write to its effect in another process',
      `p50 ${changes.spread.median.toFixed(0)} ms, p99 ${changes.p99Ms.toFixed(0)} ms, longest ${changes.spread.max.toFixed(0)} ms`,
      '1,000 ms',
    ],
  ];
}

function costRows({ decision, matching }: Costs): string[][] {
  return decision.map((row, i) => {
    const alone = matching[i];
    return [row.name, ...cells(row), ...(alone === undefined ? [] : cells(alone))];
  });
}

function cells({ withoutNs, withNs, ratio }: CostRow): string[] {
  return [whole(withoutNs), whole(withNs), spread(ratio, threeDigits)];
}
