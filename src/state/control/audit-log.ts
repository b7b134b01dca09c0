/** Audit entries in memory, in the order of their ids: the latest of them, in pages from either end. */

import type { AuditEntry, AuditPage, AuditQuery } from './control-store';

/** Entries beyond the most are dropped in portions of this part of it, because each portion costs a copy. */
const PORTION = 0.25;

type AuditId = readonly [ms: number, number: number];

export class AuditLog {
  private kept: AuditEntry[] = [];

  constructor(private readonly entriesMax: number) {}

  get entries(): readonly AuditEntry[] {
    return this.kept;
  }

  add(entries: readonly AuditEntry[]): void {
    for (const entry of entries) this.kept.push(entry);
    if (this.kept.length > this.entriesMax * (1 + PORTION)) this.kept = this.kept.slice(-this.entriesMax);
  }

  /** The id of an entry that is added at this time, after `before`, or after the last entry. */
  nextId(atMs: number, before = this.kept.at(-1)?.id): string {
    const [ms, number] = before === undefined ? [-1, 0] : readId(before);
    return atMs > ms ? `${atMs}-0` : `${ms}-${number + 1}`;
  }

  page({ order, after, limit }: Omit<AuditQuery, 'trail'>): AuditPage {
    const { kept } = this;
    if (order === 'oldest') {
      const from = after === undefined ? 0 : this.countUpTo(after, { inclusive: true });
      return pageOf(kept.slice(from, from + limit), { hasMore: from + limit < kept.length });
    }
    const end = after === undefined ? kept.length : this.countUpTo(after, { inclusive: false });
    return pageOf(kept.slice(Math.max(0, end - limit), end).reverse(), { hasMore: end > limit });
  }

  /** How many entries have an id before this one. A binary search: a page of a long log takes no time of decisions. */
  private countUpTo(id: string, { inclusive }: { readonly inclusive: boolean }): number {
    const wanted = readId(id);
    let [low, high] = [0, this.kept.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compare(readId(this.kept[middle]?.id ?? ''), wanted);
      if (order < 0 || (inclusive && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function pageOf(entries: readonly AuditEntry[], { hasMore }: { readonly hasMore: boolean }): AuditPage {
  const last = entries.at(-1);
  return { entries, ...(hasMore && last && { next: last.id }) };
}

function readId(id: string): AuditId {
  const [ms = 0, number = 0] = id.split('-').map(Number);
  return [ms, number];
}

function compare([ms, number]: AuditId, [otherMs, otherNumber]: AuditId): number {
  return ms - otherMs || number - otherNumber;
}
