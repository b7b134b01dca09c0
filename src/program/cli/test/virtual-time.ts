/** Reads times of a test file: durations, and instants. */

import { US_PER_MS, US_PER_S } from '../../../lib/time-units';

const UNITS_US: ReadonlyMap<string, number> = new Map([
  ['us', 1],
  ['µs', 1],
  ['ms', US_PER_MS],
  ['s', US_PER_S],
  ['m', 60 * US_PER_S],
  ['h', 3_600 * US_PER_S],
  ['d', 86_400 * US_PER_S],
]);

const DURATION = /^(?:\d+(?:\.\d+)?(?:us|µs|ms|s|m|h|d))+$/;
const PART = /(\d+(?:\.\d+)?)(us|µs|ms|s|m|h|d)/g;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** `1m30s`, `100ms` or `2d` in microseconds; undefined: the text is not a duration. */
export function readDurationUs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!DURATION.test(text)) return undefined;
  let sumUs = 0;
  for (const [, number, unit = ''] of text.matchAll(PART)) sumUs += Number(number) * (UNITS_US.get(unit) ?? 0);
  return Number.isSafeInteger(Math.round(sumUs)) ? Math.round(sumUs) : undefined;
}

/** RFC 3339 with a zone, in microseconds since 1970; undefined: the text is not an instant. */
export function readInstantUs(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined;
  const ms = Date.parse(text.replace(/\.\d+/, ''));
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '';
  return Number.isNaN(ms) || ms < 0 ? undefined : ms * US_PER_MS + Number(fraction.padEnd(6, '0'));
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
