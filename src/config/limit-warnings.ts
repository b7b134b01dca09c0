/** What a limit says to no effect: a warning each, since it counts all the same. */

import { isCalendarUnit } from '../rule/calendar';
import type { Algorithm, RateLimit } from '../rule/limit';
import type { LimitedSpec } from './limit-schema';
import { joinPath } from './show';

export interface LimitWarningsOptions {
  /** What was made of the spec. */
  readonly limit: RateLimit;
  /** What counts where the limit does not say. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`. */
  readonly calendarMonth: boolean;
}

const WITH_BURST: readonly Algorithm[] = ['token_bucket', 'leaky_bucket'];

export function warnOfLimit(spec: LimitedSpec, options: LimitWarningsOptions): void {
  const { limit, calendarMonth } = options;
  const { problems } = spec;
  const { algorithm } = limit;
  const warn = (field: string, { offset }: { readonly offset: number }, message: string) => {
    problems.warn({ offset, path: joinPath(spec.path, field), message });
  };
  if (!spec.givesRequestsPerUnit) {
    const message = 'is missing, which counts as 0: every hit is over the limit; give it a number';
    problems.warn({ rule: 'missing-requests-per-unit', offset: spec.offset, path: joinPath(spec.path, 'requests_per_unit'), message });
  }
  if (spec.burst !== undefined && !WITH_BURST.includes(algorithm)) {
    warn('burst', spec.burst, `has no effect under ${algorithm}; it is for ${WITH_BURST.join(' and ')}`);
  }
  const isCalendar = spec.calendar?.value === true;
  if (spec.calendar !== undefined && isCalendar && limit.calendar === undefined) {
    warn('calendar', spec.calendar, explainCalendar(spec, options));
  }
  if (spec.timeZone !== undefined && !isCalendar) {
    warn('time_zone', spec.timeZone, 'has no effect without calendar: true');
  }
  if (spec.overdraftMax !== undefined && limit.overdraft === undefined) {
    warn('overdraft_max', spec.overdraftMax, 'has no effect without overdraft: true');
  }
  if (calendarMonth && limit.unit === 'month' && algorithm !== 'fixed_window') {
    warn('unit', spec.unit, `is 30 days under ${algorithm}; USE_CALENDAR_MONTH_RATE_LIMIT is for fixed_window alone`);
  }
}

/** Why `calendar: true` made no calendar. */
function explainCalendar({ algorithm: own }: LimitedSpec, { limit, defaultAlgorithm }: LimitWarningsOptions): string {
  const { algorithm, unit } = limit;
  if (isCalendarUnit(unit)) return `has no effect under ${algorithm}; it is for fixed_window`;
  const why = `every calendar has the same ${unit}s`;
  // Without `calendar` the default algorithm would count: so it has an effect, though not the one that was meant.
  if (own === undefined && defaultAlgorithm !== algorithm) {
    return `only makes the limit a fixed_window, as ${why}; write algorithm: fixed_window`;
  }
  return `has no effect, as ${why}; remove it`;
}
