/** Sees in the verdict of each request which event lines of its limits are passed, and queues a mark for each once. It asks no store. */

import { bucketKey, KeyHeads } from '../../domain/bucket/bucket-key';
import { bucketEntries, sharedOf } from '../../domain/bucket/to-group';
import type { Verdict } from '../../domain/bucket/take';
import { toText } from '../../domain/descriptor/byte-string';
import type { Descriptor, RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import type { Limit } from '../../domain/rule/limit';
import type { Match } from '../../domain/rule/match';
import { eventSpan, type EventLine, type EventSpan } from '../../domain/rule/soft/event-line';
import { passedLine, wholeBucket, WHOLE_AT } from '../../domain/rule/soft/soft-line';
import { US_PER_MS } from '../../lib/time-units';
import { EVENT_TYPES, eventText, shorten, shownEntries, type EventPrivacy } from './event-text';
import type { Marked } from './mark-queue';
import type { Mark } from './outbox';

/** Buckets whose lines are remembered; beyond this number the oldest is forgotten, and its marks are tried once more. */
export const SEEN_MAX = 20_000;

/** A mark of a window may still be set for this long after its end, in milliseconds: Redis may have been away. */
export const GRACE_MS = 600_000;

/** The shortest time in which a mark of a limit without windows may be set, in milliseconds. */
const LATE_MIN_MS = 60_000;

export interface ThresholdWatchParts {
  readonly queue: { add(mark: Mark, marked: Marked): boolean };
  readonly privacy: EventPrivacy;
}

/** By `at` of a line of one bucket: until when it needs no mark, in microseconds since 1970 by the store's clock. */
type Handled = Map<number, number>;

/** One limit of a request, with the verdict on it. */
interface Looked {
  readonly request: RateLimitRequest;
  readonly descriptor: Descriptor;
  readonly match: Match;
  readonly limit: Limit;
  readonly lines: readonly EventLine[];
  readonly verdict: Verdict;
  readonly nowUs: number;
}

export class ThresholdWatch {
  private readonly seen = new Map<string, Handled>();
  private readonly heads = new KeyHeads();

  constructor(private readonly parts: ThresholdWatchParts) {}

  /** Buckets that are remembered. */
  get size(): number {
    return this.seen.size;
  }

  /** Without the store the share of one instance says nothing about the limit; a cached denial repeats a verdict that was seen. */
  record({ request, matched, verdict }: DecidedRequest): void {
    if (verdict.fallback === true || verdict.cached === true) return;
    let next = 0;
    for (let i = 0; i < matched.matches.length; i += 1) {
      const match = matched.matches[i];
      if (match === undefined) continue;
      for (const limit of match.limits) {
        const taken = verdict.verdicts[next];
        next += 1;
        const { events: lines } = limit;
        if (lines === undefined || taken === undefined) continue;
        const bucket = wholeBucket(taken, limit);
        if (bucket.capacity === 0) continue;
        const passed = passedLine(lines, bucket);
        const descriptor = request.descriptors[i];
        if (passed === undefined || descriptor === undefined) continue;
        const looked = { request, descriptor, match, limit, lines, verdict: taken, nowUs: verdict.nowUs };
        this.handle(looked, { highest: passed.at, hashTag: matched.hashTag });
      }
    }
  }

  private handle(looked: Looked, { highest, hashTag }: { readonly highest: number; readonly hashTag: string | undefined }): void {
    const { request, descriptor, match, limit, lines, nowUs } = looked;
    const { domain } = request;
    const entries = bucketEntries(descriptor.entries, match, limit);
    // The limit of an override is another object each time, so its heads are not cached.
    const heads = match.rule === undefined ? undefined : this.heads;
    const counted = limit.pool?.limit ?? limit;
    const key = bucketKey({ prefix: '', domain, hashTag, entries, limit: counted, shared: sharedOf(match), heads });
    let handled = this.seen.get(key);
    for (const { at } of lines) {
      if (at > highest) return;
      if (nowUs < (handled?.get(at) ?? 0)) continue;
      handled ??= this.remember(key);
      this.mark(looked, { at, key, handled });
    }
  }

  private remember(key: string): Handled {
    const handled: Handled = new Map();
    this.seen.set(key, handled);
    if (this.seen.size > SEEN_MAX) {
      const [oldest] = this.seen.keys();
      if (oldest !== undefined) this.seen.delete(oldest);
    }
    return handled;
  }

  private mark(looked: Looked, { at, key, handled }: { readonly at: number; readonly key: string; readonly handled: Handled }): void {
    const { limit, verdict, nowUs } = looked;
    const { privacy, queue } = this.parts;
    const span = eventSpan(limit, { nowUs, resetAfterUs: verdict.resetAfterUs });
    const digest = privacy.digest(key);
    const endMs = typeof span === 'object' && 'endUs' in span ? span.endUs / US_PER_MS : undefined;
    const name = endMs === undefined ? `${digest}.${at}` : `${digest}.${at}.${endMs}`;
    const mark = { key: name, id: `threshold.${name}`, text: this.textOf(looked, { at, span }), ...termsOf(span, nowUs) };
    const isQueued = queue.add(mark, (result) => {
      // The lines of a window are handled until its end, although its mark stays longer.
      if (result === undefined || (result.outcome === 'late' && endMs === undefined)) handled.delete(at);
      else if (endMs === undefined) handled.set(at, result.endsMs * US_PER_MS);
    });
    if (isQueued) handled.set(at, endMs === undefined ? Infinity : endMs * US_PER_MS);
  }

  private textOf(looked: Looked, { at, span }: { readonly at: number; readonly span: EventSpan }): string {
    const { request, descriptor, match, limit, verdict, nowUs } = looked;
    const { privacy } = this.parts;
    const { name, requestsPerUnit, unit, unitMultiplier, algorithm, show, pool } = limit;
    const { capacity, remaining } = wholeBucket(verdict, limit);
    const entries = bucketEntries(descriptor.entries, match, limit);
    const domain = shorten(toText(request.domain));
    const rule = shorten(match.path.map((level, i) => privacy.level(level, entries[i])).join('.'));
    const isWindow = typeof span === 'object' && 'endUs' in span;
    return eventText({
      type: EVENT_TYPES.threshold,
      subject: rule === '' ? domain : `${domain}.${rule}`,
      atMs: Math.floor(nowUs / US_PER_MS),
      data: {
        domain,
        ...(rule !== '' && { rule }),
        descriptor: shownEntries(entries, { privacy, shared: sharedOf(match) }),
        limit: {
          ...(name !== '' && { name: shorten(name) }),
          requests_per_unit: requestsPerUnit,
          unit,
          unit_multiplier: unitMultiplier,
          algorithm,
          capacity,
          ...(pool && { pool: true }),
          ...(show && { show: { unit: show.unit, divide: show.divide } }),
        },
        at_percent: (at * 100) / WHOLE_AT,
        used: capacity - remaining,
        remaining,
        ...(isWindow && { window_end: new Date(span.endUs / US_PER_MS).toISOString() }),
      },
    });
  }
}

function termsOf(span: EventSpan, nowUs: number): Pick<Mark, 'lateAfterMs' | 'staysMs'> {
  if (span === 'once') return {};
  if ('endUs' in span) return { lateAfterMs: span.endUs / US_PER_MS + GRACE_MS };
  const staysMs = Math.max(1, Math.ceil(span.periodUs / US_PER_MS));
  return { staysMs, lateAfterMs: Math.floor(nowUs / US_PER_MS) + Math.max(LATE_MIN_MS, staysMs) };
}
