/**
 * A lease: hits that an instance charges to a bucket ahead of its requests, and then grants from its own memory. When, how many, and
 * until when. Time is an argument. `docs/internals/store.md` says why no window ever admits more than its limit.
 */

import { TRAITS } from '../algorithm/algorithms';
import { windowAt } from '../algorithm/window';
import type { BucketLimit, Take, Verdict } from '../bucket/take';
import type { Leases } from '../rule/limit';
import { MS_PER_S, US_PER_MS, US_PER_S } from '../../lib/time-units';

/** Shorter windows end before a lease has saved much. */
const WINDOW_US_MIN = 10 * US_PER_S;

/** A lease has the hits of this time, and of at most a twentieth of the window. */
const AHEAD_MS_MAX = MS_PER_S;
const PARTS_OF_WINDOW = 20;

/** Rarer requests for a bucket cost no more commands than its leases would. */
const REQUESTS_PER_S_MIN = 4;

/** A lease of one hit saves nothing. */
const HITS_MIN = 2;

/** All instances together leave half of what remains in the bucket. */
const PART_LEFT = 2;

/** The next lease is charged when this part of the last one is left. */
const PART_RENEWED = 1 / 4;

/** Unused hits go back after a multiple of the time ahead. */
const TIMES_AHEAD = 2;

/** By how much Redis's clock may be faster than this process's: chrony corrects a clock by at most a twelfth of the time (`maxslewrate`), other services by far less. */
const DRIFT = 1 / 10;

/** For the rounding of both clocks. */
const MARGIN_MS = 1;

/** Whether hits for the take may come from a lease. Every other kind of take goes to the store. */
export function mayBeLeased({ hits, mode, limit, overdraftMax, peek }: Take, { leases: byDefault }: { readonly leases: Leases }): boolean {
  const { leases = byDefault } = limit;
  return leases === 'auto' && hits > 0 && mode === 'enforced' && canHaveLeases(limit) && overdraftMax === undefined && peek !== true;
}

/** Whether leases are exact and useful under such a limit. */
export function canHaveLeases({ algorithm, windowUs, capacity }: Pick<BucketLimit, 'algorithm' | 'windowUs' | 'capacity'>): boolean {
  return TRAITS[algorithm].restores === 'at-window-end' && windowUs >= WINDOW_US_MIN && capacity > 0;
}

/** A reply of the store about a bucket. */
export interface StoreReport {
  readonly limit: BucketLimit;
  /** Hits left in the bucket. */
  readonly remaining: number;
  /** Server time of the decision. */
  readonly nowUs: number;
  /** Time of the call, by the clock of this process. */
  readonly sentMs: number;
}

/** The last report of the current window. */
interface KnownWindow extends StoreReport {
  /** Its end, by the clock of the store: identifies the window. */
  readonly endUs: number;
  /** The store is in the window at least until then, by the clock of this process. */
  readonly untilMs: number;
}

/** One bucket as an instance sees it: how often it is asked for, what the store said last, and the unused hits of the lease. */
export class LeasedBucket {
  private known: KnownWindow | undefined;
  private left = 0;
  private chargedMs = 0;
  /** Since the last measurement. */
  private requests = 0;
  private hits = 0;
  private measuredMs: number;
  /** In the time ahead. */
  private requestRate = 0;
  private hitRate = 0;
  /** A charge is under way. */
  isCharging = false;
  /** The store failed after its last reply, so nothing is charged ahead until it replies again. */
  hasFailed = false;

  constructor(
    private limit: BucketLimit,
    nowMs: number,
  ) {
    this.measuredMs = nowMs;
  }

  /** The window of the lease; undefined: nothing is known. */
  get windowEndUs(): number | undefined {
    return this.known?.endUs;
  }

  isUnder({ requestsPerUnit, capacity }: BucketLimit): boolean {
    return this.limit.requestsPerUnit === requestsPerUnit && this.limit.capacity === capacity;
  }

  /** Grants the hits of a request, or says that the store must decide. */
  use(hits: number, nowMs: number): boolean {
    this.measure(hits, nowMs);
    if (hits > this.left || !this.isInWindow(nowMs)) return false;
    this.left -= hits;
    return true;
  }

  /** Takes back hits that a request did not use in the end. False: their window is over. */
  putBack(hits: number, windowEndUs: number): boolean {
    if (this.known?.endUs !== windowEndUs) return false;
    this.left += hits;
    return true;
  }

  /** The verdict on a request from the lease: hits left are those in the bucket as last reported, and those of the lease. */
  show(nowMs: number): { readonly verdict: Verdict; readonly nowUs: number } {
    const { known } = this;
    if (known === undefined) throw new Error('no lease without a report');
    const nowUs = known.nowUs + Math.round((nowMs - known.sentMs) * US_PER_MS);
    const resetAfterUs = Math.max(0, known.endUs - nowUs);
    return { verdict: { fits: true, remaining: known.remaining + this.left, retryAfterUs: 0, resetAfterUs }, nowUs };
  }

