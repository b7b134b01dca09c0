/** Probes a server before Weir trusts it: its clock, keys of two slots in one script, atomic scripts, its name. */

import { monotonicNowMs } from '../../../lib/clock';
import { US_PER_S } from '../../../lib/time-units';
import { errorCodeOf } from './client/redis-errors';
import { slotOf } from './cluster-slots';
import type { Script } from './script-loader';

/** The findings about a server. */
export interface Engine {
  /** `redis`, `valkey`, `dragonfly`, `keydb`, `garnet` or `kvrocks`; `unknown`: the server does not show it. */
  readonly name: string;
  /** Empty: the server does not show it. */
  readonly version: string;
  /** The server refuses a script with keys of several slots, although it is one endpoint. */
  readonly separatesSlots: boolean;
}

export const UNKNOWN_ENGINE: Engine = { name: 'unknown', version: '', separatesSlots: false };

export interface EngineProbeOptions {
  readonly script: Script;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** A node of a Redis Cluster owns only some slots, so no key is named. */
  readonly isClusterNode: boolean;
}

/** Sends a command on the connection that is being opened. */
export type SendProbe = (command: readonly string[]) => Promise<unknown>;

/** 2020: a clock before it was never set, and the engines that answer a constant answer 0. */
const PLAUSIBLE_US = 1_577_836_800 * US_PER_S;

/** A clock of whole milliseconds shows the same time for two commands in a row. */
const CLOCK_STEP_MS = 20;

/** Longer texts of other servers are cut. */
const TEXT_CHARS_MAX = 32;

/** The fields of INFO that name an engine other than Redis, which all of them also claim to be. */
const ENGINE_FIELDS = [
  ['valkey', 'valkey_version'],
  ['dragonfly', 'dragonfly_version'],
  ['garnet', 'garnet_version'],
  ['kvrocks', 'kvrocks_version'],
  ['redis', 'redis_version'],
] as const;

/** Why Weir does not use a server. The text is a cause in the log: `no Redis at … (cause)`. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
}

/**
 * Sends three commands at once, and more only to an engine that is out of the ordinary. A server without the permissions that a
 * command needs is not refused for that: the calls that need them report it.
 *
 * @throws EngineRefusal if limits would not hold on the server
 */
export async function probeEngine(send: SendProbe, { script, keyPrefix, isClusterNode }: EngineProbeOptions): Promise<Engine> {
  const [one, other] = isClusterNode ? [] : probeKeys(keyPrefix);
  const run = async (...keys: readonly (string | undefined)[]) => {
    const named = keys.filter((key) => key !== undefined);
    const answer = await answerTo(send(['EVALSHA', script.sha, String(named.length), ...named]));
    // An engine may forget scripts at once.
    return errorCodeOf(answer) === 'NOSCRIPT' ? answerTo(send(['EVAL', script.text, String(named.length), ...named])) : answer;
  };
  const [first, second, info] = await Promise.all([run(one), run(one, other), answerTo(send(['INFO', 'server']))]);
  const { name, version } = engineOf(info);
  await checkClock({ first, again: () => run(one) });
  await checkAtomic(name, send);
  return { name, version, separatesSlots: isRefusedForSlots(second) };
}

/** Whether the server answered that the keys of a script are of several slots. */
export function isRefusedForSlots(answer: unknown): boolean {
  return answer instanceof Error && (errorCodeOf(answer) === 'CROSSSLOT' || /same slot/i.test(answer.message));
}

/** Two keys of different slots, among those that a user of Redis who only counts may use. No domain has `weir:` in its keys, because they escape the colon. */
export function probeKeys(keyPrefix: string): readonly [string, string] {
  const one = `${keyPrefix}1{weir:probe:1}`;
  // A prefix with a hash tag puts all keys into one slot; then no command of this Weir has keys of two.
  const other = [2, 3].map((n) => `${keyPrefix}1{weir:probe:${n}}`).find((key) => slotOf(key) !== slotOf(one));
  return [one, other ?? one];
}

/** The reply, or the error that the server answered. Rejects without an answer. */
async function answerTo(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
    return error;
  }
}

/** Buckets refill by this clock: at a constant time, a bucket that is empty stays empty. */
async function checkClock({ first, again }: { readonly first: unknown; readonly again: () => Promise<unknown> }): Promise<void> {
  if (typeof first !== 'number') return;
  if (first < PLAUSIBLE_US)
    throw new EngineRefusal(`TIME in its scripts is ${first / US_PER_S} s since 1970; limits need a real clock there`);
  const untilMs = monotonicNowMs() + CLOCK_STEP_MS;
  do {
    const now = await again();
    if (typeof now !== 'number' || now > first) return;
  } while (monotonicNowMs() < untilMs);
  throw new EngineRefusal(`TIME in its scripts does not advance (${first} us since 1970); limits need a clock there`);
}

/** Engines that can run scripts without their atomicity show the setting by CONFIG GET. */
async function checkAtomic(name: string, send: SendProbe): Promise<void> {
  if (name === 'dragonfly') {
    const flags = await configOf('default_lua_flags', send);
    if (flags?.includes('disable-atomicity') === true)
      throw new EngineRefusal('default_lua_flags has disable-atomicity, and without atomic scripts limits are exceeded; remove it');
  }
  if (name === 'garnet' && !isYes(await configOf('lua-transaction-mode', send)))
    throw new EngineRefusal(
      'Garnet does not show lua-transaction-mode, and without it scripts are not atomic and limits are exceeded; set it to true',
    );
}

function isYes(text: string | undefined): boolean {
  return text !== undefined && /^(?:yes|true|on|1)$/i.test(text);
}

async function configOf(name: string, send: SendProbe): Promise<string | undefined> {
  const answer = await answerTo(send(['CONFIG', 'GET', name]));
  const value: unknown = Array.isArray(answer) ? answer[1] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function engineOf(info: unknown): Pick<Engine, 'name' | 'version'> {
  if (typeof info !== 'string') return UNKNOWN_ENGINE;
  for (const [name, field] of ENGINE_FIELDS) {
    const version = new RegExp(`^${field}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
    if (version !== undefined)
      return { name: name === 'redis' && /keydb/i.test(info) ? 'keydb' : name, version: version.slice(0, TEXT_CHARS_MAX) };
  }
  return UNKNOWN_ENGINE;
}

/** Rounds of a measurement: the least of them is the engine's own, and not that of a busy moment. */
const WRITES = 3;

export interface WriteTime {
  /** Writes a key of Weir's own. */
  readonly write: () => Promise<unknown>;
  readonly ping: () => Promise<unknown>;
  readonly nowMs: () => number;
}

/** Time that a write adds to a round trip, in milliseconds, by the least of a few of both. */
export async function measureWrite({ write, ping, nowMs }: WriteTime): Promise<number> {
  const timeOf = async (ask: () => Promise<unknown>) => {
    const startedMs = nowMs();
    await ask();
    return nowMs() - startedMs;
  };
  let [leastWriteMs, leastPingMs] = [Infinity, Infinity];
  for (let i = 0; i < WRITES; i += 1) {
    leastPingMs = Math.min(leastPingMs, await timeOf(ping));
    leastWriteMs = Math.min(leastWriteMs, await timeOf(write));
  }
  return Math.max(0, leastWriteMs - leastPingMs);
}
