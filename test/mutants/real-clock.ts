/** The check of the one clock that serves: the script's time lies between two readings of Redis's own. */

import { groupOf, take } from '../support/decisions/groups';
import { encodeTakes } from '../../src/state/store/redis/take-wire';
import type { Script } from '../../src/state/store/redis/script-loader';
import type { SendAll } from './kill-suite';

/** More than one look: in a first microsecond of a second, a wrong sign of the microseconds would not show. */
const LOOKS = 3;

export async function findClockFault(script: Script, sendAll: SendAll): Promise<string | undefined> {
  const { keys, args } = encodeTakes([groupOf([take('a', { hits: 0 })])]);
  for (let look = 0; look < LOOKS; look += 1) {
    const [before, reply, after] = await sendAll([['TIME'], ['EVALSHA', script.sha, String(keys.length), ...keys, ...args], ['TIME']]);
    if (reply instanceof Error) return `real clock: error ${reply.message.slice(0, 80)}`;
    const [nowUs] = reply as readonly number[];
    if (nowUs! < toUs(before) || nowUs! > toUs(after)) return 'real clock: not the time of Redis';
  }
  return undefined;
}

function toUs(time: unknown): number {
  const [seconds, micros] = (time as readonly unknown[]).map(Number);
  return seconds! * 1_000_000 + micros!;
}
