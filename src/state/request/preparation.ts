/** Matches and keys requests under one rule set and the control data, and caches the results for interned requests. */

import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import { matchRequest, type FairLevels, type GlobalModes, type RequestMatch } from '../../domain/rule/match';
import type { ControlView } from '../../domain/rule/control-view';
import type { RuleSet } from '../../domain/rule/rule-set';
import { KeyHeads } from '../../domain/bucket/bucket-key';
import type { Group } from '../../domain/bucket/take';
import { toGroup } from '../../domain/bucket/to-group';

/** A request with its matches and its group. */
export interface Prepared {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly group: Group;
}

export interface PreparationParts {
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  /** Absent: control data are off. */
  readonly control?: ControlView | undefined;
  /** Absent: members may use whole limits. */
  readonly fair?: FairLevels | undefined;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** The approximate time of the decision. */
  readonly nowUs: () => number;
}

export class Preparation {
  readonly ruleSet: RuleSet;
  private readonly heads = new KeyHeads();
  /** Results for interned requests. An entry lives as long as its request is cached elsewhere. */
  private known = new WeakMap<RateLimitRequest, Prepared>();
  /** The versions of the control data and of the shares under which the results above were made. */
  private controlVersion = 0;
  private fairVersion = 0;

  constructor(private readonly parts: PreparationParts) {
    this.ruleSet = parts.ruleSet;
  }

  /**
   * An interned request has the same group each time, so the store can fold groups by identity.
   *
   * @throws BadRequestError if an override is invalid
   */
  of(request: RateLimitRequest): Prepared {
    if (request.recurs !== true) return this.prepare(request);
    const { control, fair } = this.parts;
    const controlVersion = control?.version ?? 0;
    const fairVersion = fair?.version ?? 0;
    if (controlVersion !== this.controlVersion || fairVersion !== this.fairVersion) {
      this.controlVersion = controlVersion;
      this.fairVersion = fairVersion;
      this.known = new WeakMap();
    }
    const known = this.known.get(request);
    if (known !== undefined) return known;
    const prepared = this.prepare(request);
    // Calendar windows change, and the group names them.
    if (prepared.group.takes.every(({ limit }) => limit.edgesUs === undefined)) this.known.set(request, prepared);
    return prepared;
  }

  /** The group at another time: only the calendar windows differ. */
  groupAt(request: RateLimitRequest, matched: RequestMatch, nowUs: () => number): Group {
    const { modes, keyPrefix } = this.parts;
    return toGroup({ request, matched, keyPrefix, heads: this.heads, shadow: modes.shadow, nowUs });
  }

  private prepare(request: RateLimitRequest): Prepared {
    const { modes, control, fair } = this.parts;
    const matched = matchRequest({ ruleSet: this.ruleSet, request, modes, control, fair });
    return { request, matched, group: this.groupAt(request, matched, this.parts.nowUs) };
  }
}
