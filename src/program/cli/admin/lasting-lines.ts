/** The lines of a stream that is opened again when it ends: the server ends every stream after some minutes, and a rollout ends them all. */

import { backoffMs } from '../../../lib/backoff';
import { AdminError } from './admin-error';

/** Tries without a line, one after the other, before the reader gives up: about a minute. */
export const TRIES_MAX = 10;

const WAIT = { firstMs: 250, maxMs: 10_000, factor: 2 };

export interface LastingLinesOptions {
  /** Opens the stream. */
  readonly open: () => AsyncIterable<string>;
  /** Ends the reading. */
  readonly signal: AbortSignal;
  /** Waits; it may end early when the signal is aborted. */
  readonly pause: (ms: number) => Promise<void>;
  /** Called before each wait with the reason. */
  readonly onPause: (reason: string, waitMs: number) => void;
}

/** Rejects with the AdminError of the first try, of a refusal that lasts, or of the last try. */
export async function* lastingLines({ open, signal, pause, onPause }: LastingLinesOptions): AsyncGenerator<string> {
  let wasOpen = false;
  let failures = 0;
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    let ended = new AdminError('the stream ended');
    try {
      for await (const line of open()) {
        wasOpen = true;
        failures = 0;
        yield line;
        // A reader that has enough gets no more of the lines that came with the last one.
        if (isOver()) return;
      }
    } catch (error) {
      if (!(error instanceof AdminError) || !wasOpen || error.isFinal) throw error;
      ended = error;
    }
    if (isOver()) return;
    if (failures >= TRIES_MAX) throw ended;
    const waitMs = backoffMs({ ...WAIT, failures, random: Math.random });
    failures += 1;
    onPause(ended.message, waitMs);
    await pause(waitMs);
  }
}
