/** Warns of metrics with values that callers choose: each value is a series. */

import type { DescriptorSpec } from '../read/read-file';
import { joinPath } from '../../../lib/quote';
import type { Declared, DeclaredLevel } from './declared-level';

const MESSAGE =
  'creates a metric series for each value that callers send, up to half of METRIC_SERIES_MAX; further values count as other; configure the values that matter, or remove it';

export function warnOfUnboundedMetric({ spec }: Declared, { above }: Pick<DeclaredLevel, 'above'>): void {
  const warn = (field: string) => {
    spec.problems.warn({ rule: 'unbounded-metric', offset: spec.offset, path: joinPath(spec.path, field), message: MESSAGE });
  };
  if (spec.valueToMetric && isOpen(spec)) warn('value_to_metric');
  // `detailed_metric` shows the values of the whole path, but only where a limit is counted.
  if (
    spec.detailedMetric &&
    (spec.limits.length > 0 || spec.inFlight !== undefined || spec.fields.tenant?.value === true) &&
    [...above, spec].some((each) => isOpen(each) || each.key.includes('*'))
  )
    warn('detailed_metric');
}

/** Whether metrics would show values that are not in the configuration. */
function isOpen({ value, network, shareThreshold }: DescriptorSpec): boolean {
  return !shareThreshold && (value === '' || value.includes('*') || network !== undefined);
}
