/** How tests wait for what other processes and sockets bring about: they look again and again, for a bounded time. */

import { setTimeout as pause } from 'node:timers/promises';
import { hangLimitMs } from './hang-limit';

const LOOK_MS = 5;

/** Rejects with the text of the condition if it has not come to hold in ten times of `timeoutMs`, which is that of a quiet machine. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { timeoutMs = 20_000 }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const limitMs = hangLimitMs(timeoutMs);
  const endMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not within ${limitMs} ms: ${String(holds)}`);
    await pause(LOOK_MS);
  }
}
