/** Asks a rate limit service random requests on random configurations, and holds its answers against the two models. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/random/random';
import type { Amendment } from '../model/amendments';
import { AmendedModel, type AmendedAnswer } from '../model/amended-model';
import type { DecidedRequest, AnsweredStatus, Asked, ConfiguredDomain, Unit } from '../model/asked';
import type { Modes } from '../model/model-limit';
import { randomRequest } from '../random/random-requests';
import { compared, countsThatDiffer, type ReadStatistics } from './read-statistics';
import { ReferenceModel } from '../model/reference-model';
import type { Counts, Statistics } from '../model/statistics';

/** The answers of a rate limit service under test. */
export type Ask = (asked: Asked) => Promise<DecidedRequest>;

export interface ConformanceOptions {
  readonly ask: Ask;
  readonly configs: readonly ConfiguredDomain[];
  readonly random: Random;
  readonly requests: number;
  /** The time by which the service counts, just now. */
  readonly nowSeconds: () => number;
  /** Called before each request; may move a clock. */
  readonly beforeEach?: () => Promise<void>;
  readonly modes?: Modes;
  readonly units?: readonly Unit[];
  readonly withHugeHits: boolean;
  /** Of each request; default: as many as there are. */
  readonly descriptorsMax?: number;
  /** The service denies by what it remembers: LOCAL_CACHE_SIZE_IN_BYTES of the reference, DENY_CACHE_MAX of Weir with one descriptor for each request. */
  readonly remembersDenials?: boolean;
  /** What the service has counted by now. */
  readonly readStatistics?: () => Promise<ReadStatistics>;
  /** Statistics of no rule that it does not count. */
  readonly uncounted?: readonly string[];
  /** How long the target may take to publish them; default 0. */
  readonly statisticsTimeoutMs?: number;
  /** By how much a reset may differ, where the clock of the service can't be set; default 0. */
  readonly resetToleranceSeconds?: number;
}

export interface ConformanceReport {
  readonly requests: number;
  /** Answers that the model of Weir gives. */
  readonly asWeir: number;
  /** Answers that the model of the reference gives. */
  readonly asReference: number;
  /** Answers that are the reference's and not Weir's, by the amendments that led to them. */
  readonly byAmendment: ReadonlyMap<Amendment, number>;
  /** Of the answers that neither model gives, the fields that are not as Weir's model has them. */
  readonly byField: ReadonlyMap<string, number>;
  /** Answers that neither model gives. */
  readonly unexplained: readonly Unexplained[];
  /** Requests that the models count otherwise, by the amendments that led to it. */
  readonly countedByAmendment: ReadonlyMap<Amendment, number>;
  /** Requests that the models count otherwise, and no amendment says why. */
  readonly countedUnexplained: readonly Asked[];
  /** Absent: not asked for. */
  readonly statistics?: StatisticsReport;
}

export interface StatisticsReport {
  /** Names that the service has counted under, in statsd and for Prometheus. */
  readonly counted: readonly string[];
  /** Of these and those of the model, the ones that differ, each as a line. */
  readonly notWeirs: readonly string[];
  readonly notReferences: readonly string[];
}

export interface Unexplained {
  readonly asked: Asked;
  readonly answered: DecidedRequest;
  readonly asWeir: DecidedRequest;
  readonly asReference: DecidedRequest;
}

const NO_MODES: Modes = { shadow: false, quota: false };

