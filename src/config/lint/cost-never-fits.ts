/** Warns of limits that hold fewer hits at once than a request costs, so that none ever passes. */

import type { Limit } from '../../rule/limit';
import { joinPath } from '../show';
import { limitsOf, type Declared, type DeclaredLimit } from './declared-level';

/** `cost`: the most hits that a request asks for. */
export function warnOfCost(declared: Declared, { cost }: { readonly cost: number }): void {
  for (const { spec, limit } of limitsOf(declared)) {
    // A limit of 0 says openly that nothing passes.
    if (limit.requestsPerUnit === 0 || limit.capacity >= cost) continue;
    const { field, offset } = culpritOf({ spec, limit });
    const message = `holds ${limit.capacity} at once, and a request that costs ${cost} never passes; ${adviceFor(limit, cost)}`;
    spec.problems.warn({ rule: 'cost-never-fits', offset, path: joinPath(spec.path, field), message });
  }
}

/** What says how much fits at once. */
function culpritOf({ spec, limit }: DeclaredLimit): { field: string; offset: number } {
  const isBurst = limit.algorithm === 'leaky_bucket' || spec.burst !== undefined;
  const at = isBurst ? spec.burst : spec.requestsPerUnit;
  return { field: isBurst ? 'burst' : 'requests_per_unit', offset: at?.offset ?? spec.offset };
}

function adviceFor({ algorithm }: Limit, cost: number): string {
  if (algorithm === 'token_bucket') return `set burst to ${cost} or more`;
  if (algorithm === 'leaky_bucket') return `set burst to ${cost - 1} or more`;
  return `set requests_per_unit to ${cost} or more`;
}
