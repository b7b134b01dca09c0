/** Warns of fields of a limit that have no effect. */

import { ALGORITHMS, CALENDAR_ALGORITHM, TRAITS, type Algorithm } from '../../domain/algorithm/algorithms';
import { canHaveLeases } from '../../domain/decide/lease';
import { isCalendarUnit } from '../../domain/descriptor/calendar';
import type { RateLimit } from '../../domain/rule/limit';
import type { LimitedSpec } from './read/read-limits';
import { joinPath } from '../../lib/quote';

export interface LimitWarningsOptions {
  /** The limit compiled from the spec. */
  readonly limit: RateLimit;
  /** For limits without `algorithm`. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`. */
  readonly calendarMonth: boolean;
}

const WITH_BURST: readonly Algorithm[] = ALGORITHMS.filter((name) => TRAITS[name].burst !== undefined);

export function warnOfLimit(spec: LimitedSpec, options: LimitWarningsOptions): void {
  const { limit, calendarMonth } = options;
  const { problems, fields } = spec;
  const { algorithm } = limit;
  const warn = (field: string, { offset }: { readonly offset: number }, message: string) => {
    problems.warn({ offset, path: joinPath(spec.path, field), message });
  };
  if (!spec.givesRequestsPerUnit) {
    const message = 'is missing, which counts as 0: every hit is over the limit; give it a number';
    problems.warn({ rule: 'missing-requests-per-unit', offset: spec.offset, path: joinPath(spec.path, 'requests_per_unit'), message });
  }
  if (fields.burst !== undefined && !WITH_BURST.includes(algorithm)) {
    warn('burst', fields.burst, `has no effect under ${algorithm}; it is for ${WITH_BURST.join(' and ')}`);
  }
  const isCalendar = fields.calendar?.value === true;
  if (fields.calendar !== undefined && isCalendar && limit.calendar === undefined) {
    warn('calendar', fields.calendar, explainCalendar(spec, options));
  }
  if (fields.timeZone !== undefined && !isCalendar) {
    warn('time_zone', fields.timeZone, 'has no effect without calendar: true');
  }
  if (fields.overdraftMax !== undefined && limit.overdraft === undefined) {
    warn('overdraft_max', fields.overdraftMax, 'has no effect without overdraft: true');
  }
  if (fields.leases?.value === 'auto' && !canHaveLeases(limit)) {
    warn('leases', fields.leases, `has no effect; it is for ${CALENDAR_ALGORITHM} with a window of at least 10 seconds`);
  }
  if (calendarMonth && limit.unit === 'month' && TRAITS[algorithm].restores !== 'at-window-end') {
    warn('unit', spec.unit, `is 30 days under ${algorithm}; USE_CALENDAR_MONTH_RATE_LIMIT is for ${CALENDAR_ALGORITHM} alone`);
  }
}

/** Why `calendar: true` had no effect on the windows. */
function explainCalendar({ fields: { algorithm: own } }: LimitedSpec, { limit, defaultAlgorithm }: LimitWarningsOptions): string {
  const { algorithm, unit } = limit;
  if (isCalendarUnit(unit)) return `has no effect under ${algorithm}; it is for ${CALENDAR_ALGORITHM}`;
  const why = `every calendar has the same ${unit}s`;
  // Without `calendar` the limit would use the default algorithm, so the field has an effect, though not the intended one.
  if (own === undefined && defaultAlgorithm !== algorithm) {
    return `only makes the limit a ${CALENDAR_ALGORITHM}, because ${why}; write algorithm: ${CALENDAR_ALGORITHM}`;
  }
  return `has no effect, because ${why}; remove it`;
}
