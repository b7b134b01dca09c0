/** `lua/take.lua` with a clock that the test sets: the script itself is the one that serves. */

import path from 'node:path';
import type { createClient } from 'redis';
import { loadScript, LUA_DIR, type Script } from '../../src/store/script-loader';

export function loadClockedScript(): Script {
  return loadScript('take', { includeDirs: [path.join(__dirname, 'lua'), path.join(LUA_DIR, 'include')] });
}

/** Sets the clock of every clocked script on this Redis. */
export async function setClock(client: Pick<ReturnType<typeof createClient>, 'sendCommand'>, nowUs: number): Promise<void> {
  await client.sendCommand(['SET', 'test-clock-us', String(nowUs)]);
}
