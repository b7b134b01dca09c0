/** Decisions for tests of event lines: a limit with lines, and the verdicts on it. */

import { createHash } from 'node:crypto';
import type { Verdict } from '../../../src/domain/bucket/take';
import { NOTHING_TAKEN } from '../../../src/domain/decide/to-decision';
import type { Entry } from '../../../src/domain/descriptor/descriptor';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import type { Limit, LimitSpec } from '../../../src/domain/rule/limit';
import type { EventPrivacy } from '../../../src/state/events/event-text';
import { limitOf, ruleOf } from '../decisions/rules';

/** Nothing is hashed. */
export const CLEAR: EventPrivacy = {
  hashes: false,
  value: (_key, value) => value,
  level: (level) => level,
  digest: (text) => createHash('sha256').update(text).digest('base64url').slice(0, 22),
};

export function limitWith(percents: readonly number[], spec: Partial<LimitSpec> = {}): Limit {
  return {
    ...limitOf({ requestsPerUnit: 100, unit: 'hour', algorithm: 'fixed_window', ...spec }),
    events: percents.map((percent) => ({ at: percent * 10_000 })),
  };
}

export interface Decided {
  readonly limit: Limit;
  readonly used: number;
  readonly nowUs: number;
  readonly entries?: readonly Entry[];
  readonly resetAfterUs?: number;
  readonly more?: object;
}

/** A decision after which the bucket has `used` hits used; by default its window is one of the clock. */
export function decidedOf({ limit, used, nowUs, entries = [{ key: 'k', value: 'v' }], resetAfterUs, more }: Decided): DecidedRequest {
  const verdict: Verdict = {
    fits: used <= limit.capacity,
    remaining: Math.max(0, limit.capacity - used),
    retryAfterUs: 0,
    resetAfterUs: resetAfterUs ?? limit.windowUs - (nowUs % limit.windowUs),
  };
  const match = {
    limits: [limit],
    unlimited: false,
    mode: 'enforced' as const,
    quotaAlwaysFits: false,
    path: ['k'],
    rule: ruleOf({ limits: [limit] }),
  };
  return {
    request: { domain: 'd', descriptors: [{ entries }], hits: 1 },
    matched: { domainFound: true, matches: [match] },
    verdict: { ...NOTHING_TAKEN, verdicts: [verdict], nowUs, ...more },
    decision: { overallCode: 'OK', statuses: [] },
  };
}
