/** Whether the settings ask for a part of the process that most do without, so that its code is loaded only then. */

import type { Settings } from './table/settings';

/** Operators may change something at run time. */
export function asksForControl({ controlData, controlFile, adminPort }: Settings): boolean {
  return controlData || controlFile !== undefined || adminPort !== undefined;
}

/** Somebody may read the top keys. */
export function asksForTop({ topKeys, metricTopKeys, adminPort }: Settings): boolean {
  return topKeys || metricTopKeys > 0 || adminPort !== undefined;
}
