/** Match and key under one rule set: what a request is limited by and asks of the store, found out once if it comes again. */

import type { RateLimitRequest } from '../descriptor/descriptor';
import { matchRequest, type GlobalModes, type RequestMatch } from '../rule/match';
import type { RuleSet } from '../rule/rule-set';
import { KeyHeads } from './bucket-key';
import type { Group } from './take';
import { toGroup } from './to-group';

/** A request under its rules. */
export interface Prepared {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly group: Group;
}

export interface PreparationParts {
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** About when the store will decide. */
  readonly nowUs: () => number;
}

export class Preparation {
  readonly ruleSet: RuleSet;
  private readonly heads = new KeyHeads();
  /** What requests that recur were prepared to. A request that is not remembered elsewhere any more is let go of. */
  private readonly known = new WeakMap<RateLimitRequest, Prepared>();

  constructor(private readonly parts: PreparationParts) {
    this.ruleSet = parts.ruleSet;
  }

  /**
   * A request that recurs has the same group each time: a store that is asked many at once knows it by that.
   *
   * @throws BadRequestError if an override makes no limit
   */
  of(request: RateLimitRequest): Prepared {
    if (request.recurs !== true) return this.prepare(request);
    const known = this.known.get(request);
    if (known !== undefined) return known;
    const prepared = this.prepare(request);
    // The windows of a calendar move on, and the group names them.
    if (prepared.group.takes.every(({ limit }) => limit.edgesUs === undefined)) this.known.set(request, prepared);
    return prepared;
  }

  /** The group as it is at another time than now: only the windows of a calendar differ. */
  groupAt(request: RateLimitRequest, matched: RequestMatch, nowUs: () => number): Group {
    const { modes, keyPrefix } = this.parts;
    return toGroup({ request, matched, keyPrefix, heads: this.heads, shadow: modes.shadow, nowUs });
  }

  private prepare(request: RateLimitRequest): Prepared {
    const matched = matchRequest({ ruleSet: this.ruleSet, request, modes: this.parts.modes });
    return { request, matched, group: this.groupAt(request, matched, this.parts.nowUs) };
  }
}
