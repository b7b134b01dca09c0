/** What may be admitted in a run with a fault, and what was: the bounds that docs/generated/faults.md states, in numbers. */

import type { Fault } from './fault';
import { hotLimit, type Answer, type Asked, type LoadPlan } from './load';

/** Hits admitted, and the most that may be. */
export interface Admitted {
  readonly admitted: number;
  /** By the limit alone, as if nothing had happened. */
  readonly allowed: number;
  /** Hits that the fault may have destroyed, or made the bucket refill. */
  readonly destroyed: number;
  /** With that, and with what the instances may let pass beside the store. */
  readonly bound: number;
  /** Of all times that one process was without the store: by how much the worst let pass more than its share; 0: none did. */
  readonly overShare: number;
}

export interface Bounds {
  readonly hot: Admitted;
  readonly budget: Admitted;
  /** On the key that is never used up: what the store has counted, and between what that may lie. */
  readonly count: {
    readonly admitted: number;
    readonly charged: number | undefined;
    readonly chargedMin: number;
    readonly chargedMax: number;
  };
}

export interface BoundsInput {
  readonly fault: Pick<Fault, 'loses' | 'refills'>;
  readonly answers: readonly Answer[];
  readonly plan: LoadPlan;
  readonly charged: number | undefined;
  readonly strikeMs: number;
  readonly endMs: number;
  readonly instances: number;
  /** Hits admitted without the store whose charge it did not answer, by Weir's own count: it may never count them. */
  readonly chargesLost: number;
}

/** As src/state/resilience/local-share.ts: what an instance decides by itself is four fifths of its part. */
const LOCAL_SHARE = 0.8;

/** Redis promises of `appendfsync everysec` and of replication that not much more than the last second is lost. */
const LAST_SECONDS_MS = 2_000;

export function boundsOf(input: BoundsInput): Bounds {
  const { fault, answers, plan, charged, chargesLost } = input;
  const perSecond = hotLimit(plan);
  const hot = answers.filter(({ asked }) => asked === 'hot');
  const elapsedMs = Math.max(...hot.map(({ answeredMs }) => answeredMs)) - Math.min(...hot.map(({ scheduledMs }) => scheduledMs));
  const count = answers.filter(({ asked }) => asked === 'count');
  const admitted = count.filter(isAdmitted).length;
  // What Weir lost is told of all keys together; of this one it is no more than has passed on it without the store.
  const passed = count.filter((answer) => isAdmitted(answer) && answer.byFallback).length;
  const unsure = count.filter(({ outcome, byFallback }) => outcome === 'failed' || byFallback).length;
  return {
    hot: admittedOf('hot', {
      ...input,
      allowed: Math.floor(perSecond + (perSecond * elapsedMs) / 1000),
      capacity: perSecond,
      refill: perSecond,
      // Full again by the fault's doing, however often.
      refilled: (fault.refills ?? 0) * perSecond,
    }),
    budget: admittedOf('budget', { ...input, allowed: plan.budget, capacity: plan.budget, refill: 0, refilled: 0 }),
    count: {
      admitted,
      charged,
      chargedMin: admitted - lostHits('count', input) - Math.min(chargesLost, passed),
      chargedMax: admitted + unsure,
    },
  };
}

interface LimitInput extends BoundsInput {
  readonly allowed: number;
  readonly capacity: number;
  /** Of one second. */
  readonly refill: number;
  readonly refilled: number;
}

function admittedOf(asked: Asked, input: LimitInput): Admitted {
  const { allowed, capacity, refill, refilled, instances } = input;
  const answers = input.answers.filter((answer) => answer.asked === asked);
  const admitted = answers.filter(isAdmitted);
  const share = Math.max(1, Math.floor((capacity * LOCAL_SHARE) / instances));
  const shareRefill = (refill * LOCAL_SHARE) / instances;
  const absences = absencesOf(answers).map(({ fromMs, toMs, admitted: passed }) => ({
    passed,
    most: share + (shareRefill * (toMs - fromMs)) / 1000,
  }));
  const locally = absences.reduce((sum, { most }) => sum + most, 0);
  const overShare = Math.max(0, ...absences.map(({ passed, most }) => Math.ceil(passed - most)));
  // What nobody has decided beside the store needs no room in the bound.
  const admittedLocally = admitted.filter(({ byFallback }) => byFallback).length;
  const destroyed = Math.min(capacity, lostHits(asked, input)) + refilled;
  return {
    admitted: admitted.length,
    allowed,
    destroyed,
    bound: Math.floor(allowed + Math.min(locally, admittedLocally) + destroyed),
    overShare,
  };
}

interface Absence {
  readonly fromMs: number;
  toMs: number;
  /** Hits that this instance let pass meanwhile. */
  admitted: number;
}

/** When one of the instances was without the store: each time it may let its share pass, and what that refills meanwhile. */
function absencesOf(answers: readonly Answer[]): readonly Absence[] {
  const absences: Absence[] = [];
  const current = new Map<number, Absence>();
  for (const { instance, byFallback, scheduledMs, answeredMs, outcome } of [...answers].sort((a, b) => a.answeredMs - b.answeredMs)) {
    const absence = current.get(instance);
    if (!byFallback) {
      current.delete(instance);
    } else if (absence === undefined) {
      const begun = { fromMs: scheduledMs, toMs: answeredMs, admitted: outcome === 'admitted' ? 1 : 0 };
      current.set(instance, begun);
      absences.push(begun);
    } else {
      absence.toMs = answeredMs;
      if (outcome === 'admitted') absence.admitted += 1;
    }
  }
  return absences;
}

/** Hits that the fault has made the store forget, at most. */
function lostHits(asked: Asked, { fault, answers, strikeMs, endMs }: BoundsInput): number {
  const admitted = answers.filter((answer) => answer.asked === asked && isAdmitted(answer));
  const byStore = admitted.filter(({ byFallback }) => !byFallback);
  // On a busy machine there is some fallback before the fault too: the store has been charged for it by then.
  const chargedBefore = admitted.filter(({ byFallback, scheduledMs }) => byFallback && scheduledMs < strikeMs).length;
  switch (fault.loses) {
    case 'nothing':
      return 0;
    case 'last_seconds':
      return (
        chargedBefore +
        byStore.filter(({ answeredMs, scheduledMs }) => answeredMs >= strikeMs - LAST_SECONDS_MS && scheduledMs <= endMs).length
      );
    case 'everything':
      return chargedBefore + byStore.filter(({ scheduledMs }) => scheduledMs <= endMs).length;
  }
}

function isAdmitted({ outcome }: Answer): boolean {
  return outcome === 'admitted';
}
