/** The time of a decision. */

import { monotonicNowUs } from '../../../lib/clock';
import type { DecidedRequest } from './decided-request';

/** The store's clock, in microseconds since 1970; this process's, if a block denied the request without asking the store. */
export function serverTimeUs({ verdict }: Pick<DecidedRequest, 'verdict'>): number {
  return verdict.nowUs === 0 ? monotonicNowUs() : verdict.nowUs;
}
