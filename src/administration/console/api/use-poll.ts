/** Data of a page that are read again at an interval: not while the page is hidden, and less often while the API is away. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './problem';

export interface Polled<Data> {
  /** The last answer; undefined: there was none yet. */
  readonly data: Data | undefined;
  /** Why the last try failed; undefined: it did not. */
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  /** Reads now. */
  readonly again: () => void;
}

export interface PollOptions {
  /** Names all that the answer depends on: another key drops the answer. */
  readonly key: string;
  /** Absent: it is read once. */
  readonly everyMs?: number;
}

/** The longest wait between two tries, in milliseconds. */
const WAIT_MAX_MS = 30_000;

const WAIT_MIN_MS = 1_000;

export function usePoll<Data>(read: (signal: AbortSignal) => Promise<Data>, { key, everyMs }: PollOptions): Polled<Data> {
  const [state, setState] = useState<{ readonly key: string; readonly data?: Data; readonly error?: Error; readonly isLoading: boolean }>({
    key,
    isLoading: true,
  });
  const reader = useRef(read);
  reader.current = read;
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const next = (ms: number): void => {
      timer = setTimeout(() => void look(), ms);
    };
    const look = async (): Promise<void> => {
      if (document.hidden && everyMs !== undefined) return;
      try {
        const data = await reader.current(ended.signal);
        if (ended.signal.aborted) return;
        failures = 0;
        setState({ key, data, isLoading: false });
        if (everyMs !== undefined) next(everyMs);
      } catch (error) {
        if (ended.signal.aborted) return;
        const failure = error instanceof Error ? error : new Error(String(error));
        setState((known) => ({
          key,
          ...(known.key === key && known.data !== undefined && { data: known.data }),
          error: failure,
          isLoading: false,
        }));
        const isRetried = error instanceof ApiError && (error.failure === 'away' || error.failure === 'unavailable');
        failures += 1;
        if (isRetried) next(Math.min(WAIT_MAX_MS, WAIT_MIN_MS * 2 ** Math.min(failures, 5)));
      }
    };
    const onShown = (): void => {
      if (document.hidden) return;
      clearTimeout(timer);
      void look();
    };
    if (everyMs !== undefined) document.addEventListener('visibilitychange', onShown);
    void look();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [key, everyMs, tries]);
  const again = useCallback(() => {
    setTries((count) => count + 1);
  }, []);
  const isSame = state.key === key;
  return { data: isSame ? state.data : undefined, error: isSame ? state.error : undefined, isLoading: !isSame || state.isLoading, again };
}
