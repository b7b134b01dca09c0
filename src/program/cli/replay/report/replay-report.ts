/** The report of a replay: the figures in their JSON form. All other forms are made of it. */

import type { ReplayEngine } from '../engines/replay-engine';
import type { ChangedKey, ChangedKeys } from '../figures/changed-keys';
import type { RuleRow } from '../figures/rule-figures';
import { rateText, type Limit } from '../../../../domain/rule/limit';
import type { WrongInFile } from '../logs/log-file';
import type { EarlyEnd, ReplayOutcome } from '../run/run-replay';
import { isRateLimit } from '../../../../domain/rule/limit';

/** The most hits in one window: of half the keys no more, of 99 % no more, of any key. */
export interface Peak {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface LimitReport {
  /** `100/minute`, or the name of the limit. */
  readonly limit: string;
  readonly peak: Peak;
  /** The smallest limit that denies at most the asked share. Absent: nobody asked. */
  readonly suggested?: number;
}

export interface RuleReport {
  readonly domain: string;
  readonly rule: string;
  readonly requests: number;
  readonly denied: number;
  readonly peak: Peak;
  readonly suggested?: number;
  readonly limits: readonly LimitReport[];
  readonly candidate?: { readonly requests: number; readonly denied: number; readonly limits: readonly string[] };
}

export interface ChangedReport {
  readonly requests: number;
  readonly keys: readonly ChangedKey[];
}

export interface StepReport {
  readonly time: string;
  readonly requests: number;
  readonly denied: readonly number[];
  readonly newly_denied: number;
  readonly newly_admitted: number;
}

export interface ReplayReport {
  readonly complete: boolean;
  readonly ended_early?: EarlyEnd;
  readonly requests: number;
  readonly lines_wrong: number;
  readonly wrong_lines: readonly WrongInFile[];
  readonly lines_without_descriptors: number;
  readonly from?: string;
  readonly to?: string;
  readonly configurations: readonly {
    readonly name: string;
    readonly admitted: number;
    readonly denied: number;
    readonly evictions: number;
  }[];
  readonly newly_denied: ChangedReport;
  readonly newly_admitted: ChangedReport;
  /** Without a candidate: what the configuration denied. */
  readonly denied?: ChangedReport;
  readonly rules: readonly RuleReport[];
  readonly suggest?: number;
  readonly keys_sampled?: number;
  readonly over_time: { readonly step_s: number; readonly steps: readonly StepReport[] };
}

export interface ReportOptions {
  /** Keys to list of each kind. */
  readonly top: number;
  /** The share of requests that a suggested limit may deny. Absent: none is suggested. */
  readonly suggest?: number | undefined;
}

const NO_PEAK: Peak = { p50: 0, p99: 0, max: 0 };

export function makeReport(outcome: ReplayOutcome, { top, suggest }: ReportOptions): ReplayReport {
  const { figures, earlyEnd, evictions } = outcome;
  const [before, after] = figures.configurations;
  if (before === undefined) throw new Error('a replay without a configuration');
  const sampled = Math.min(...figures.configurations.map(({ engine }) => engine.sampled));
  return {
    complete: earlyEnd === undefined,
    ...(earlyEnd !== undefined && { ended_early: earlyEnd }),
    requests: figures.requests,
    lines_wrong: outcome.linesWrong,
    wrong_lines: outcome.wrongLines,
    lines_without_descriptors: outcome.withoutDescriptors,
    ...(figures.requests > 0 && { from: timeText(figures.fromUs), to: timeText(figures.toUs) }),
    configurations: figures.configurations.map(({ name, admitted, denied }, i) => ({
      name,
      admitted,
      denied,
      evictions: evictions[i] ?? 0,
    })),
    newly_denied: changed(figures.newlyDenied, top),
    newly_admitted: changed(figures.newlyAdmitted, top),
    ...(after === undefined && { denied: changed(figures.denied, top) }),
    rules: ruleReports(before.engine, after?.engine, suggest),
    ...(suggest !== undefined && { suggest }),
    ...(sampled < 1 && { keys_sampled: sampled }),
    over_time: {
      step_s: figures.series.widthS,
      steps: figures.series.placed().map(({ startUs, requests, denied, newlyDenied, newlyAdmitted }) => ({
        time: timeText(startUs),
        requests,
        denied,
        newly_denied: newlyDenied,
        newly_admitted: newlyAdmitted,
      })),
    },
  };
}

function changed(keys: ChangedKeys, top: number): ChangedReport {
  return { requests: keys.requests, keys: keys.top(top) };
}

/** The rules of both configurations; a rule of only the candidate has no requests and denials of its own. */
function ruleReports(before: ReplayEngine, after: ReplayEngine | undefined, suggest: number | undefined): RuleReport[] {
  const candidates = new Map(after?.rules.rows.map((row) => [row.rule, row]));
  const peaks = before.peaks();
  const ownPeaks = after?.peaks() ?? [];
  const reports = before.rules.rows.map((row) => ruleReport(row, { peaks, candidate: candidates.get(row.rule), suggest }));
  for (const row of before.rules.rows) candidates.delete(row.rule);
  for (const row of candidates.values())
    reports.push(ruleReport({ ...row, requests: 0, denied: 0 }, { peaks: ownPeaks, candidate: row, suggest }));
  return reports.sort((a, b) => b.denied - a.denied || b.requests - a.requests || (a.rule < b.rule ? -1 : 1));
}

interface RuleReportInput {
  readonly peaks: readonly Float64Array[];
  readonly candidate: RuleRow | undefined;
  readonly suggest: number | undefined;
}

function ruleReport({ domain, rule, requests, denied, limits }: RuleRow, { peaks, candidate, suggest }: RuleReportInput): RuleReport {
  const reports = limits
    .filter(({ limit }) => isRateLimit(limit))
    .map(({ limit, owner, sizes }) => ({
      limit: limitText(limit),
      peak: owner === undefined ? NO_PEAK : peakOf(peaks[owner]),
      ...(suggest !== undefined && owner !== undefined && { suggested: sizes.sizeForShare(suggest) }),
    }));
  const [first] = reports;
  return {
    domain,
    rule,
    requests,
    denied,
    peak: first?.peak ?? NO_PEAK,
    ...(first?.suggested !== undefined && { suggested: first.suggested }),
    limits: reports,
    ...(candidate !== undefined && {
      candidate: { requests: candidate.requests, denied: candidate.denied, limits: candidate.limits.map(({ limit }) => limitText(limit)) },
    }),
  };
}

function peakOf(sorted: Float64Array | undefined): Peak {
  if (sorted === undefined || sorted.length === 0) return NO_PEAK;
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

export function limitText(limit: Limit): string {
  return limit.name === '' ? rateText(limit) : `${limit.name} (${rateText(limit)})`;
}

function timeText(us: number): string {
  return new Date(Math.floor(us / 1_000)).toISOString();
}
