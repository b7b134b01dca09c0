/** Reservations during a Redis outage: the failure modes of their limits decide, and this instance's memory keeps them. */

import { TRAITS } from '../../domain/algorithm/algorithms';
import { isSameWindow } from '../../domain/algorithm/window';
import type { Group, OutsideWindows, Adjustment, Take } from '../../domain/bucket/take';
import {
  extendedUntilUs,
  grantableHits,
  haveEdgesOf,
  heldRecord,
  isOutsideCharge,
  isSettled,
  settleRecord,
  unknownRecord,
  withEdgesOf,
  type Leg,
} from '../../domain/decide/reservation';
import type { GroupOutcome, Store, TakeOptions } from '../store/port/store';
import { StoreError } from '../store/port/store-error';
import type { StoreTrace } from '../store/port/store-trace';
import { RecordTable, type Kept } from './record-table';
import { Turns } from './turns';
import {
  sweptBoth,
  type ExtendInput,
  type OnLapsed,
  type ReservationPlan,
  type ReservationName,
  type Reservations,
  type ReserveInput,
  type ReserveOutcome,
  type SettleInput,
  type StepOutcome,
  type Swept,
} from './reservations';
import { US_PER_MS } from '../../lib/time-units';

/** Decides by failure modes what the store has not. */
export interface FailedDecisions {
  decideFailed(group: Group, error: StoreError, trace: StoreTrace | undefined): Promise<GroupOutcome>;
  /** Whether hits of the take are counted at all while the store cannot. */
  isCounted(take: Pick<Take, 'failureMode'>): boolean;
  /** Whether a call with the take fails as long as the store cannot decide. */
  isUnavailable(take: Pick<Take, 'failureMode'>): boolean;
}

export interface FallbackReservationsOptions {
  /** Keeps reservations while Redis answers. */
  readonly redis: Reservations;
  /** Charges and refunds, by failure modes during an outage. */
  readonly store: Store & FailedDecisions;
  /** This process's clock, in microseconds since 1970. */
  readonly nowUs: () => number;
  /** Maximum number of records in this instance. */
  readonly recordsMax: number;
  /** Maximum of their bytes, approximately. */
  readonly bytesMax: number;
  readonly onLapsed?: OnLapsed;
}

/**
 * A reservation made without Redis stays in this instance: its steps are ordinary refunds and usage reports, which go to
 * Redis if that is back. A reservation in Redis that is committed during an outage is charged here in full, and lapses there.
 *
 * A Reserve that timed out may have been made in Redis too, where it then counts as well. Before its reservation is settled here, Redis
 * is asked: if it has the reservation, that one is settled, and this one gives back all.
 */
export class FallbackReservations implements Reservations {
  private readonly table: RecordTable;
  private readonly turns = new Turns();

  constructor(private readonly options: FallbackReservationsOptions) {
    this.table = new RecordTable({ recordsMax: options.recordsMax, bytesMax: options.bytesMax });
  }

  reserve(input: ReserveInput, options: TakeOptions): Promise<ReserveOutcome | OutsideWindows> {
    return this.turns.take(keyOf(input.name), async () => {
      const known = this.table.find(input.name, this.options.nowUs());
      if (known !== undefined) return { kind: 'known', record: known.record, isDegraded: true };
      try {
        return await this.options.redis.reserve(input, options);
      } catch (error) {
        if (!mayFallBack(error)) throw error;
        return await this.reserveHere(input, error, options);
      }
    });
  }

  settle(input: SettleInput, options: TakeOptions): Promise<StepOutcome | OutsideWindows | undefined> {
    return this.turns.take(keyOf(input.name), async () => {
      const nowUs = this.options.nowUs();
      const known = this.table.find(input.name, nowUs);
      if (known !== undefined) return this.settleKnown(known, input, options);
      try {
        return await this.options.redis.settle(input, options);
      } catch (error) {
        if (!mayFallBack(error) || input.unknown === undefined) throw error;
        const { legs } = input.unknown.plan;
        if (legs.some((leg) => this.options.store.isUnavailable(leg))) throw error;
        const record = unknownRecord({ legs: legs.length, keepUs: input.unknown.keepUs, nowUs });
        return await this.settleHere({ name: input.name, legs, record }, input, options);
      }
    });
  }

  extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    return this.turns.take(keyOf(input.name), () => {
      const nowUs = this.options.nowUs();
      const known = this.table.find(input.name, nowUs);
      if (known === undefined) return this.options.redis.extend(input, options);
      const { record } = known;
      if (record.state !== 'held') return Promise.resolve({ record, isChanged: false, isDegraded: true });
      const extended = { ...record, expiresUs: extendedUntilUs(record, input.ttlUs, nowUs) };
      this.table.keep({ ...known, record: extended }, nowUs);
      return Promise.resolve({ record: extended, isChanged: true, isDegraded: true });
    });
  }

  /** Sweeps the records of this instance, also while Redis answers. */
  async sweep(tag: string): Promise<Swept> {
    const due = this.table.due(tag, this.options.nowUs());
    await Promise.all(due.map(({ name, record }) => this.lapse(name).then((isLapsed) => isLapsed && this.options.onLapsed?.(record))));
    const firstUs = this.table.firstUs(tag);
    const here: Swept = {
      held: this.table.heldOf(tag),
      firstAfterMs: firstUs === undefined ? undefined : Math.max(0, Math.ceil((firstUs - this.options.nowUs()) / US_PER_MS)),
    };
    return sweptBoth(here, await this.options.redis.sweep(tag));
  }

  /** A lapse that fails is tried again later. */
  private lapse(name: ReservationName): Promise<boolean> {
    return this.turns
      .take(keyOf(name), async () => {
        const known = this.table.find(name, this.options.nowUs());
        if (known === undefined) return false;
        const outcome = await this.settleKnown(known, { target: 'lapsed', actual: 0, unknown: undefined, name }, {});
        return outcome !== undefined && 'isChanged' in outcome && outcome.isChanged;
      })
      .catch(() => false);
  }

  private async reserveHere(
    { name, plan, asked, ttlUs, keepUs }: ReserveInput,
    error: StoreError,
    options: TakeOptions,
  ): Promise<ReserveOutcome | OutsideWindows> {
    this.table.checkRoom();
    const granted = grantableHits(asked, plan.legs, this.table.heldHits);
    const isRefused = asked > 0 && granted === 0;
    // Reservations that are decided meanwhile find these hits held.
    const endHold = this.table.holdMeanwhile(plan.legs, granted);
    try {
      const group = groupOf(plan, { hits: isRefused ? 1 : granted, isDry: isRefused });
      const verdict = verdictOf(await this.options.store.decideFailed(group, error, options.trace));
      if ('outsideAtUs' in verdict) return verdict;
      if (isRefused || verdict.overLimit) return { kind: 'decided', verdict: { ...verdict, overLimit: true }, granted, isDegraded: true };
      const madeUs = this.options.nowUs();
      const charges = verdict.verdicts.map(({ fits }, i) => {
        const isCharged = fits && this.options.store.isCounted(group.takes[i] ?? {});
        return { charged: isCharged ? granted : 0, usedBefore: 0 };
      });
      const record = heldRecord({ asked, granted, madeUs, ttlUs, keepUs, charges });
      this.table.keep({ name, legs: plan.legs, record, ...(error.mayHaveRun && { mayBeInRedis: true }) }, madeUs);
      return { kind: 'decided', verdict, granted, record, isDegraded: true };
    } finally {
      endHold();
    }
  }

  /** Redis's own reservation of that name, if there is one, is the one that counts. */
  private async settleKnown(known: Kept, input: SettleInput, options: TakeOptions): Promise<StepOutcome | OutsideWindows | undefined> {
    if (known.mayBeInRedis !== true || isSettled(known.record, input.target, this.options.nowUs()))
      return this.settleHere(known, input, options);
    const { name, target, actual } = input;
    const unknown = target === 'lapsed' ? undefined : input.unknown;
    let inRedis: StepOutcome | OutsideWindows | undefined;
    try {
      // Without `unknown` a name that Redis does not know changes nothing.
      const found = await this.options.redis.settle({ name, target: 'lapsed', actual: 0 }, options);
      inRedis = found === undefined ? undefined : await this.options.redis.settle({ name, target, actual, unknown }, options);
    } catch (error) {
      if (!mayFallBack(error)) throw error;
      // Hits that Redis holds lapse there.
      return this.settleHere(known, input, options);
    }
    if (inRedis === undefined || 'outsideAtUs' in inRedis) {
      return inRedis ?? (await this.settleHere({ ...known, mayBeInRedis: false }, input, options));
    }
    await this.settleHere(known, { name, target: 'released', actual: 0, unknown: undefined }, options);
    this.table.drop(name);
    return inRedis;
  }

  private async settleHere(
    kept: Kept,
    { target, actual, unknown }: SettleInput,
    options: TakeOptions,
  ): Promise<StepOutcome | OutsideWindows> {
    const nowUs = this.options.nowUs();
    const { record: before } = kept;
    if (isSettled(before, target, nowUs)) return { record: before, isChanged: false, isDegraded: true };
    const current = unknown?.plan.legs ?? [];
    const legs = withEdgesOf(kept.legs, current);
    if (haveEdgesOf(legs, current) && isOutsideCharge({ record: before, legs, target, actual, nowUs })) return { outsideAtUs: nowUs };
    const adjustments: Adjustment[] = [];
    const apply = (adjustment: Adjustment): number => {
      if (adjustment.hits > 0 || !isForgotten(adjustment, nowUs)) adjustments.push(adjustment);
      return Math.abs(adjustment.hits);
    };
    const settled = settleRecord({ record: before, legs, target, actual, nowUs, apply });
    const keep = (record: typeof settled): StepOutcome => {
      this.table.keep({ ...kept, record }, nowUs);
      return { record, isChanged: true, isDegraded: true };
    };
    if (adjustments.length === 0) return keep(settled);
    // Nothing is kept before the answer: other steps of the name wait for it.
    const [outcome] = await this.options.store.take([toReports(adjustments, legs)], options);
    const verdict = verdictOf(outcome);
    if ('outsideAtUs' in verdict) return verdict;
    return keep({ ...settled, cut: Math.max(...verdict.verdicts.map((each) => each.cut ?? 0)) });
  }
}

