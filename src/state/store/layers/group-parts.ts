/** Splits a group into parts, and combines the verdicts on the parts. Pure. */

import {
  isUsageReport,
  neededHits,
  toPeek,
  type Group,
  type GroupVerdict,
  type OpenVerdict,
  type Adjustment,
  type Take,
  type Verdict,
} from '../../../domain/bucket/take';
import { markDenials } from '../../../domain/decide/denial-rule';

/** Takes of a group that are sent together, with their indexes in it. */
export interface Part {
  readonly takes: readonly (Take & { readonly place: number })[];
}

/** A part that was decided. */
export interface DecidedPart {
  readonly part: Part;
  readonly verdict: GroupVerdict;
}

/** Partitions takes by a property, in their order. */
export function partsBy({ takes }: Part, propertyOf: (take: Take) => string | number): Part[] {
  const parts = new Map<string | number, Part['takes'][number][]>();
  for (const take of takes) {
    const property = propertyOf(take);
    const part = parts.get(property);
    if (part === undefined) parts.set(property, [take]);
    else part.push(take);
  }
  return Array.from(parts.values(), (ofPart) => ({ takes: ofPart }));
}

export function wholeOf({ takes }: Group): Part {
  return { takes: takes.map((take, place) => ({ place, ...take })) };
}

/** Whether these takes can deny a request at all. */
export function mayDeny({ takes, shadow }: Group): boolean {
  return !shadow && takes.some((take) => take.mode !== 'shadow' && neededHits(take, take.hits) > 0);
}

/**
 * The part as a group of its own, with the hits that apply in this step. Its quota takes never deny it: whether quota
 * denies follows from all parts together.
 */
export function groupOfPart({ takes }: Part, { shadow, step }: GroupOfPartInput): Group {
  const asked = takes.map((take) => (HAS_PART_IN[step](take) ? takeOf(take) : toPeek(take)));
  return { takes: asked, quotaAlwaysFits: true, shadow, ...(step === 'ask' && { dry: true }) };
}

function takeOf({ bucketKey, limit, hits, mode, descriptor, overdraftMax, slotId }: Take): Take {
  if (slotId !== undefined)
    return overdraftMax === undefined
      ? { bucketKey, limit, hits, mode, descriptor, slotId }
      : { bucketKey, limit, hits, mode, descriptor, slotId, overdraftMax };
  if (overdraftMax === undefined) return { bucketKey, limit, hits, mode, descriptor };
  return { bucketKey, limit, hits, mode, descriptor, overdraftMax };
}

/**
 * First all parts are asked without charging, then charged, and finally refunded. For a denied request, usage reports are
 * charged (`report`) and their refunds applied (`refundReports`).
 */
export type Step = 'ask' | 'charge' | 'refund' | 'report' | 'refundReports';

/** The takes that a step applies; it only reads the buckets of the others. */
const HAS_PART_IN: Readonly<Record<Step, (take: Take) => boolean>> = {
  ask: () => true,
  charge: ({ hits }) => hits >= 0,
  refund: ({ hits }) => hits < 0,
  report: isUsageReport,
  refundReports: (take) => take.hits < 0 && isUsageReport(take),
};

/** The parts that a step must send, because it changes something in them. */
export function partsOfStep(parts: readonly Part[], step: Exclude<Step, 'ask' | 'charge'>): readonly Part[] {
  return parts.filter(({ takes }) => takes.some(HAS_PART_IN[step]));
}

interface GroupOfPartInput {
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
  readonly step: Step;
}

/** Hits that a step should charge or refund in these parts. */
export function hitsOfStep(parts: readonly Part[], step: Step): number {
  return parts.flatMap(({ takes }) => takes.filter(HAS_PART_IN[step])).reduce((sum, { hits }) => sum + Math.abs(hits), 0);
}

/** Combines the verdicts of the parts: the group may be over although no part is. */
export function together(group: Group, parts: readonly DecidedPart[]): GroupVerdict {
  const verdicts = new Array<OpenVerdict>(group.takes.length);
  for (const { part, verdict } of parts) {
    for (const [i, { place }] of part.takes.entries()) {
      const own = verdict.verdicts[i];
      if (own !== undefined) verdicts[place] = withoutDenial(own);
    }
  }
  const overLimit = markDenials(group, verdicts) && !group.shadow;
  return { overLimit, verdicts, nowUs: Math.max(...parts.map(({ verdict }) => verdict.nowUs)) };
}

/** A copy that can be marked again: in its own part a quota take never denies. */
function withoutDenial(verdict: Verdict): OpenVerdict {
  const copy: OpenVerdict = { ...verdict };
  delete copy.denies;
  return copy;
}

interface JudgedTake {
  readonly take: Take;
  readonly verdict: Verdict;
}

/** Adjustments that give back everything that the part has charged. */
export function adjustmentsOf({ part, verdict: { overLimit, verdicts, nowUs } }: DecidedPart): Adjustment[] {
  if (overLimit) return [];
  const byBucket = new Map<string, JudgedTake[]>();
  for (const [i, take] of part.takes.entries()) {
    const verdict = verdicts[i];
    if (verdict === undefined) continue;
    const judged = byBucket.get(take.bucketKey);
    if (judged === undefined) byBucket.set(take.bucketKey, [{ take, verdict }]);
    else judged.push({ take, verdict });
  }
  return [...byBucket].flatMap(([bucketKey, [first, ...others]]): Adjustment[] => {
    if (first === undefined) return [];
    // Usage reports stay charged.
    const charged = [first, ...others].flatMap(({ take, verdict: own }) => (own.fits && !isUsageReport(take) ? [take] : []));
    const hits = positiveHits(charged.filter(({ slotId }) => slotId === undefined));
    // The group has advanced the bucket under its smallest limit.
    const { take, verdict } = others.reduce((a, b) => (b.take.limit.requestsPerUnit < a.take.limit.requestsPerUnit ? b : a), first);
    const usedBefore = Math.max(0, take.limit.capacity - verdict.remaining - hits);
    // A slot that existed before the request is not released.
    const slots = new Set(charged.flatMap(({ hits: slotHits, slotId }) => (slotId !== undefined && slotHits > 0 ? [slotId] : [])));
    const ofSlots = Array.from(slots, (slotId) => ({ bucketKey, limit: take.limit, hits: -1, takenAtUs: nowUs, usedBefore, slotId }));
    return hits === 0 ? ofSlots : [{ bucketKey, limit: take.limit, hits: -hits, takenAtUs: nowUs, usedBefore }, ...ofSlots];
  });
}

/** The most hits that these takes may charge. */
export function positiveHits(takes: readonly Take[]): number {
  return takes.reduce((sum, { hits }) => sum + Math.max(0, hits), 0);
}
