/** The units of time of a limit. */

import { US_PER_S } from '../../lib/time-units';

/** In the spelling of YAML; the wire has the same names in capitals. */
export const TIME_UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const;

export type TimeUnit = (typeof TIME_UNITS)[number];

/** `total`: hits for all time, which the wire has no name for. */
export const UNIT_NAMES = [...TIME_UNITS, 'total'] as const;

export type UnitName = (typeof UNIT_NAMES)[number];

const DAY_US = 86_400 * US_PER_S;

const YEAR_US = 365 * DAY_US;

/** 100 years: the longest window, and the longest time to full, that a limit may have. */
export const WINDOW_US_MAX = 100 * YEAR_US;

/** Length of each unit in microseconds; a month is 30 days and a year 365, as Envoy's headers count them. `total` is shown as 100 years. */
export const UNIT_US: Readonly<Record<UnitName, number>> = {
  second: US_PER_S,
  minute: 60 * US_PER_S,
  hour: 3600 * US_PER_S,
  day: DAY_US,
  week: 7 * DAY_US,
  month: 30 * DAY_US,
  year: YEAR_US,
  total: WINDOW_US_MAX,
};
