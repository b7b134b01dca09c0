/** Decides requests one after the other under one configuration in virtual time, at once and without a promise for each. */

import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import { isOutsideWindows, type GroupVerdict } from '../../domain/bucket/take';
import { NOTHING_TAKEN } from '../../domain/decide/to-decision';
import type { GlobalModes } from '../../domain/rule/match';
import type { RuleSet } from '../../domain/rule/rule-set';
import { Preparation, type Prepared } from '../../state/request/preparation';
import { MemoryStore } from '../../state/store/memory/memory-store';

export interface VirtualEngineOptions {
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  readonly bucketsMax: number;
}

/** The verdict on a request, with the matches and takes behind it. */
export interface VirtualVerdict extends Prepared {
  readonly verdict: GroupVerdict;
}

export class VirtualEngine {
  /** The time, in microseconds since 1970. */
  nowUs = 0;
  private readonly preparation: Preparation;
  private store: MemoryStore | undefined;
  private readonly clock = () => this.nowUs;

  constructor(private readonly options: VirtualEngineOptions) {
    const { ruleSet, modes, keyPrefix } = options;
    this.preparation = new Preparation({ ruleSet, modes, keyPrefix, nowUs: this.clock });
  }

  /** Buckets that were evicted for lack of room: each may have admitted its limit once more. */
  get evictions(): number {
    return this.store?.evictions ?? 0;
  }

  /**
   * Decides a request at a time that is not before that of an earlier one.
   *
   * @throws BadRequestError for an invalid request
   */
  decide(request: RateLimitRequest, atUs: number): VirtualVerdict {
    this.nowUs = atUs;
    const { matched, group } = this.preparation.of(request);
    if (group.takes.length === 0) return { request, matched, group, verdict: NOTHING_TAKEN };
    // Buckets expire relative to the time at which the store was opened.
    this.store ??= new MemoryStore({ nowUs: this.clock, bucketsMax: this.options.bucketsMax });
    const [outcome] = this.store.decide([group]);
    if (outcome === undefined || isOutsideWindows(outcome) || outcome instanceof Error)
      throw new Error('the engines answered no verdict for a group at its own time');
    return { request, matched, group, verdict: outcome };
  }
}
