/** Asks a rate limit service random requests on random configurations, and holds its answers against the two models. */

import type { Random } from '../support/random';
import type { Amendment } from './amendments';
import { AmendedModel, type AmendedAnswer } from './amended-model';
import type { Answered, Asked, ConfiguredDomain, Unit } from './asked';
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
    const [isWeirs, isReferences] = [asWeir.answered, asReference].map((expected) => isSame(answered, expected, resetToleranceSeconds));
    if (isWeirs) weirs += 1;
    if (isReferences) references += 1;
    if (isReferences && !isWeirs) for (const amendment of because) byAmendment.set(amendment, (byAmendment.get(amendment) ?? 0) + 1);
    if (!isReferences && !isWeirs) unexplained.push({ asked, answered, asWeir: asWeir.answered, asReference });
  }
  return { requests, asWeir: weirs, asReference: references, byAmendment, unexplained };
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

/** Every field alike, but for a reset that may be told a moment later. */
function isSame(answered: Answered, expected: Answered, toleranceSeconds: number): boolean {
  if ('error' in answered || 'error' in expected) return 'error' in answered && 'error' in expected && answered.error === expected.error;
  if (answered.overallCode !== expected.overallCode || answered.statuses.length !== expected.statuses.length) return false;
  return answered.statuses.every(({ resetSeconds, ...status }, index) => {
    const { resetSeconds: expectedReset, ...rest } = expected.statuses[index]!;
    if (status.code !== rest.code || status.limit !== rest.limit || status.remaining !== rest.remaining) return false;
    if (resetSeconds === undefined || expectedReset === undefined) return resetSeconds === expectedReset;
    return Math.abs(resetSeconds - expectedReset) <= toleranceSeconds;
  });
}

/** As lines for people. */
export function reportLines({ requests, asWeir, asReference, byAmendment, unexplained }: ConformanceReport): string[] {
  const amendments = [...byAmendment].sort(([, a], [, b]) => b - a).map(([amendment, count]) => `  ${amendment}: ${count}`);
  return [
    `${requests} requests: ${asWeir} answered as Weir, ${asReference} as envoyproxy/ratelimit, ${unexplained.length} as neither`,
    ...(amendments.length === 0 ? [] : ['as envoyproxy/ratelimit and not as Weir, by what Weir amends (an answer may have several causes):', ...amendments]),
    ...unexplained.slice(0, UNEXPLAINED_SHOWN_MAX).map((each) => `neither: ${show(each)}`),
  ];
}

const UNEXPLAINED_SHOWN_MAX = 5;

function show(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each));
}
