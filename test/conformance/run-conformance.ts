/** Asks a rate limit service random requests on random configurations, and holds its answers against the two models. */

import type { Random } from '../support/random';
import type { Amendment } from './amendments';
import { AmendedModel, type AmendedAnswer } from './amended-model';
import type { Answered, AnsweredStatus, Asked, ConfiguredDomain, Unit } from './asked';
import type { Modes } from './model-limit';
import { randomRequest } from './random-requests';
import { ReferenceModel } from './reference-model';

/** The answers of a rate limit service under test. */
export type Ask = (asked: Asked) => Promise<Answered>;

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
}

export interface Unexplained {
  readonly asked: Asked;
  readonly answered: Answered;
  readonly asWeir: Answered;
  readonly asReference: Answered;
}

const NO_MODES: Modes = { shadow: false, quota: false };

export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { ask, configs, random, requests, nowSeconds, beforeEach, modes = NO_MODES, units, withHugeHits, resetToleranceSeconds = 0 } = options;
  const domains = new Map(configs.map((config) => [config.domain, config]));
  const [amended, reference] = [new AmendedModel(domains, modes), new ReferenceModel(domains, modes)];
  const past = new AmendedPast();
  const byAmendment = new Map<Amendment, number>();
  const byField = new Map<string, number>();
  const unexplained: Unexplained[] = [];
  let [weirs, references] = [0, 0];
  for (let i = 0; i < requests; i += 1) {
    await beforeEach?.();
    const config = configs[random(configs.length)]!;
    const asked = randomRequest({ random, config, withHugeHits, ...(units && { units }) });
    const now = nowSeconds();
    const answered = await ask(asked);
    const asWeir = amended.answer(asked, now);
    const asReference = reference.answer(asked, now);
    const because = past.add(asWeir, reference.keysOf(asked, now));
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
  return { requests, asWeir: weirs, asReference: references, byAmendment, byField, unexplained };
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

/** A reset may be told a moment later. */
function fieldsThatDiffer(answered: Answered, expected: Answered, toleranceSeconds: number): ReadonlySet<string> {
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
export function reportLines({ requests, asWeir, asReference, byAmendment, byField, unexplained }: ConformanceReport): string[] {
  return [
    `${requests} requests: ${asWeir} answered as Weir, ${asReference} as envoyproxy/ratelimit, ${unexplained.length} as neither`,
    ...countLines('as envoyproxy/ratelimit and not as Weir, by what Weir amends (an answer may have several causes):', byAmendment),
    ...countLines('as neither, by the fields that are not as Weir has them:', byField),
    ...unexplained.slice(0, UNEXPLAINED_SHOWN_MAX).map((each) => `neither: ${show(each)}`),
  ];
}

/** The most first. */
function countLines(title: string, counts: ReadonlyMap<string, number>): string[] {
  if (counts.size === 0) return [];
  return [title, ...[...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `  ${name}: ${count}`)];
}

const UNEXPLAINED_SHOWN_MAX = 5;

function show(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each));
}
