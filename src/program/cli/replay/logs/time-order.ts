/** Puts requests in the order of their times, as far as a window of time allows. */

import type { LogEvent } from '../event/log-event';

/** Most requests that are held back, and most bytes of their lines. */
const HELD_MAX = 131_072;
const HELD_BYTES_MAX = 64 * 1024 * 1024;

/** A single line that is that much ahead of those before is more likely wrong than all after it, unless as many as these agree with it. */
const JUMP_US = 3_600_000_000;
const AHEAD_MAX = 100;

/** Whether a comes before b. */
function isBefore(a: LogEvent, b: LogEvent): boolean {
  return a.timeUs < b.timeUs || (a.timeUs === b.timeUs && a.number < b.number);
}

/**
 * Logs are almost in order, so requests that come in order wait in a queue, which costs nothing; only the others need a heap.
 */
export class TimeOrder {
  private queue: LogEvent[] = [];
  private head = 0;
  private readonly heap: LogEvent[] = [];
  private bytes = 0;
  private numbers = 0;
  private latestUs = -Infinity;
  /** Requests in a row that are far ahead. */
  private ahead = 0;
  /** The time of the request that was released last. */
  releasedUs = -Infinity;

  constructor(private readonly windowUs: number) {}

  get size(): number {
    return this.queue.length - this.head + this.heap.length;
  }

  /** Adds a request that is not from before those that were released. */
  add(event: LogEvent): void {
    const { timeUs } = event;
    this.numbers += 1;
    event.number = this.numbers;
    this.bytes += event.bytes;
    const isJump = timeUs > this.latestUs + JUMP_US && this.latestUs > 0 && this.ahead < AHEAD_MAX;
    this.ahead = isJump ? this.ahead + 1 : 0;
    if (timeUs >= this.latestUs && !isJump) {
      this.latestUs = timeUs;
      this.queue.push(event);
    } else this.push(event);
  }

  /** The next request in order, once the window has passed it; at the end without waiting. */
  release(isEnd = false): LogEvent | undefined {
    const first = this.queue[this.head];
    const top = this.heap[0];
    const next = first === undefined || (top !== undefined && isBefore(top, first)) ? top : first;
    if (next === undefined) return undefined;
    const isDue = next.timeUs <= this.latestUs - this.windowUs || this.size > HELD_MAX || this.bytes > HELD_BYTES_MAX;
    if (!isDue && !isEnd) return undefined;
    if (next === first) this.shift();
    else this.pop();
    this.bytes -= next.bytes;
    this.releasedUs = next.timeUs;
    return next;
  }

  private shift(): void {
    this.head += 1;
    if (this.head < 1_024 || 2 * this.head < this.queue.length) return;
    this.queue = this.queue.slice(this.head);
    this.head = 0;
  }

  private push(held: LogEvent): void {
    const { heap } = this;
    let place = heap.push(held) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(held, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = held;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (let child = 1; child < heap.length; child = 2 * place + 1) {
      const right = heap[child + 1];
      let least = heap[child];
      if (right !== undefined && least !== undefined && isBefore(right, least)) {
        least = right;
        child += 1;
      }
      if (least === undefined || !isBefore(least, last)) break;
      heap[place] = least;
      place = child;
    }
    heap[place] = last;
  }
}
