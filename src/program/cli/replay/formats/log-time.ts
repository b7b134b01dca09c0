/** Reads the time of a log line, in microseconds since 1970. */

import { US_PER_MS, US_PER_S } from '../../../../lib/time-units';

const MONTHS: ReadonlyMap<string, number> = new Map(
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'].map((name, index) => [name, index + 1]),
);

const DAY_S = 86_400;
const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** 2200-01-01: the engines count microseconds exactly until then. */
const TIME_US_MAX = 7_258_118_400 * US_PER_S;

/** Larger numbers are in the next smaller unit. As seconds this is in the year 5138, as milliseconds in 1973. */
const SECONDS_MAX = 1e11;
const MILLISECONDS_MAX = 1e14;
const MICROSECONDS_MAX = 1e17;

const NUMBER = /^\d{1,20}(?:\.\d{1,9})?$/;
const ACCESS_LOG = /^(\d\d)\/([A-Z][a-z][a-z])\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/;
const ZERO = 48;

/** RFC 3339 with a zone, a number since 1970 in seconds, milliseconds, microseconds or nanoseconds, or the form of access logs. NaN: none of them. */
export function readTimeUs(text: string): number {
  const timeUs = text.charCodeAt(4) === 45 ? readRfc3339(text) : text.charCodeAt(2) === 47 ? readAccessLog(text) : readNumber(text);
  return timeUs >= 0 && timeUs < TIME_US_MAX ? timeUs : NaN;
}

function readNumber(text: string): number {
  if (!NUMBER.test(text)) return NaN;
  const number = Number(text);
  if (number < SECONDS_MAX) return Math.round(number * US_PER_S);
  if (number < MILLISECONDS_MAX) return Math.round(number * US_PER_MS);
  // Nanoseconds are more digits than a number has.
  return number < MICROSECONDS_MAX ? Math.round(number) : Number(text.replace(/\..*$/, '').slice(0, -3));
}

function readAccessLog(text: string): number {
  const [, day = '', month = '', year = '', hour, minute, second, sign, zoneHour, zoneMinute] = ACCESS_LOG.exec(text) ?? [];
  const zoneS = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60;
  return (
    secondsOf({
      year: Number(year),
      month: MONTHS.get(month) ?? NaN,
      day: Number(day),
      secondOfDay: secondOfDay(Number(hour), Number(minute), Number(second)) - (sign === '-' ? -zoneS : zoneS),
    }) * US_PER_S
  );
}

/** By characters, because most lines of most logs have such a time. */
function readRfc3339(text: string): number {
  const separator = text.charCodeAt(10);
  if (text.charCodeAt(7) !== 45 || text.charCodeAt(13) !== 58 || text.charCodeAt(16) !== 58) return NaN;
  if (separator !== 84 && separator !== 116 && separator !== 32) return NaN;
  const seconds = secondsOf({
    year: two(text, 0) * 100 + two(text, 2),
    month: two(text, 5),
    day: two(text, 8),
    secondOfDay: secondOfDay(two(text, 11), two(text, 14), two(text, 17)),
  });
  let at = 19;
  let us = 0;
  if (text.charCodeAt(at) === 46) {
    let unit = 100_000;
    for (at += 1; ; at += 1) {
      const digit = text.charCodeAt(at) - ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      us += digit * Math.floor(unit);
      unit /= 10;
    }
    if (at === 20) return NaN;
  }
  return (seconds - zoneOf(text, at)) * US_PER_S + us;
}

/** The offset of a zone from UTC in seconds. NaN: the text is not one zone. */
function zoneOf(text: string, at: number): number {
  const sign = text.charCodeAt(at);
  if (sign === 90 || sign === 122) return text.length === at + 1 ? 0 : NaN;
  if ((sign !== 43 && sign !== 45) || text.length !== at + 6 || text.charCodeAt(at + 3) !== 58) return NaN;
  const seconds = (two(text, at + 1) * 60 + two(text, at + 4)) * 60;
  return sign === 45 ? -seconds : seconds;
}

function two(text: string, at: number): number {
  const tens = text.charCodeAt(at) - ZERO;
  const ones = text.charCodeAt(at + 1) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

/** A leap second counts as the second after it. */
function secondOfDay(hour: number, minute: number, second: number): number {
  return hour <= 23 && minute <= 59 && second <= 60 ? (hour * 60 + minute) * 60 + second : NaN;
}

interface Moment {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly secondOfDay: number;
}

/** Days from the civil date by H. Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, so that the leap day is last. */
function secondsOf({ year, month, day, secondOfDay: ofDay }: Moment): number {
  if (!(day >= 1 && day <= (DAYS_OF_MONTH[month - 1] ?? 0))) return NaN;
  const inMarch = month <= 2 ? year - 1 : year;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const days = inMarch * 365 + Math.floor(inMarch / 4) - Math.floor(inMarch / 100) + Math.floor(inMarch / 400) + dayOfYear - 719_468;
  return days * DAY_S + ofDay;
}
