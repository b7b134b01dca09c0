/** A group in parts: what each part is asked, and what their answers come to together. Pure. */

import { isUsageReport, neededHits, toPeek, type Group, type GroupVerdict, type Settlement, type Take, type Verdict } from '../bucket/take';
import { isOverLimit } from '../engine/decide-group';

/** Takes of a group that are asked for together, by their places in it. */
export interface Part {
  readonly takes: readonly (Take & { readonly place: number })[];
}

/** A part that was decided. */
export interface DecidedPart {
  readonly part: Part;
  readonly verdict: GroupVerdict;
}

/** The takes of a group, or of a part of one, by some property, in their order. */
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

/** Whether a request of these takes can be denied at all. */
export function mayDeny({ takes, shadow }: Group): boolean {
  return !shadow && takes.some((take) => take.mode !== 'shadow' && neededHits(take, take.hits) > 0);
}

/**
 * The part as a group of its own, with its hits as they are to be now. Its quota takes alone deny nothing: what fits is
 * taken, and whether quota denies is seen from all parts together.
 */
export function groupOfPart({ takes }: Part, { shadow, step }: GroupOfPartInput): Group {
  const asked = takes.map((take) => (HAS_PART_IN[step](take) ? takeOf(take) : toPeek(take)));
  return { takes: asked, quotaAlwaysFits: true, shadow, ...(step === 'ask' && { dry: true }) };
}

function takeOf({ bucketKey, limit, hits, mode, descriptor, overdraftMax, slotId }: Take): Take {
  if (slotId !== undefined) return overdraftMax === undefined ? { bucketKey, limit, hits, mode, descriptor, slotId } : { bucketKey, limit, hits, mode, descriptor, slotId, overdraftMax };
  if (overdraftMax === undefined) return { bucketKey, limit, hits, mode, descriptor };
  return { bucketKey, limit, hits, mode, descriptor, overdraftMax };
}

/**
 * First it is only asked, then charges are taken, and last come refunds. Of a request that is denied, usage reports are
 * charged (`report`) and their refunds applied (`refundReports`).
 */
export type Step = 'ask' | 'charge' | 'refund' | 'report' | 'refundReports';

/** Takes that a step is about; it only reads the buckets of the others. */
const HAS_PART_IN: Readonly<Record<Step, (take: Take) => boolean>> = {
  ask: () => true,
  charge: ({ hits }) => hits >= 0,
  refund: ({ hits }) => hits < 0,
  report: isUsageReport,
  refundReports: (take) => take.hits < 0 && isUsageReport(take),
};

/** The parts that a step has to ask: those in which it changes something. */
export function partsOfStep(parts: readonly Part[], step: Exclude<Step, 'ask' | 'charge'>): readonly Part[] {
  return parts.filter(({ takes }) => takes.some(HAS_PART_IN[step]));
}

interface GroupOfPartInput {
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
  readonly step: Step;
}

/** Hits that a step was to charge or to refund in these parts. */
export function hitsOfStep(parts: readonly Part[], step: Step): number {
  return parts.flatMap(({ takes }) => takes.filter(HAS_PART_IN[step])).reduce((sum, { hits }) => sum + Math.abs(hits), 0);
}

/** What the parts' verdicts are for the whole group: it may be over although no part is. */
export function together(group: Group, parts: readonly DecidedPart[]): GroupVerdict {
  const verdicts = new Array<Verdict>(group.takes.length);
  for (const { part, verdict } of parts) {
    for (const [i, { place }] of part.takes.entries()) {
      const own = verdict.verdicts[i];
      if (own !== undefined) verdicts[place] = own;
    }
  }
  const overLimit = !group.shadow && isOverLimit(group, verdicts);
  return { overLimit, verdicts, nowUs: Math.max(...parts.map(({ verdict }) => verdict.nowUs)) };
}

interface JudgedTake {
  readonly take: Take;
  readonly verdict: Verdict;
}

/** What gives back all that the part has charged. */
export function settlementsOf({ part, verdict: { overLimit, verdicts, nowUs } }: DecidedPart): Settlement[] {
  if (overLimit) return [];
  const byBucket = new Map<string, JudgedTake[]>();
  for (const [i, take] of part.takes.entries()) {
    const verdict = verdicts[i];
    if (verdict === undefined) continue;
    const judged = byBucket.get(take.bucketKey);
    if (judged === undefined) byBucket.set(take.bucketKey, [{ take, verdict }]);
    else judged.push({ take, verdict });
  }
  return [...byBucket].flatMap(([bucketKey, [first, ...others]]): Settlement[] => {
    if (first === undefined) return [];
    // Usage reports stay charged.
    const charged = [first, ...others].flatMap(({ take, verdict: own }) => (own.fits && !isUsageReport(take) ? [take] : []));
    const hits = positiveHits(charged.filter(({ slotId }) => slotId === undefined));
    // The smallest limit is the one at which the group has moved the bucket on.
    const { take, verdict } = others.reduce((a, b) => (b.take.limit.requestsPerUnit < a.take.limit.requestsPerUnit ? b : a), first);
    const usedBefore = Math.max(0, take.limit.capacity - verdict.remaining - hits);
    // One that had its slot before is given nothing back: that slot is of another time.
    const slots = new Set(charged.flatMap(({ hits: slotHits, slotId }) => (slotId !== undefined && slotHits > 0 ? [slotId] : [])));
    const ofSlots = Array.from(slots, (slotId) => ({ bucketKey, limit: take.limit, hits: -1, takenAtUs: nowUs, usedBefore, slotId }));
    return hits === 0 ? ofSlots : [{ bucketKey, limit: take.limit, hits: -hits, takenAtUs: nowUs, usedBefore }, ...ofSlots];
  });
}

/** What these takes are to charge, at most. */
export function positiveHits(takes: readonly Take[]): number {
  return takes.reduce((sum, { hits }) => sum + Math.max(0, hits), 0);
}
