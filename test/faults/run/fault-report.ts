/** The table of docs/generated/faults.md, those of test/faults/results.md, and the line that a run prints of each fault. */

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { status } from '@grpc/grpc-js';
import { describeEnvironment, loadAverage } from '../../../bench/support/environment';
import { publishSection } from '../../../bench/support/generated-doc';
import type { Size } from './fault';
import { hotLimit } from './load';
import type { FaultResult } from './run-fault';
import type { Admitted } from './bounds';

const FAULTS_PAGE = path.join(__dirname, '..', '..', '..', 'docs', 'generated', 'faults.md');
const RESULTS = path.join(__dirname, '..', 'results.md');

export interface FaultsReport {
  readonly results: readonly FaultResult[];
  readonly size: Size;
}

export function publishFaults(report: FaultsReport): void {
  const section = { name: 'faults', command: 'npm test -- faults --long' };
  publishSection({ ...section, file: FAULTS_PAGE, markdown: renderSummary(report) });
  publishSection({ ...section, file: RESULTS, markdown: renderResults(report) });
}

export function describeResult(result: FaultResult): string {
  const {
    name,
    answers,
    fallbacks,
    breakerOpenings,
    passedHits,
    chargedBackHits,
    bounds,
    seen: { noted },
  } = result;
  const { count } = bounds;
  return [
    `${name}: ${answers} answers, ${errorsCell(result)} errors, ${fallbacks} by fallback, ${breakerOpenings} openings`,
    `inside ${insideCell(result)}, caller ${callerCell(result)}`,
    `hot ${admittedCell(bounds.hot)}, budget ${admittedCell(bounds.budget)}, passed ${passedHits}, charged back ${chargedBackHits}`,
    `charged ${count.charged ?? '?'} of ${count.admitted} (${count.chargedMin} to ${count.chargedMax}), recovered ${recoveryCell(result)}`,
    ...(noted === undefined ? [] : [noted]),
  ].join('; ');
}

/** Each fault with what was done, and the figures that the guarantees are about. */
function renderSummary(report: FaultsReport): string {
  return `${environmentOf(report)}

${table(
  [
    'fault',
    'what was done',
    'errors',
    'by fallback',
    'p99 inside, ms',
    'recovered after',
    'hot: admitted of bound',
    'budget: admitted of bound',
  ],
  report.results.map((result) => [
    result.name,
    result.done,
    errorsCell(result),
    whole(result.fallbacks),
    `≤ ${result.inside.p99Ms}`,
    recoveryCell(result),
    boundCell(result.bounds.hot),
    boundCell(result.bounds.budget),
  ]),
)}`;
}

function environmentOf({ size }: FaultsReport): string {
  const { date, node, cores, processor } = describeEnvironment({ redis: redisVersion() });
  return `\`npm test -- faults --long\`, ${date}: Node ${node}, Redis ${redisVersion()}, ${cores} cores (${processor}), which two Weir processes, Redis, the
callers and whatever else ran here shared; load average ${loadAverage()} at the end. ${size.perSecond} requests a second to two Weir processes with default
settings, ${size.beforeMs / 1000} s before each fault and ${size.afterMs / 1000} s after the recovery; the hot limit is ${hotLimit(size)} a second.`;
}

function renderResults(report: FaultsReport): string {
  const { results } = report;
  return `${environmentOf(report)}

### What callers saw

${table(
  [
    'fault',
    'answers (a second)',
    'errors',
    'by fallback',
    'breaker opened',
    'inside Weir, ms: p50 / p99 / max',
    'within 10 ms',
    'caller, ms: p50 / p99 / max',
    'recovered after',
  ],
  results.map((result) => [
    result.name,
    `${whole(result.answers)} (${whole(result.answers / result.seconds)})`,
    errorsCell(result),
    whole(result.fallbacks),
    whole(result.breakerOpenings),
    insideCell(result),
    `${(result.inside.withinShare * 100).toFixed(2)} %`,
    callerCell(result),
    recoveryCell(result),
  ]),
)}

### What was counted

${table(
  [
    'fault',
    'hot: admitted / allowed / bound',
    'budget: admitted / allowed / bound',
    'by fallback, charged back',
    'count: admitted, counted',
    'also seen',
  ],
  results.map(({ name, passedHits, chargedBackHits, bounds: { hot, budget, count }, seen: { noted = '' } }) => [
    name,
    admittedCell(hot),
    admittedCell(budget),
    `${whole(passedHits)}, ${whole(chargedBackHits)}`,
    `${whole(count.admitted)}, ${count.charged === undefined ? '?' : whole(count.charged)}`,
    noted,
  ]),
)}`;
}

function redisVersion(): string {
  const told = execFileSync(process.env.WEIR_REDIS_SERVER ?? 'redis-server', ['--version'], { encoding: 'utf8' });
  return /v=(\S+)/.exec(told)?.[1] ?? 'unknown';
}

function errorsCell({ errors, errorStatuses }: FaultResult): string {
  const named = [...errorStatuses].map(([code, count]) => `${whole(count)} ${status[code] ?? code}`);
  return errors === 0 ? '0' : `${whole(errors)} (${named.join(', ')})`;
}

function insideCell({ inside: { p50Ms, p99Ms, maxMs } }: FaultResult): string {
  return [p50Ms, p99Ms, maxMs].map((edge) => `≤ ${edge}`).join(' / ');
}

function callerCell({ caller: { p50Ms, p99Ms, maxMs } }: FaultResult): string {
  return [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)).join(' / ');
}

function recoveryCell({ recoveryMs, fallbacks, errors }: FaultResult): string {
  if (recoveryMs === undefined) return 'never';
  return fallbacks + errors === 0 ? '-' : `${whole(recoveryMs)} ms`;
}

function admittedCell({ admitted, allowed, bound }: Admitted): string {
  return `${whole(admitted)} / ${whole(allowed)} / ${whole(bound)}`;
}

function boundCell({ admitted, bound }: Admitted): string {
  return `${whole(admitted)} of ${whole(bound)}`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