  /** Returns the unused hits that have ended with their window. */
  learn(report: StoreReport): number {
    const { limit, remaining, nowUs, sentMs } = report;
    const { endsAfterUs } = windowAt(limit, nowUs);
    const endUs = nowUs + endsAfterUs;
    const { known } = this;
    // Replies may overtake each other.
    if (known !== undefined && nowUs < known.nowUs && this.isInWindow(sentMs)) return 0;
    const ended = endUs === known?.endUs ? 0 : this.left;
    // The groups of one command have one time, and their outcomes may arrive in another order: the least remainder is that of the last group.
    const isOfOneCommand = endUs === known?.endUs && nowUs === known.nowUs;
    this.left -= ended;
    this.limit = limit;
    this.hasFailed = false;
    // The script ran after `sentMs`, so the clock of the store shows at most `nowUs` and the time since then.
    const left = isOfOneCommand ? Math.min(remaining, known.remaining) : remaining;
    this.known = { limit, remaining: left, nowUs, sentMs, endUs, untilMs: sentMs + endsAfterUs / US_PER_MS / (1 + DRIFT) - MARGIN_MS };
    return ended;
  }

  /** Adds charged hits, after `learn`. False: their window is over. */
  add(hits: number, { limit, nowUs, sentMs }: StoreReport): boolean {
    const isAdded = this.putBack(hits, nowUs + windowAt(limit, nowUs).endsAfterUs);
    if (isAdded) this.chargedMs = sentMs;
    return isAdded;
  }

  /** How many hits to charge now; 0: none. Near the limit there are none, so that Redis decides each hit there. */
  wanted(nowMs: number, { instances }: { readonly instances: number }): number {
    const { known, left } = this;
    if (known === undefined || this.isCharging || this.hasFailed || !this.isInWindow(nowMs)) return 0;
    const aheadMs = aheadMsOf(this.limit);
    if (this.requestRate * MS_PER_S < REQUESTS_PER_S_MIN * aheadMs) return 0;
    const untilEnd = Math.floor((this.hitRate * (known.untilMs - nowMs)) / aheadMs);
    const goal = Math.min(Math.ceil(this.hitRate), untilEnd, Math.floor(known.remaining / (PART_LEFT * instances)));
    return left > goal * PART_RENEWED || goal - left < HITS_MIN ? 0 : goal - left;
  }

  /** Removes the unused hits of a lease that is over. `isGone`: their window is over too. */
  end(nowMs: number, { all = false }: { readonly all?: boolean } = {}): EndedLease | undefined {
    const { known, left: hits, limit } = this;
    if (known === undefined || hits === 0) return undefined;
    const isGone = !this.isInWindow(nowMs);
    if (!all && !isGone && nowMs < this.chargedMs + TIMES_AHEAD * aheadMsOf(limit)) return undefined;
    this.left = 0;
    return { hits, limit, takenAtUs: known.nowUs, isGone };
  }

  /** Nothing is lost if it is forgotten. */
  isIdle(nowMs: number): boolean {
    return this.left === 0 && !this.isCharging && nowMs - this.measuredMs >= aheadMsOf(this.limit);
  }

  private isInWindow(nowMs: number): boolean {
    return this.known !== undefined && nowMs < this.known.untilMs;
  }

  private measure(hits: number, nowMs: number): void {
    const aheadMs = aheadMsOf(this.limit);
    const passedMs = nowMs - this.measuredMs;
    if (passedMs >= aheadMs) {
      this.requestRate = meanOf(this.requestRate, (this.requests * aheadMs) / passedMs);
      this.hitRate = meanOf(this.hitRate, (this.hits * aheadMs) / passedMs);
      this.requests = 0;
      this.hits = 0;
      this.measuredMs = nowMs;
    }
    this.requests += 1;
    this.hits += hits;
  }
}

/** The unused hits of a lease that is over. */
export interface EndedLease {
  readonly hits: number;
  readonly limit: BucketLimit;
  /** Server time in the window that they were charged in. */
  readonly takenAtUs: number;
  /** Their window is over, and they with it. */
  readonly isGone: boolean;
}

/** Smooths a rate; 0: none was measured before. */
function meanOf(before: number, measured: number): number {
  return before === 0 ? measured : (before + measured) / 2;
}

function aheadMsOf({ windowUs }: BucketLimit): number {
  return Math.min(AHEAD_MS_MAX, windowUs / US_PER_MS / PARTS_OF_WINDOW);
}