export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const {
    ask,
    configs,
    random,
    requests,
    nowSeconds,
    beforeEach,
    modes = NO_MODES,
    units,
    withHugeHits,
    descriptorsMax,
    remembersDenials = false,
    resetToleranceSeconds = 0,
  } = options;
  const domains = new Map(configs.map((config) => [config.domain, config]));
  const [amended, reference] = [
    new AmendedModel(domains, modes, { remembersDenials }),
    new ReferenceModel(domains, modes, { remembersDenials }),
  ];
  const past = new AmendedPast();
  const byAmendment = new Map<Amendment, number>();
  const byField = new Map<string, number>();
  const unexplained: Unexplained[] = [];
  const countedByAmendment = new Map<Amendment, number>();
  const countedUnexplained: Asked[] = [];
  let [weirs, references] = [0, 0];
  for (let i = 0; i < requests; i += 1) {
    await beforeEach?.();
    const config = configs[random(configs.length)]!;
    const request = randomRequest({ random, config, withHugeHits, ...(units && { units }) });
    const asked = { ...request, descriptors: request.descriptors.slice(0, descriptorsMax) };
    const now = nowSeconds();
    const answered = await ask(asked);
    const asWeir = amended.answer(asked, now);
    const asReference = reference.answer(asked, now);
    const because = past.add(asWeir, reference.keysOf(asked, now));
    if (countsThatDiffer(amended.statistics.last(), reference.statistics.last()).length > 0) {
      const causes = new Set([...because, ...asWeir.statisticAmendments]);
      countAll(countedByAmendment, causes);
      if (causes.size === 0) countedUnexplained.push(asked);
    }
    const notWeirs = fieldsThatDiffer(answered, asWeir.answered, resetToleranceSeconds);
    const isWeirs = notWeirs.size === 0;
    const isReferences = fieldsThatDiffer(answered, asReference, resetToleranceSeconds).size === 0;
    if (isWeirs) weirs += 1;
    if (isReferences) references += 1;
    if (isReferences && !isWeirs) countAll(byAmendment, because);
    if (isReferences || isWeirs) continue;
    countAll(byField, notWeirs);
    unexplained.push({ asked, answered, asWeir: asWeir.answered, asReference });
  }
  const statistics = await compareStatistics(options, { weirs: amended.statistics, references: reference.statistics });
  return {
    requests,
    asWeir: weirs,
    asReference: references,
    byAmendment,
    byField,
    unexplained,
    countedByAmendment,
    countedUnexplained,
    ...(statistics && { statistics }),
  };
}

interface ModelStatistics {
  readonly weirs: Statistics;
  readonly references: Statistics;
}

/** Until they are those of a model, or time is over. */
async function compareStatistics(
  { readStatistics, uncounted = [], statisticsTimeoutMs = 0 }: ConformanceOptions,
  models: ModelStatistics,
): Promise<StatisticsReport | undefined> {
  if (readStatistics === undefined) return undefined;
  const endMs = performance.now() + statisticsTimeoutMs;
  for (;;) {
    const report = statisticsReport(await readStatistics(), { ...models, uncounted });
    if (report.notWeirs.length === 0 || report.notReferences.length === 0 || performance.now() >= endMs) return report;
    await sleep(STATISTICS_POLL_MS);
  }
}

const STATISTICS_POLL_MS = 250;

function statisticsReport(
  { statsd, prometheus }: ReadStatistics,
  { weirs, references, uncounted }: ModelStatistics & { readonly uncounted: readonly string[] },
): StatisticsReport {
  const counted = (counts: Counts) => new Map([...counts].filter(([name]) => !uncounted.includes(name)));
  const asWeir = counted(weirs.inStatsdAsWeir());
  const notWeirs = [
    ...(statsd ? countsThatDiffer(statsd, asWeir) : []),
    ...(prometheus ? countsThatDiffer(prometheus, compared(weirs.forPrometheusAsWeir())) : []),
  ];
  const asReference = counted(references.inStatsdAsReference());
  const notReferences = [
    ...(statsd ? countsThatDiffer(statsd, asReference) : []),
    ...(prometheus ? countsThatDiffer(prometheus, compared(references.forPrometheusAsReference())) : []),
  ];
  return { counted: [...(statsd?.keys() ?? []), ...(prometheus?.keys() ?? [])], notWeirs, notReferences };
}

function countAll<T>(counts: Map<T, number>, found: Iterable<T>): void {
  for (const each of found) counts.set(each, (counts.get(each) ?? 0) + 1);
}

/** Which amendments the buckets of both models have gone through: the counts of the two differ from then on. */
class AmendedPast {
  private readonly byBucket = new Map<string, Set<Amendment>>();
  /** Buckets that the reference counts in one. */
  private readonly bucketsOf = new Map<string, Set<string>>();

