/** Reservations during a Redis outage: the failure modes of their limits decide, and this instance's memory keeps them. */

import type { Group, OutsideWindows, Settlement, Take } from '../bucket/take';
import { extendedUntilUs, grantableHits, heldRecord, isSettled, settleRecord, unknownRecord, type Leg } from '../decide/reservation';
import { StoreError, type Store, type TakeOptions } from '../store/port/store';
import { RecordTable, type Kept } from './record-table';
import type { ExtendInput, OnLapsed, Plan, Reservations, ReserveInput, ReserveOutcome, SettleInput, StepOutcome } from './reservations';

export interface FallbackReservationsOptions {
  /** Keeps reservations while Redis answers. */
  readonly redis: Reservations;
  /** Decides by failure modes during an outage. */
  readonly store: Store;
  /** This process's clock, in microseconds since 1970. */
  readonly nowUs: () => number;
  /** Maximum number of records in this instance. */
  readonly recordsMax: number;
  readonly onLapsed?: OnLapsed;
}

/**
 * A reservation made without Redis stays in this instance: its steps are ordinary refunds and usage reports, which go to
 * Redis if that is back. A reservation in Redis that is committed during an outage is charged here in full, and lapses there.
 *
 * A step that timed out may have been made in Redis too: then its hits count twice until they lapse, but are never lost.
 */
export class FallbackReservations implements Reservations {
  private readonly table: RecordTable;

  constructor(private readonly options: FallbackReservationsOptions) {
    this.table = new RecordTable(options.recordsMax);
  }

  async reserve(input: ReserveInput, options: TakeOptions): Promise<ReserveOutcome | OutsideWindows> {
    const known = this.table.find(input.name, this.options.nowUs());
    if (known !== undefined) return { kind: 'known', record: known.record, isDegraded: true };
    try {
      return await this.options.redis.reserve(input, options);
    } catch (error) {
      if (!mayFallBack(error)) throw error;
      return this.reserveHere(input, options);
    }
  }

  async settle(input: SettleInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    const nowUs = this.options.nowUs();
    const known = this.table.find(input.name, nowUs);
    if (known !== undefined) return this.settleHere(known, input, options);
    try {
      return await this.options.redis.settle(input, options);
    } catch (error) {
      if (!mayFallBack(error) || input.unknown === undefined) throw error;
      const { legs } = input.unknown.plan;
      const record = unknownRecord({ legs: legs.length, keepUs: input.unknown.keepUs, nowUs });
      return this.settleHere({ name: input.name, legs, record }, input, options);
    }
  }

  async extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    const nowUs = this.options.nowUs();
    const known = this.table.find(input.name, nowUs);
    if (known === undefined) return this.options.redis.extend(input, options);
    const { record } = known;
    if (record.state !== 'held') return { record, isChanged: false, isDegraded: true };
    const extended = { ...record, expiresUs: extendedUntilUs(record, input.ttlUs, nowUs) };
    this.table.keep({ ...known, record: extended }, nowUs);
    return { record: extended, isChanged: true, isDegraded: true };
  }

  /** Sweeps the records of this instance, also while Redis answers. */
  async sweep(tag: string): Promise<number> {
    for (const kept of this.table.due(tag, this.options.nowUs())) {
      const outcome = await this.settleHere(kept, { target: 'lapsed', actual: 0 }, {}).catch(() => undefined);
      if (outcome?.isChanged === true) this.options.onLapsed?.(kept.record);
    }
    return (await this.options.redis.sweep(tag)) + this.table.heldOf(tag);
  }

  private async reserveHere(
    { name, plan, asked, ttlUs, keepUs }: ReserveInput,
    options: TakeOptions,
  ): Promise<ReserveOutcome | OutsideWindows> {
    this.table.checkRoom();
    const granted = grantableHits(asked, plan.legs, this.table.heldHits);
    const isRefused = asked > 0 && granted === 0;
    const verdict = await this.take(groupOf(plan, { hits: isRefused ? 1 : granted, isDry: isRefused }), options);
    if ('outsideAtUs' in verdict) return verdict;
    if (isRefused || verdict.overLimit) return { kind: 'decided', verdict: { ...verdict, overLimit: true }, granted, isDegraded: true };
    const madeUs = this.options.nowUs();
    const charges = verdict.verdicts.map(({ fits }) => ({ charged: fits ? granted : 0, usedBefore: 0 }));
    const record = heldRecord({ asked, granted, madeUs, ttlUs, keepUs, charges });
    this.table.keep({ name, legs: plan.legs, record }, madeUs);
    return { kind: 'decided', verdict, granted, record, isDegraded: true };
  }

  private async settleHere(
    kept: Kept,
    { target, actual }: Pick<SettleInput, 'target' | 'actual'>,
    options: TakeOptions,
  ): Promise<StepOutcome> {
    const nowUs = this.options.nowUs();
    const { legs, record: before } = kept;
    if (isSettled(before, target, nowUs)) return { record: before, isChanged: false, isDegraded: true };
    const settlements: Settlement[] = [];
    const apply = (settlement: Settlement): number => {
      settlements.push(settlement);
      return Math.abs(settlement.hits);
    };
    const settled = settleRecord({ record: before, legs, target, actual, nowUs, apply });
    // Kept before the first await, so that a concurrent repeat does not charge again.
    this.table.keep({ ...kept, record: settled }, nowUs);
    if (settlements.length === 0) return { record: settled, isChanged: true, isDegraded: true };
    try {
      const verdict = await this.take(toReports(settlements, legs), options);
      const cut = 'verdicts' in verdict ? Math.max(...verdict.verdicts.map((each) => each.cut ?? 0)) : 0;
      const record = { ...settled, cut };
      this.table.keep({ ...kept, record }, nowUs);
      return { record, isChanged: true, isDegraded: true };
    } catch (error) {
      this.table.keep(kept, nowUs);
      throw error;
    }
  }

  private async take(group: Group, options: TakeOptions) {
    const [outcome] = await this.options.store.take([group], options);
    if (outcome === undefined) throw new Error('the store answered no outcome for a group');
    if (outcome instanceof StoreError) throw outcome;
    return outcome;
  }
}

/** Overload is shed, as for every call. */
function mayFallBack(error: unknown): boolean {
  return error instanceof StoreError && error.reason !== 'overload';
}

function groupOf({ legs, quotaAlwaysFits, shadow }: Plan, { hits, isDry }: { readonly hits: number; readonly isDry: boolean }): Group {
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
function toReports(settlements: readonly Settlement[], legs: readonly Leg[]): Group {
  const takes = settlements.map(({ bucketKey, limit, hits, overdraftMax = 0 }, descriptor): Take => {
    const leg = legs.find((each) => each.bucketKey === bucketKey);
    return { bucketKey, limit, hits, mode: 'shadow', descriptor, overdraftMax, ...(leg && failureModeOf(leg)) };
  });
  return { takes, quotaAlwaysFits: false, shadow: false };
}
