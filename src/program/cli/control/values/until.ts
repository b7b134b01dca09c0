/** Times on the command line: reads `--until` and `--since`, and shows times for people. */

import { UsageError } from '../../usage-error';

const S = 1_000;
const MINUTE = 60 * S;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNIT_MS: Readonly<Record<string, number>> = { w: 7 * DAY, d: DAY, h: HOUR, m: MINUTE, s: S };

const DURATION = /^(?:\d{1,9}[wdhms])+$/;

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Later ends are typing mistakes. */
const DAYS_MAX = 36_600;

/**
 * Reads `--until`: a time as in RFC 3339, or a duration from now.
 *
 * @returns the time in UTC
 * @throws UsageError
 */
export function readUntil(text: string, nowMs: number): string {
  const atMs = DURATION.test(text) ? nowMs + durationMs(text) : timeMs(text);
  const refuse = (fault: string): never => {
    throw new UsageError(`--until: ${JSON.stringify(text)} ${fault}`);
  };
  if (Number.isNaN(atMs)) refuse('is not accepted; write a duration such as 90m, 12h or 2d, or a time such as 2026-11-27T18:00:00Z');
  if (atMs <= nowMs) refuse('is not in the future; leave --until out for a record without an end');
  if (atMs > nowMs + DAYS_MAX * DAY) refuse(`is more than ${DAYS_MAX} days ahead; leave --until out for a record without an end`);
  return new Date(atMs).toISOString();
}

/**
 * Reads `--since`: a time as in RFC 3339, or a duration before now.
 *
 * @returns the time in UTC
 * @throws UsageError
 */
export function readSince(text: string, nowMs: number): string {
  const atMs = DURATION.test(text) ? nowMs - durationMs(text) : timeMs(text);
  if (!(atMs >= 0))
    throw new UsageError(
      `--since: ${JSON.stringify(text)} is not accepted; write a duration such as 90m, 12h or 2d, or a time such as 2026-11-27T18:00:00Z`,
    );
  return new Date(atMs).toISOString();
}

function durationMs(text: string): number {
  return Array.from(text.matchAll(/(\d+)([wdhms])/g), ([, count, unit = '']) => Number(count) * (UNIT_MS[unit] ?? NaN)).reduce(
    (sum, each) => sum + each,
    0,
  );
}

/** NaN: it is not a time. `Date` would take 31 February for 3 March. */
function timeMs(text: string): number {
  const [, day = ''] = ISO_TIME.exec(text) ?? [];
  const isDay = day !== '' && new Date(`${day}T00:00:00Z`).getTime() > 0 && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return isDay ? Date.parse(text) : NaN;
}

/** `2026-11-27T18:00:00Z (in 4d 6h)`: the time, and how far it is from now. */
export function showTime(iso: string, nowMs: number): string {
  const atMs = Date.parse(iso);
  if (Number.isNaN(atMs)) return iso;
  const short = shortTime(iso);
  if (Math.abs(atMs - nowMs) < S) return `${short} (now)`;
  return atMs >= nowMs ? `${short} (in ${showDuration(atMs - nowMs)})` : `${short} (${showDuration(nowMs - atMs)} ago)`;
}

/** Without fractions of a second. */
export function shortTime(iso: string): string {
  return iso.replace(/\.\d+Z$/, 'Z');
}

/** The two largest units. */
export function showDuration(durationInMs: number): string {
  if (durationInMs < S) return `${Math.ceil(durationInMs)}ms`;
  const parts: string[] = [];
  let restMs = durationInMs;
  for (const [unit, ms] of Object.entries(UNIT_MS)) {
    if (unit === 'w') continue;
    const count = Math.floor(restMs / ms);
    restMs -= count * ms;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}
