/** Reads a duration of a command line: a timeout, or how long something holds. */

import { duration } from '../../configuration/settings/table/setting-types';
import { UsageError } from './usage-error';

/** @throws UsageError */
export function readTimeoutMs(written: string, option = '--timeout'): number {
  const type = duration({ min: '1ms', max: '1h' });
  const parsed = type.parse(written);
  if (parsed !== undefined && 'value' in parsed) return parsed.value;
  throw new UsageError(`${option}: ${JSON.stringify(written)} is not accepted; use ${type.accepts}`);
}
