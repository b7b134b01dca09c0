/** Lets signals interrupt long tests, and shows how far they are. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicNowMs } from '../../../lib/clock';

/** Requests in one turn of the event loop: some milliseconds. */
const TURN_REQUESTS = 1_000;

/** Shorter runs show no progress. */
const QUIET_MS = 500;

const SHOWN_EVERY_MS = 100;

const CLEAR_LINE = '\r\u001b[K';

/** A terminal, which shows a line that is written again and again. */
export interface ProgressTerminal {
  write(text: string): unknown;
}

export interface PaceOptions {
  readonly tests: number;
  /** Absent: no progress is shown. */
  readonly terminal?: ProgressTerminal | undefined;
  readonly nowMs?: () => number;
}

export class Pace {
  private requests = 0;
  private ended = 0;
  private failed = 0;
  private shownMs: number;
  private isShown = false;
  private readonly nowMs: () => number;

  constructor(private readonly options: PaceOptions = { tests: 0 }) {
    this.nowMs = options.nowMs ?? monotonicNowMs;
    this.shownMs = this.nowMs() + QUIET_MS - SHOWN_EVERY_MS;
  }

  /** Counts a request; true: `endTurn` is due. */
  isTurnOver(): boolean {
    this.requests += 1;
    return this.requests % TURN_REQUESTS === 0;
  }

  async endTurn(): Promise<void> {
    this.show();
    await nextTurn();
  }

  endTest({ failed }: { readonly failed: boolean }): void {
    this.ended += 1;
    if (failed) this.failed += 1;
    this.show();
  }

  /** Removes the line. */
  end(): void {
    if (this.isShown) this.options.terminal?.write(CLEAR_LINE);
    this.isShown = false;
  }

  private show(): void {
    const { terminal, tests } = this.options;
    if (terminal === undefined) return;
    const nowMs = this.nowMs();
    if (nowMs - this.shownMs < SHOWN_EVERY_MS) return;
    this.shownMs = nowMs;
    this.isShown = true;
    terminal.write(`${CLEAR_LINE}${this.ended} of ${tests} tests, ${this.failed} failed, ${this.requests} requests`);
  }
}
