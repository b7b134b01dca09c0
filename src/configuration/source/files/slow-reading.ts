/** Reports a configuration that takes long to read, such as a hanging network share or a pipe without a writer. */

import type { ConfigSource } from './config-files';

/** Time until a slow read of files is reported, in milliseconds. */
export const SLOW_MS = 5_000;

/** Like `SLOW_MS`, for a pipe or a device, which should have a writer ready. */
export const SLOW_PIPE_MS = 1_000;

export interface SlowReading {
  readonly source: ConfigSource;
  readonly slowMs: number;
  /** Receives a sentence for the operator, at most once. */
  readonly onTrouble: (sentence: string) => void;
}

export function reportedIfSlow<T>(reading: Promise<T>, { source, slowMs, onTrouble }: SlowReading): Promise<T> {
  const slow = setTimeout(() => {
    onTrouble(`still reading the configuration in ${source.kind === 'path' ? source.path : source.directory} after ${slowMs} ms`);
  }, slowMs).unref();
  return reading.finally(() => {
    clearTimeout(slow);
  });
}
