/** Collects what happens to the sampled requests of a call: when each was decided, by which commands of the store, and how. */

import { monotonicNowMs } from '../../lib/clock';
import type { Group } from '../../domain/bucket/take';
import type { Decision } from '../../domain/decide/decision';
import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { RequestMatch } from '../../domain/rule/match';
import type { StoreErrorReason } from '../store/port/store-error';
import type { StoreTrace, TracedCommand } from '../store/port/store-trace';
import type { Prepared } from './preparation';

/** Most commands kept for one request. Even a request with buckets in several slots needs a few. */
const COMMANDS_MAX = 16;

/** The outcome of a request. */
export interface TracedDecision {
  readonly request: RateLimitRequest;
  /** Undefined: the request is invalid. */
  readonly matched: RequestMatch | undefined;
  readonly outcome: Decision | Error;
}

/** One sampled request. Times are of the monotonic clock, in milliseconds. */
export class RequestTrace {
  /** When matching began; undefined: the request never got this far. */
  startedMs: number | undefined;
  /** When the answer was known. */
  endedMs: number | undefined;
  decided: TracedDecision | undefined;
  /** Why its failure modes decided it; undefined: the store did. */
  fallback: StoreErrorReason | undefined;
  readonly commands: TracedCommand[] = [];
  private isClosed = false;

  begin(): void {
    this.startedMs = monotonicNowMs();
  }

  end(decided: TracedDecision): void {
    if (this.isClosed) return;
    this.endedMs = monotonicNowMs();
    this.decided = decided;
  }

  addCommand(command: TracedCommand): void {
    if (!this.isClosed && this.commands.length < COMMANDS_MAX) this.commands.push(command);
  }

  /** The caller has its answer: what comes later changes nothing. */
  close(): void {
    this.isClosed = true;
  }
}

/** For each request of a call: its trace, or undefined if it is not sampled. */
export type RequestTraces = readonly (RequestTrace | undefined)[];

interface TracedGroup {
  readonly group: Group;
  readonly trace: RequestTrace;
}

/** Hands what the store reports to the requests that it is about. */
export class SampledRequests implements StoreTrace {
  private constructor(
    private readonly traced: readonly TracedGroup[],
    /** All groups of the call are parts of these. */
    private readonly isOfOneGroup: boolean,
  ) {}

  static of(prepared: readonly (Prepared | Error)[], traces: RequestTraces): SampledRequests {
    const traced: TracedGroup[] = [];
    // A loop, because almost all requests of a call are not sampled.
    for (let i = 0; i < traces.length; i += 1) {
      const trace = traces[i];
      const each = trace === undefined ? undefined : prepared[i];
      if (trace !== undefined && each !== undefined && !(each instanceof Error)) traced.push({ group: each.group, trace });
    }
    return new SampledRequests(traced, false);
  }

  /** Identical requests share their group, so one group may have several traces. */
  of(group: Group): StoreTrace | undefined {
    const ofGroup = this.tracedBy(group);
    return ofGroup.length === 0 ? undefined : new SampledRequests(ofGroup, true);
  }

  onCommand(groups: readonly Group[], command: TracedCommand): void {
    for (const { group, trace } of this.traced) if (this.isOfOneGroup || groups.includes(group)) trace.addCommand(command);
  }

  onFallback(group: Group, reason: StoreErrorReason): void {
    for (const { trace } of this.tracedBy(group)) trace.fallback = reason;
  }

  private tracedBy(group: Group): readonly TracedGroup[] {
    return this.isOfOneGroup ? this.traced : this.traced.filter((each) => each.group === group);
  }
}
