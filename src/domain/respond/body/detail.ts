/** Says in one sentence or two why a request is denied, and when it would pass. */

import { isRateLimit, type Limit } from '../../rule/limit';
import { toText } from '../../descriptor/byte-string';
import { show } from '../../../lib/quote';
import type { Refusal } from '../../descriptor/admission';
import type { Denial } from '../decided/denials';
import { retryAfterS } from '../decided/wait';

export interface ExplainDenialInput {
  readonly denial: Denial;
  /** The name of its limit for clients. */
  readonly name: string;
  /** The wait for all denials together; undefined: no wait helps. */
  readonly waitUs: number | undefined;
}

export function explainDenial({ denial, name, waitUs }: ExplainDenialInput): string {
  const advice = waitUs === undefined ? 'A retry will not help.' : `Retry in ${retryAfterS(waitUs)} s.`;
  return `${reasonOf(denial, name)} ${advice}`;
}

function reasonOf({ match, status, limit }: Denial, name: string): string {
  if (match.block?.refusal !== undefined) return refusalText(match.block.refusal);
  if (match.block !== undefined) return 'These requests are blocked.';
  if (limit.capacity === 0) return `The limit "${name}" allows no requests.`;
  if (limit.unit === 'total') return `The budget "${name}" of ${limit.requestsPerUnit} in total does not cover the request.`;
  if (status.neverFits === true) return `The request is larger than the limit "${name}" ever allows, which is ${limit.capacity} at once.`;
  if (!isRateLimit(limit)) return `The limit "${name}" allows ${limit.capacity} requests at the same time.`;
  return `The limit "${name}" allows ${limit.requestsPerUnit} per ${windowOf(limit)}.`;
}

/** Keys of entries are names of the configuration, as those of limits are. */
function refusalText({ key }: Refusal): string {
  return key === undefined ? 'No limit covers this request.' : `The request lacks ${show(toText(key))}, which is required.`;
}

function windowOf({ unit, unitMultiplier }: Limit): string {
  return unitMultiplier === 1 ? unit : `${unitMultiplier} ${unit}s`;
}
