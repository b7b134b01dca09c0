/** Warns of metrics that show values which callers choose: each value is a series of its own. */

import type { DescriptorSpec } from '../schema';
import { joinPath } from '../show';
import type { Declared, DeclaredLevel } from './declared-level';

const MESSAGE =
  'makes a series of metrics of each value that callers send, up to half of METRIC_SERIES_MAX; those beyond it count as other; configure the values that matter, or remove it';

export function warnOfUnboundedMetric({ spec }: Declared, { above }: Pick<DeclaredLevel, 'above'>): void {
  const warn = (field: string) => {
    spec.problems.warn({ rule: 'unbounded-metric', offset: spec.offset, path: joinPath(spec.path, field), message: MESSAGE });
  };
  if (spec.valueToMetric && isOpen(spec)) warn('value_to_metric');
  // It shows the values of the whole path, but only where there is a limit to count.
  if (spec.detailedMetric && (spec.limits.length > 0 || spec.inFlight !== undefined) && [...above, spec].some((each) => isOpen(each) || each.key.includes('*'))) warn('detailed_metric');
}

/** Whether metrics would show values that the configuration does not name. */
function isOpen({ value, shareThreshold }: DescriptorSpec): boolean {
  return !shareThreshold && (value === '' || value.includes('*'));
}
