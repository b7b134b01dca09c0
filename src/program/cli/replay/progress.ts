/** Shows how far a replay is, and how long it will take. */

import { stat } from 'node:fs/promises';
import { monotonicNowMs } from '../../../lib/clock';

/** Between two lines. */
const EVERY_MS = 500;

export interface ProgressOptions {
  readonly logs: readonly string[];
  readonly isShown: boolean;
}

export class Progress {
  private readonly startedMs = monotonicNowMs();
  private shownMs = monotonicNowMs();
  private hasShown = false;

  private constructor(
    /** Undefined: standard input is among the logs. */
    private readonly totalBytes: number | undefined,
    private readonly isShown: boolean,
  ) {}

  static async start({ logs, isShown }: ProgressOptions): Promise<Progress> {
    const sizes = await Promise.all(logs.map(sizeOf));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    return new Progress(total > 0 ? total : undefined, isShown);
  }

  readonly show = (bytes: number, requests: number): void => {
    const nowMs = monotonicNowMs();
    if (!this.isShown || nowMs - this.shownMs < EVERY_MS) return;
    this.shownMs = nowMs;
    this.hasShown = true;
    process.stderr.write(
      `${process.stderr.isTTY ? '\r\x1b[K' : ''}${this.text(bytes, requests, nowMs)}${process.stderr.isTTY ? '' : '\n'}`,
    );
  };

  end(): void {
    if (this.hasShown && process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  private text(bytes: number, requests: number, nowMs: number): string {
    const passedS = (nowMs - this.startedMs) / 1_000;
    const done = `${requests.toLocaleString('en-US')} requests, ${Math.round(requests / passedS).toLocaleString('en-US')} a second`;
    if (this.totalBytes === undefined || bytes === 0) return done;
    const part = Math.min(1, bytes / this.totalBytes);
    const leftS = Math.round((passedS / part) * (1 - part));
    return `${Math.floor(part * 100)} %, ${done}, ${Math.floor(leftS / 60)}:${String(leftS % 60).padStart(2, '0')} left`;
  }
}

/** NaN: nobody knows it before the end. */
async function sizeOf(log: string): Promise<number> {
  try {
    const stats = await stat(log);
    return stats.isFile() ? stats.size : NaN;
  } catch {
    return NaN;
  }
}
