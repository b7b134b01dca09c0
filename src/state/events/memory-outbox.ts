/** The outbox in the memory of this process: of the embedded store, and of what an instance says about itself. */

import {
  LISTED_MAX,
  OUTBOX_BYTES_MAX,
  OUTBOX_EVENTS_MAX,
  type AddAnswer,
  type ClaimAnswer,
  type ClaimInput,
  type ListedEvent,
  type Mark,
  type MarkResult,
  type Outbox,
  type OutboxBounds,
  type OutboxEvent,
  type OutboxFacts,
  type OutboxList,
  type Settlement,
} from './outbox';

/** Marks that are kept: about 20 MB if full. Beyond this number the oldest is forgotten. */
const MARKS_KEPT_MAX = 100_000;

/** Marks that have ended are looked for among this many at each call. */
const SWEPT_AT_ONCE = 200;

interface Kept extends OutboxEvent {
  readonly bytes: number;
  dueMs: number;
  tries: number;
}

export interface MemoryOutboxOptions extends OutboxBounds {
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
}

export class MemoryOutbox implements Outbox {
  private readonly ends = new Map<string, number>();
  private sweep = this.ends.entries();
  /** By number, oldest first. */
  private readonly events = new Map<number, Kept>();
  private readonly ended = { delivered: [] as ListedEvent[], undelivered: [] as ListedEvent[] };
  private readonly counts = { delivered: 0, undelivered: 0 };
  private last = 0;
  private bytes = 0;
  private isNew = true;

  constructor(private readonly options: MemoryOutboxOptions) {}

  add(marks: readonly Mark[]): Promise<AddAnswer> {
    const nowMs = this.now();
    this.forgetEnded(nowMs);
    const results = marks.map((mark) => this.addOne(mark, nowMs));
    return Promise.resolve({ ...this.facts(nowMs), results });
  }

  claim({ max, leaseMs }: ClaimInput): Promise<ClaimAnswer> {
    const nowMs = this.now();
    const due = [...this.events]
      .filter(([, { dueMs }]) => dueMs <= nowMs)
      .sort(([, one], [, other]) => one.dueMs - other.dueMs)
      .slice(0, max);
    const claimed = due.map(([number, kept]) => {
      kept.dueMs = nowMs + leaseMs;
      kept.tries += 1;
      return { number, ...eventOf(kept) };
    });
    return Promise.resolve({ ...this.facts(nowMs), gone: 0, claimed });
  }

  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const nowMs = this.now();
    return Promise.resolve(settlements.map((each) => this.settleOne(each, nowMs)));
  }

  read(): Promise<OutboxList> {
    const waiting = Array.from(this.events.values(), (kept) => ({ atMs: kept.dueMs, ...eventOf(kept) }));
    const [oldest] = this.events.values();
    return Promise.resolve({
      events: this.events.size,
      ...(oldest && { oldestAtMs: oldest.appendedMs }),
      deliveredCount: this.counts.delivered,
      undeliveredCount: this.counts.undelivered,
      waiting: waiting.sort((one, other) => one.atMs - other.atMs).slice(0, LISTED_MAX),
      delivered: [...this.ended.delivered],
      undelivered: [...this.ended.undelivered],
    });
  }

  private addOne({ key, id, text, lateAfterMs, staysMs }: Mark, nowMs: number): MarkResult {
    const { eventsMax = OUTBOX_EVENTS_MAX, bytesMax = OUTBOX_BYTES_MAX } = this.options;
    const known = this.ends.get(key);
    if (known !== undefined && known > nowMs) return { outcome: 'known', endsMs: known };
    const endsMs = staysMs === undefined ? (lateAfterMs ?? Infinity) : nowMs + Math.max(1, Math.ceil(staysMs));
    if (lateAfterMs !== undefined && nowMs >= lateAfterMs) return { outcome: 'late', endsMs };
    const bytes = Buffer.byteLength(text);
    if (this.events.size >= eventsMax || this.bytes + bytes > bytesMax) return { outcome: 'full', endsMs };
    this.ends.delete(key);
    this.ends.set(key, endsMs);
    this.last += 1;
    this.bytes += bytes;
    const fullId = staysMs === undefined ? id : `${id}.${nowMs}`;
    this.events.set(this.last, { id: fullId, text, bytes, appendedMs: nowMs, dueMs: nowMs, tries: 0 });
    return { outcome: 'added', endsMs };
  }

  private settleOne({ number, ending, waitMs }: Settlement, nowMs: number): boolean {
    const kept = this.events.get(number);
    if (kept === undefined) return false;
    if (ending === 'again') {
      kept.dueMs = nowMs + Math.round(waitMs);
      return true;
    }
    this.events.delete(number);
    this.bytes -= kept.bytes;
    this.counts[ending] += 1;
    const list = this.ended[ending];
    list.unshift({ atMs: nowMs, ...eventOf(kept) });
    list.length = Math.min(list.length, LISTED_MAX);
    return true;
  }

  /** Looks at some marks, and goes on where it was at the next call. */
  private forgetEnded(nowMs: number): void {
    for (let seen = 0; seen < SWEPT_AT_ONCE || this.ends.size > MARKS_KEPT_MAX; seen += 1) {
      const next = this.sweep.next();
      if (next.done === true) {
        this.sweep = this.ends.entries();
        if (this.ends.size <= MARKS_KEPT_MAX) return;
        continue;
      }
      const [key, endsMs] = next.value;
      if (endsMs <= nowMs || this.ends.size > MARKS_KEPT_MAX) this.ends.delete(key);
    }
  }

  private facts(nowMs: number): OutboxFacts {
    const [oldest] = this.events.values();
    const { isNew } = this;
    this.isNew = false;
    return { nowMs, isNew, events: this.events.size, oldestMs: oldest === undefined ? 0 : Math.max(0, nowMs - oldest.appendedMs) };
  }

  private now(): number {
    return Math.floor(this.options.nowMs());
  }
}

function eventOf({ id, text, appendedMs, tries }: Kept): OutboxEvent {
  return { id, text, appendedMs, tries };
}
