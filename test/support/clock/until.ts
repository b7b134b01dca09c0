/** How tests wait for what other processes and sockets bring about: they look again and again, for a bounded time. */

import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 5;

/** Rejects with the text of the condition if it has not come to hold in time. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { timeoutMs = 20_000 }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${String(holds)}`);
    await pause(LOOK_MS);
  }
}