/** With its window the hits of a take are gone: a refund would give back those of others. */
function isForgotten({ limit, takenAtUs }: Adjustment, nowUs: number): boolean {
  return TRAITS[limit.algorithm].restores === 'at-window-end' && !isSameWindow(limit, takenAtUs, nowUs);
}

function keyOf({ tag, id }: ReservationName): string {
  return `${tag} ${id}`;
}

function verdictOf(outcome: GroupOutcome | undefined): Exclude<GroupOutcome, StoreError> {
  if (outcome === undefined) throw new Error('the store answered no outcome for a group');
  if (outcome instanceof StoreError) throw outcome;
  return outcome;
}

/** Overload is shed, as for every call. */
function mayFallBack(error: unknown): error is StoreError {
  return error instanceof StoreError && error.reason !== 'overload';
}

function groupOf(
  { legs, quotaAlwaysFits, shadow }: ReservationPlan,
  { hits, isDry }: { readonly hits: number; readonly isDry: boolean },
): Group {
  const takes = legs.map((leg): Take => ({
    bucketKey: leg.bucketKey,
    limit: leg.limit,
    hits,
    mode: leg.mode,
    descriptor: leg.descriptor,
    ...failureModeOf(leg),
  }));
  return isDry ? { takes, quotaAlwaysFits, shadow, dry: true } : { takes, quotaAlwaysFits, shadow };
}

function failureModeOf({ failureMode }: Leg): Pick<Take, 'failureMode'> {
  return failureMode === undefined ? {} : { failureMode };
}

/** Reports of used or returned hits: no limit denies them. */
function toReports(adjustments: readonly Adjustment[], legs: readonly Leg[]): Group {
  const takes = adjustments.map(({ bucketKey, limit, hits, overdraftMax = 0 }, descriptor): Take => {
    const leg = legs.find((each) => each.bucketKey === bucketKey);
    return { bucketKey, limit, hits, mode: 'shadow', descriptor, overdraftMax, ...(leg && failureModeOf(leg)) };
  });
  return { takes, quotaAlwaysFits: false, shadow: false };
}
