/** The scripts of `lua/` with a clock that the test sets: the scripts themselves are those that serve. */

import path from 'node:path';
import type { createClient } from '@redis/client';
import type { StoreScripts } from '../../../src/state/store/redis/redis-store';
import { loadScript, LUA_DIR, type Script } from '../../../src/state/store/redis/script-loader';

export function loadClockedScript(name: string): Script {
  return loadScript(name, { includeDirs: [path.join(__dirname, 'lua'), path.join(LUA_DIR, 'include')] });
}

export function loadClockedScripts(): StoreScripts {
  return { take: loadClockedScript('take'), adjust: loadClockedScript('adjust') };
}

/** Sets the clock of every clocked script on this Redis. */
export async function setClock(client: Pick<ReturnType<typeof createClient>, 'sendCommand'>, nowUs: number): Promise<void> {
  await client.sendCommand(['SET', 'test-clock-us', String(nowUs)]);
}
