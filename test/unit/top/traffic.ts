/** Decided requests for tests of top keys, and the exact counts beside them. */

import type { Entry } from '../../../src/domain/descriptor/descriptor';
import { isLimitProblem, makeLimit, type Limit } from '../../../src/domain/rule/limit';
import type { Rule } from '../../../src/domain/rule/rule';
import type { Counted } from '../../../src/state/top/count-decision';

const CAPACITY = 100;

export const LIMIT = limitOf();

function limitOf(): Limit {
  const made = makeLimit({ requestsPerUnit: CAPACITY, unit: 'minute', algorithm: 'token_bucket', name: 'per-key' });
  if (isLimitProblem(made)) throw new Error(made.message);
  return made;
}

export function ruleOf(path: readonly string[]): Rule {
  return {
    path,
    limits: [LIMIT],
    unlimited: false,
    name: '',
    replaces: [],
    shadowMode: false,
    quotaMode: false,
    detailedMetric: false,
    valueToMetric: [],
    shareThreshold: [],
  };
}

export interface DecidedInput {
  readonly domain?: string;
  readonly rule: Rule;
  readonly entries: readonly Entry[];
  readonly hits?: number;
  readonly denied?: boolean;
  readonly remaining?: number;
  /** Whether the request was seen before. */
  readonly recurs?: boolean;
}

/** A request with one descriptor, and what was decided. */
export function decidedOf({
  domain = 'shop',
  rule,
  entries,
  hits = 1,
  denied = false,
  remaining = CAPACITY,
  recurs = false,
}: DecidedInput): Counted {
  const code = denied ? 'OVER_LIMIT' : 'OK';
  return {
    request: { ...(recurs && { recurs: true as const }), domain, descriptors: [{ entries }], hits },
    matched: {
      domainFound: true,
      matches: [{ limits: rule.limits, unlimited: false, mode: 'enforced', quotaAlwaysFits: false, path: rule.path, rule }],
    },
    decision: {
      overallCode: code,
      statuses: [{ code, currentLimit: LIMIT, limitRemaining: remaining, fits: !denied, denies: denied, durationUntilResetUs: 1 }],
    },
  };
}
