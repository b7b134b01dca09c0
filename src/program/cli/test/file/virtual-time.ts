/** Reads times of a test file: durations, and instants. */

import { US_PER_MS, US_PER_S } from '../../../../lib/time-units';

const UNITS_US: ReadonlyMap<string, number> = new Map([
  ['us', 1],
  ['µs', 1],
  ['ms', US_PER_MS],
  ['s', US_PER_S],
  ['m', 60 * US_PER_S],
  ['h', 3_600 * US_PER_S],
  ['d', 86_400 * US_PER_S],
]);

/** 2150-01-01T00:00:00Z: with the longest window behind it every time is an exact integer. */
export const TIME_US_MAX = Date.UTC(2150, 0, 1) * US_PER_MS;

/** The same in a JSON Schema. */
export const DURATION_PATTERN = '^(?:0|(?:\\d{1,15}(?:\\.\\d{1,9})?(?:us|µs|ms|s|m|h|d)){1,6})$';
export const INSTANT_PATTERN = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d{1,6})?)?(?:Z|[+-]\\d\\d:\\d\\d)$';

const DURATION = new RegExp(DURATION_PATTERN);
const INSTANT = new RegExp(INSTANT_PATTERN);
const PART = /(\d+(?:\.\d+)?)(us|µs|ms|s|m|h|d)/g;

/** `1m30s`, `100ms` or `2d` in microseconds; undefined: the text is not a duration. */
export function readDurationUs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let sumUs = 0;
  for (const [, number, unit = ''] of text.matchAll(PART)) sumUs += Number(number) * (UNITS_US.get(unit) ?? 0);
  return sumUs > TIME_US_MAX ? undefined : Math.round(sumUs);
}

/** RFC 3339 with a zone, in microseconds since 1970; undefined: the text is not an instant, or one before 1970 or after 2150. */
export function readInstantUs(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined;
  const [day = '', time = ''] = text.replace(/\.\d+/, '').split('T');
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  // The parser takes February 30 for March 2.
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(day)) return undefined;
  const ms = Date.parse(`${day}T${time}`);
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '';
  const us = ms * US_PER_MS + Number(fraction.padEnd(6, '0'));
  return us >= 0 && us <= TIME_US_MAX ? us : undefined;
}

/** The shortest exact text of a duration: `90s`, `1500ms`. */
export function durationText(us: number): string {
  for (const [unit, factor] of [
    ['s', US_PER_S],
    ['ms', US_PER_MS],
  ] as const)
    if (us % factor === 0) return `${us / factor}${unit}`;
  return `${us}us`;
}
