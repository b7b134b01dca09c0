/** How tests wait for what other processes and sockets bring about: they look again and again, for a bounded time. */

import { setTimeout as pause } from 'node:timers/promises';
import { hangLimitMs } from './hang-limit';

/** At most a quarter of the time goes by looking: a condition may ask a server, and that takes processor time from it. */
const LOOK_MS = { min: 5, times: 3, max: 50 };

/** Rejects with the text of the condition if it has not come to hold in ten times of `timeoutMs`, which is that of a quiet machine. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { timeoutMs = 20_000 }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const limitMs = hangLimitMs(timeoutMs);
  const endMs = performance.now() + limitMs;
  for (;;) {
    const beginMs = performance.now();
    if (await holds()) return;
    const nowMs = performance.now();
    if (nowMs > endMs) throw new Error(`not within ${limitMs} ms: ${String(holds)}`);
    await pause(Math.min(Math.max(LOOK_MS.min, LOOK_MS.times * (nowMs - beginMs)), LOOK_MS.max));
  }
}
