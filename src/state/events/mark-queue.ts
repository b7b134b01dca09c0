/** The marks of this process that are not in the outbox yet: bounded, and sent in batches off the path of requests. */

import { MARKS_MAX, type Mark, type MarkOutcome, type MarkResult, type Outbox, type OutboxFacts } from './outbox';

/** Bounds of the queue. */
export const QUEUE_MARKS_MAX = 2_000;
export const QUEUE_BYTES_MAX = 2 * 1024 * 1024;

/** Interval between two batches, in milliseconds. */
const FLUSH_MS = 200;

/** The same while the outbox is full or the store is away. */
const PAUSE_MS = 2_000;

/** Batches that a process that ends still sends. */
const LAST_BATCHES = QUEUE_MARKS_MAX / MARKS_MAX;

export type QueueOutcome = MarkOutcome | 'queued' | 'queue_full';

export interface MarkQueueParts {
  readonly outbox: Pick<Outbox, 'add'>;
  /** Called with every outcome of a mark. */
  readonly onOutcome: (outcome: QueueOutcome) => void;
  readonly onFacts: (facts: OutboxFacts) => void;
  /** Called if the store failed; the marks stay in the queue. */
  readonly onError: (error: unknown) => void;
}

/** Called with the result of a mark; undefined: it may be tried again, because the outbox was full. */
export type Marked = (result: MarkResult | undefined) => void;

interface Waiting {
  readonly mark: Mark;
  readonly bytes: number;
  readonly marked: Marked;
}

export class MarkQueue {
  /** By the key of the mark, oldest first. */
  private readonly waiting = new Map<string, Waiting>();
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<boolean> | undefined;
  private isStopped = false;

  constructor(private readonly parts: MarkQueueParts) {}

  get size(): number {
    return this.waiting.size;
  }

  start(): void {
    this.schedule(FLUSH_MS);
  }

  /** Sends what is left, as far as the store answers. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.flushing;
    for (let batch = 0; batch < LAST_BATCHES && this.waiting.size > 0; batch += 1) if (!(await this.flush())) return;
  }

  /** False: the queue is full, and the mark is counted as lost unless it is tried again. */
  add(mark: Mark, marked: Marked = ignore): boolean {
    if (this.waiting.has(mark.key)) return true;
    const bytes = Buffer.byteLength(mark.text) + mark.key.length + mark.id.length;
    if (this.waiting.size >= QUEUE_MARKS_MAX || this.bytes + bytes > QUEUE_BYTES_MAX) {
      this.parts.onOutcome('queue_full');
      return false;
    }
    this.waiting.set(mark.key, { mark, bytes, marked });
    this.bytes += bytes;
    this.parts.onOutcome('queued');
    return true;
  }

  /** Sends one batch; it never rejects. False: the next one should wait. */
  async flush(): Promise<boolean> {
    const batch: Waiting[] = [];
    for (const each of this.waiting.values()) {
      if (batch.length === MARKS_MAX) break;
      batch.push(each);
    }
    if (batch.length === 0) return true;
    try {
      const answer = await this.parts.outbox.add(batch.map(({ mark }) => mark));
      this.parts.onFacts(answer);
      let isFull = false;
      batch.forEach((each, i) => {
        const result = answer.results[i];
        if (result === undefined) return;
        this.waiting.delete(each.mark.key);
        this.bytes -= each.bytes;
        if (result.outcome === 'full') isFull = true;
        this.parts.onOutcome(result.outcome);
        each.marked(result.outcome === 'full' ? undefined : result);
      });
      return !isFull;
    } catch (error) {
      this.parts.onError(error);
      return false;
    }
  }

  private schedule(waitMs: number): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      this.flushing = this.flush();
      void this.flushing.then((goesOn) => {
        this.schedule(goesOn ? FLUSH_MS : PAUSE_MS);
      });
    }, waitMs).unref();
  }
}

function ignore(): void {
  // Nobody waits for the result.
}
