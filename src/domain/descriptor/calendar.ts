/** Calendar windows: days, weeks, months and years in a time zone. */

import { DateTime, IANAZone } from 'luxon';
import type { UnitName } from './unit';

/** The units whose calendar length varies. Seconds to hours do not depend on a calendar. */
const CALENDAR_UNITS = ['day', 'week', 'month', 'year'] as const;

export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

export interface Calendar {
  readonly unit: CalendarUnit;
  readonly unitMultiplier: number;
  /** An IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

export function isCalendarUnit(unit: UnitName): unit is CalendarUnit {
  return CALENDAR_UNITS.some((name) => name === unit);
}

export function isTimeZone(name: string): boolean {
  return IANAZone.isValidZone(name);
}

/**
 * The edges around a time, in microseconds since 1970: the start of the previous window, of the current one, of
 * the next one, and the end of that. Windows of several units are counted from 1970; weeks begin on Monday (ISO 8601). A day without
 * midnight begins with its first hour, and a day with two midnights at the first of them.
 */
export function calendarEdgesUs({ unit, unitMultiplier, timeZone }: Calendar, nowUs: number): readonly number[] {
  const now = DateTime.fromMillis(Math.floor(nowUs / 1000), { zone: timeZone });
  const first = now.startOf(unit);
  const unitsSince1970 = countUnits(first, unit);
  const start = first.minus({ [unit]: unitsSince1970 - Math.floor(unitsSince1970 / unitMultiplier) * unitMultiplier });
  return [-1, 0, 1, 2].map((windows) => beginUs(start.plus({ [unit]: windows * unitMultiplier }), unit));
}

/** The earlier midnight where a time zone has two, so that every time of that day gets the same edge. */
function beginUs(time: DateTime, unit: CalendarUnit): number {
  const midnight = time.startOf(unit);
  return Math.min(...midnight.getPossibleOffsets().map((each) => each.toMillis())) * 1000;
}

/** Calendar units from the one that contains 1970-01-01 to the one that begins at `start`. */
function countUnits(start: DateTime, unit: CalendarUnit): number {
  const days = Math.round(DateTime.utc(start.year, start.month, start.day).toMillis() / 86_400_000);
  switch (unit) {
    case 'day':
      return days;
    case 'week':
      // 1970-01-01 was a Thursday: its week began three days earlier.
      return (days + 3) / 7;
    case 'month':
      return (start.year - 1970) * 12 + start.month - 1;
    case 'year':
      return start.year - 1970;
  }
}
