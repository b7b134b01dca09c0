/** Samples of decisions for live tails, taken in the deciding process. Without a tail a decision pays one comparison. */

import type { CandidateVerdict, Decision } from '../../../domain/decide/decision';
import type { Limit } from '../../../domain/rule/limit';
import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { Entry } from '../../../domain/descriptor/descriptor';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import type { TailDescriptor, TailFilter, TailLimit, TailSample, TailSource } from './tail-sample';
import { MS_PER_S } from '../../../lib/time-units';

/** Most descriptors and entries of a sample, and most characters of a text. */
const DESCRIPTORS_MAX = 8;
const ENTRIES_MAX = 16;
const TEXT_MAX = 256;

interface Tail {
  readonly filter: TailFilter;
  readonly domain: string | undefined;
  readonly entries: readonly { readonly key: string; readonly value: string | undefined }[];
  readonly onSample: (sample: TailSample) => void;
  skipped: number;
  /** Samples since the second began. */
  taken: number;
  sinceMs: number;
}

export interface DecisionTailOptions {
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
}

export class DecisionTail implements TailSource {
  private readonly tails = new Map<number, Tail>();

  constructor(private readonly options: DecisionTailOptions) {}

  open(id: number, filter: TailFilter, onSample: (sample: TailSample) => void): void {
    const entries = filter.entries.map(({ key, value }) => ({
      key: toByteString(key),
      value: value === undefined ? undefined : toByteString(value),
    }));
    const domain = filter.domain === undefined ? undefined : toByteString(filter.domain);
    this.tails.set(id, { filter, domain, entries, onSample, skipped: 0, taken: 0, sinceMs: 0 });
  }

  close(id: number): void {
    this.tails.delete(id);
  }

  /** Called with every decision. */
  record(decided: DecidedRequest): void {
    if (this.tails.size === 0) return;
    for (const tail of this.tails.values()) if (matches(tail, decided)) this.take(tail, decided);
  }

  private take(tail: Tail, decided: DecidedRequest): void {
    const nowMs = this.options.nowMs();
    if (nowMs - tail.sinceMs >= MS_PER_S || nowMs < tail.sinceMs) {
      tail.sinceMs = nowMs;
      tail.taken = 0;
    }
    if (tail.taken >= tail.filter.perSecond) {
      tail.skipped += 1;
      return;
    }
    tail.taken += 1;
    const { skipped } = tail;
    tail.skipped = 0;
    tail.onSample(sampleOf(decided, { nowMs, skipped }));
  }
}

function matches({ filter, domain, entries }: Tail, { request, decision }: DecidedRequest): boolean {
  if (filter.deniedOnly && decision.overallCode === 'OK') return false;
  if (domain !== undefined && request.domain !== domain) return false;
  if (entries.length === 0) return true;
  return request.descriptors.some((descriptor) =>
    entries.every(({ key, value }) =>
      descriptor.entries.some((entry) => entry.key === key && (value === undefined || entry.value === value)),
    ),
  );
}

function sampleOf(
  { request, matched, decision }: DecidedRequest,
  { nowMs, skipped }: { readonly nowMs: number; readonly skipped: number },
): TailSample {
  const descriptors = request.descriptors.slice(0, DESCRIPTORS_MAX).map(({ entries, hits = request.hits }, i): TailDescriptor => {
    const { rule, block, control = [] } = matched.matches[i] ?? {};
    const status = decision.statuses[i];
    const limit = status?.currentLimit;
    const candidates = (decision.candidates ?? []).filter(({ descriptor }) => descriptor === i).map(showCandidate);
    return {
      entries: entries.slice(0, ENTRIES_MAX).map(showEntry),
      hits,
      overLimit: status?.code === 'OVER_LIMIT',
      ...(rule && { rule: rule.path.join('.') }),
      ...(block && { block: control[0]?.id ?? '' }),
      ...(limit && {
        limit: showLimit(limit),
        remaining: status.limitRemaining,
      }),
      ...(candidates.length > 0 && { candidates }),
    };
  });
  return {
    atMs: nowMs,
    pid: process.pid,
    domain: shorten(toText(request.domain)),
    overLimit: decision.overallCode !== 'OK',
    ...(matched.blocked && { blocked: true }),
    ...without(decision),
    descriptors,
    skipped,
  };
}

function without({ fallback, cached }: Decision): Pick<TailSample, 'without'> {
  if (fallback === true) return { without: 'fallback' };
  return cached === true ? { without: 'cached' } : {};
}

function showCandidate({ limit, fits }: CandidateVerdict) {
  return { ...showLimit(limit), overLimit: !fits };
}

function showLimit({ name, requestsPerUnit, unit, unitMultiplier, show }: Limit): TailLimit {
  return { name, requestsPerUnit, unit, unitMultiplier, ...(show && { show }) };
}

function showEntry({ key, value }: Entry) {
  return { key: shorten(toText(key)), value: shorten(toText(value)) };
}

function shorten(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
