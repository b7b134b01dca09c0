/** Decides requests as a server with the embedded store would, in a time that the caller gives. */

import { additionsFor, type AdditionOptions } from '../../domain/respond/response-additions';
import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { Decision } from '../../domain/decide/decision';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import type { GlobalModes } from '../../domain/rule/match';
import type { RuleSet } from '../../domain/rule/rule-set';
import { makeShouldRateLimit, type Decide } from '../../should-rate-limit';
import { ControlData } from '../../state/control/control-data';
import { keyOf, type ControlRecord } from '../../state/control/control-record';
import { MemoryStore } from '../../state/store/memory/memory-store';

export interface VirtualServiceOptions {
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Control data; empty: there are none. */
  readonly records: readonly ControlRecord[];
  /** Headers and bodies of answers. Absent: none. */
  readonly additions?: AdditionOptions | undefined;
  /** The time at first, in microseconds since 1970. */
  readonly startUs: number;
  readonly bucketsMax: number;
}

/** The answer to a request, with the matches and verdicts behind it. */
export interface VirtualDecision {
  readonly decision: Decision;
  readonly decided: DecidedRequest;
}

export class VirtualService {
  private readonly decide: Decide;
  private readonly control: ControlData | undefined;
  private nowUs: number;
  private decided: DecidedRequest | undefined;

  constructor({ ruleSet, modes, keyPrefix, records, additions, startUs, bucketsMax }: VirtualServiceOptions) {
    this.nowUs = startUs;
    const nowUs = () => this.nowUs;
    this.control = records.length === 0 ? undefined : controlOf(records);
    this.decide = makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store: new MemoryStore({ nowUs, bucketsMax }),
      modes,
      control: this.control,
      keyPrefix,
      nowUs,
      ...(additions && { additions: (rules: RuleSet) => additionsFor(rules, additions) }),
      record: (decided) => {
        this.decided = decided;
      },
    });
  }

  /**
   * Decides a request at a time that is not before that of an earlier one, in microseconds since 1970.
   *
   * @throws BadRequestError for an invalid request
   */
  async ask(request: RateLimitRequest, atUs: number): Promise<VirtualDecision> {
    this.nowUs = atUs;
    this.control?.expire(atUs);
    const before = this.decided;
    const [outcome] = await this.decide([request], {});
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('a request without an outcome');
    if (this.decided === undefined || this.decided === before) throw new Error('a decision that was not recorded');
    return { decision: outcome, decided: this.decided };
  }
}

function controlOf(records: readonly ControlRecord[]): ControlData {
  const data = new ControlData();
  records.forEach((record, index) => {
    data.apply({ key: keyOf(record), version: index + 1, record });
  });
  return data;
}