  /** All that may be why the answers differ. */
  add({ amendments, buckets }: AmendedAnswer, referenceKeys: readonly string[]): ReadonlySet<Amendment> {
    const because = new Set<Amendment>(amendments);
    buckets.forEach((bucket, index) => {
      const key = referenceKeys[index];
      if (key === undefined || buckets.length !== referenceKeys.length) return;
      const sharing = this.bucketsOf.get(key) ?? new Set();
      if (sharing.add(bucket).size > 1) because.add('windows apart');
      this.bucketsOf.set(key, sharing);
    });
    const places = [...buckets, ...referenceKeys];
    for (const place of places) for (const amendment of this.byBucket.get(place) ?? []) because.add(amendment);
    for (const place of places) this.byBucket.set(place, new Set([...(this.byBucket.get(place) ?? []), ...because]));
    return because;
  }
}

/** A reset may be shown a moment later. */
function fieldsThatDiffer(answered: DecidedRequest, expected: DecidedRequest, toleranceSeconds: number): ReadonlySet<string> {
  if ('error' in answered || 'error' in expected) {
    return new Set('error' in answered && 'error' in expected && answered.error === expected.error ? [] : ['error']);
  }
  const fields = new Set<string>();
  if (answered.overallCode !== expected.overallCode) fields.add('overall_code');
  if (answered.statuses.length !== expected.statuses.length) fields.add('statuses');
  answered.statuses.forEach((status, index) => {
    const other = expected.statuses[index];
    if (other === undefined) return;
    if (status.code !== other.code) fields.add('code');
    if (status.limit !== other.limit) fields.add('current_limit');
    if (status.remaining !== other.remaining) fields.add('limit_remaining');
    if (!isSameReset(status, other, toleranceSeconds)) fields.add('duration_until_reset');
  });
  return fields;
}

function isSameReset({ resetSeconds }: AnsweredStatus, { resetSeconds: expected }: AnsweredStatus, toleranceSeconds: number): boolean {
  if (resetSeconds === undefined || expected === undefined) return resetSeconds === expected;
  return Math.abs(resetSeconds - expected) <= toleranceSeconds;
}

/** As lines for people. */
export function reportLines({
  requests,
  asWeir,
  asReference,
  byAmendment,
  byField,
  unexplained,
  countedByAmendment,
  countedUnexplained,
  statistics,
}: ConformanceReport): string[] {
  return [
    `${requests} requests: ${asWeir} answered as Weir, ${asReference} as envoyproxy/ratelimit, ${unexplained.length} as neither`,
    ...countLines('as envoyproxy/ratelimit and not as Weir, by what Weir amends (an answer may have several causes):', byAmendment),
    ...countLines('as neither, by the fields that are not as Weir has them:', byField),
    ...unexplained.slice(0, UNEXPLAINED_SHOWN_MAX).map((each) => `neither: ${show(each)}`),
    ...(statistics
      ? [
          ...statisticsLines(statistics),
          ...countLines('requests that the two count otherwise, by what Weir amends:', countedByAmendment),
          ...countedUnexplained.slice(0, UNEXPLAINED_SHOWN_MAX).map((each) => `counted otherwise for no known reason: ${show(each)}`),
        ]
      : []),
  ];
}

/** With the first of those that differ from the model that is nearer. */
function statisticsLines({ counted, notWeirs, notReferences }: StatisticsReport): string[] {
  const nearer = notWeirs.length <= notReferences.length ? notWeirs : notReferences;
  return [
    `${counted.length} statistics: ${notWeirs.length} differ from those of Weir, ${notReferences.length} from those of envoyproxy/ratelimit`,
    ...nearer.slice(0, STATISTICS_SHOWN_MAX).map((line) => `  ${line}`),
  ];
}

const STATISTICS_SHOWN_MAX = 20;

/** The most first. */
function countLines(title: string, counts: ReadonlyMap<string, number>): string[] {
  if (counts.size === 0) return [];
  return [title, ...[...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `  ${name}: ${count}`)];
}

const UNEXPLAINED_SHOWN_MAX = 5;

function show(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each));
}
