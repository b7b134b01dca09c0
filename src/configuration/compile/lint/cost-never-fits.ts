/** Warns of limits that hold fewer hits at once than a request costs, so that no request passes. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import type { Limit } from '../../../domain/rule/limit';
import { reservedHits, type Reserve } from '../../../domain/rule/reserve/reserve';
import { joinPath } from '../../../lib/quote';
import type { DeclaredLimit } from './declared-level';

export interface CostOptions {
  /** The most hits of a request. */
  readonly cost: number;
  /** Absent: all requests are alike. */
  readonly reserve?: Reserve | undefined;
}

export function warnOfCost(limits: readonly DeclaredLimit[], { cost, reserve }: CostOptions): void {
  for (const { spec, limit } of limits) {
    const left = limit.capacity - reservedHits(limit.capacity, reserve?.keptFromOthers ?? 0);
    // A limit of 0 is deliberate.
    if (limit.requestsPerUnit === 0 || left >= cost) continue;
    const { field, offset } = culpritOf({ spec, limit });
    if (limit.capacity >= cost) {
      const message = `leaves ${left} hits to requests without a class, so one that costs ${cost} never passes; reserve a smaller part`;
      spec.problems.warn({ rule: 'cost-never-fits', offset, path: joinPath(spec.path, field), message });
      continue;
    }
    const message = `holds ${limit.capacity} hits at once, so a request that costs ${cost} never passes; ${adviceFor(limit, cost)}`;
    spec.problems.warn({ rule: 'cost-never-fits', offset, path: joinPath(spec.path, field), message });
  }
}

/** The field that sets the capacity. */
function culpritOf({ spec, limit }: DeclaredLimit): { field: string; offset: number } {
  const isBurst = TRAITS[limit.algorithm].burst?.isWholeCapacity === true || spec.fields.burst !== undefined;
  const at = isBurst ? spec.fields.burst : spec.fields.requestsPerUnit;
  return { field: isBurst ? 'burst' : 'requests_per_unit', offset: at?.offset ?? spec.offset };
}

function adviceFor({ algorithm }: Limit, cost: number): string {
  const { burst } = TRAITS[algorithm];
  return burst === undefined ? `set requests_per_unit to ${cost} or more` : `set burst to ${burst.forCapacity(cost)} or more`;
}
