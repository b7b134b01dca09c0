/** Reservations of the embedded store: records in this process's memory, beside its buckets. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isGroupOutside, type Group, type OutsideWindows } from '../../domain/bucket/take';
import {
  chargedLegs,
  extendedUntilUs,
  grantableHits,
  haveEdgesOf,
  heldRecord,
  isOutsideCharge,
  isSettled,
  settleRecord,
  unknownRecord,
  withEdgesOf,
} from '../../domain/decide/reservation';
import { monotonicNowMs } from '../../lib/clock';
import { asError } from '../../lib/errors';
import type { MemoryStore } from '../store/memory/memory-store';
import { RecordTable, SWEPT_AT_ONCE } from './record-table';
import {
  SWEEP_TURN_MS,
  type ExtendInput,
  type OnLapsed,
  type ReservationPlan,
  type Reservations,
  type ReserveInput,
  type ReserveOutcome,
  type SettleInput,
  type StepOutcome,
  type Swept,
} from './reservations';
import { US_PER_MS } from '../../lib/time-units';

export interface MemoryReservationsOptions {
  readonly store: Pick<MemoryStore, 'decide' | 'apply'>;
  /** The clock of the embedded store. */
  readonly nowUs: () => number;
  /** Maximum number of records. */
  readonly recordsMax: number;
  /** Maximum of their bytes, approximately. */
  readonly bytesMax: number;
  readonly onLapsed?: OnLapsed;
}

/** Steps of a sweep that a Reserve which would be denied takes before it is decided again: a few milliseconds. */
const RESERVE_SWEEPS = 10;

/** Each step runs in one turn of the event loop, so no other step runs between its look at the buckets and its charge. */
export class MemoryReservations implements Reservations {
  private readonly table: RecordTable;

  constructor(private readonly options: MemoryReservationsOptions) {
    this.table = new RecordTable({ recordsMax: options.recordsMax, bytesMax: options.bytesMax });
  }

  reserve(input: ReserveInput): Promise<ReserveOutcome | OutsideWindows> {
    try {
      const first = this.decide(input);
      if (!('kind' in first) || first.kind === 'known') return Promise.resolve(first);
      // Lapse first: hits that are due for return must not deny anybody.
      const { overLimit } = first.verdict;
      let lapsed = this.lapse(input.name.tag);
      for (let sweeps = 1; overLimit && lapsed === sweeps * SWEPT_AT_ONCE && sweeps < RESERVE_SWEEPS; sweeps += 1)
        lapsed += this.lapse(input.name.tag);
      return Promise.resolve(overLimit && lapsed > 0 ? this.decide(input) : first);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  settle(input: SettleInput): Promise<StepOutcome | OutsideWindows | undefined> {
    return Promise.resolve(this.step(input));
  }

  extend({ name, ttlUs }: ExtendInput): Promise<StepOutcome | undefined> {
    const nowUs = this.options.nowUs();
    const known = this.table.find(name, nowUs);
    if (known === undefined) return Promise.resolve(undefined);
    const { record } = known;
    if (record.state !== 'held') return Promise.resolve({ record, isChanged: false, isDegraded: false });
    const extended = { ...record, expiresUs: extendedUntilUs(record, ttlUs, nowUs) };
    this.table.keep({ ...known, record: extended }, nowUs);
    return Promise.resolve({ record: extended, isChanged: true, isDegraded: false });
  }

  /** Decisions get their turn after each step. */
  async sweep(tag: string): Promise<Swept> {
    const untilMs = monotonicNowMs() + SWEEP_TURN_MS;
    while (this.lapse(tag) === SWEPT_AT_ONCE && monotonicNowMs() < untilMs) await nextTurn();
    const firstUs = this.table.firstUs(tag);
    const firstAfterMs = firstUs === undefined ? undefined : Math.max(0, Math.ceil((firstUs - this.options.nowUs()) / US_PER_MS));
    return { held: this.table.heldOf(tag), firstAfterMs };
  }

  private decide({ name, plan, asked, ttlUs, keepUs }: ReserveInput): ReserveOutcome | OutsideWindows {
    const nowUs = this.options.nowUs();
    const known = this.table.find(name, nowUs);
    if (known !== undefined) return { kind: 'known', record: known.record, isDegraded: false };
    const { legs } = plan;
    const granted = grantableHits(asked, legs, this.table.heldHits);
    const isRefused = asked > 0 && granted === 0;
    const group = groupOf(plan, { hits: isRefused ? 1 : granted, isDry: isRefused });
    if (isGroupOutside(group, nowUs)) return { outsideAtUs: nowUs };
    this.table.checkRoom();
    const [verdict] = this.options.store.decide([group]);
    if (verdict === undefined || !('verdicts' in verdict)) throw new Error('the embedded store decided nothing');
    if (isRefused || verdict.overLimit) return { kind: 'decided', verdict: { ...verdict, overLimit: true }, granted, isDegraded: false };
    const madeUs = verdict.nowUs;
    const charges = chargedLegs(granted, legs, verdict.verdicts);
    const record = heldRecord({ asked, granted, madeUs, ttlUs, keepUs, charges });
    this.table.keep({ name, legs, record }, madeUs);
    return { kind: 'decided', verdict, granted, record, isDegraded: false };
  }

  private step({ name, target, actual, unknown }: SettleInput): StepOutcome | OutsideWindows | undefined {
    const nowUs = this.options.nowUs();
    const known = this.table.find(name, nowUs);
    if (known === undefined && (unknown === undefined || target === 'lapsed')) return undefined;
    const current = unknown?.plan.legs ?? [];
    const legs = known === undefined ? current : withEdgesOf(known.legs, current);
    const before = known?.record ?? unknownRecord({ legs: legs.length, keepUs: unknown?.keepUs ?? 0, nowUs });
    if (isSettled(before, target, nowUs)) return { record: before, isChanged: false, isDegraded: false };
    if (haveEdgesOf(legs, current) && isOutsideCharge({ record: before, legs, target, actual, nowUs })) return { outsideAtUs: nowUs };
    const apply = (adjustment: Parameters<MemoryStore['apply']>[0][number]): number => this.options.store.apply([adjustment])[0] ?? 0;
    const record = settleRecord({ record: before, legs, target, actual, nowUs, apply });
    this.table.keep({ name, legs, record }, nowUs);
    return { record, isChanged: true, isDegraded: false };
  }

  /** Returns how many lapsed. */
  private lapse(tag: string): number {
    const due = this.table.due(tag, this.options.nowUs());
    for (const { name, record } of due) {
      this.step({ name, target: 'lapsed', actual: 0 });
      this.options.onLapsed?.(record);
    }
    return due.length;
  }
}

function groupOf(
  { legs, quotaAlwaysFits, shadow }: ReservationPlan,
  { hits, isDry }: { readonly hits: number; readonly isDry: boolean },
): Group {
  const takes = legs.map(({ bucketKey, limit, mode, descriptor }) => ({ bucketKey, limit, hits, mode, descriptor }));
  return isDry ? { takes, quotaAlwaysFits, shadow, dry: true } : { takes, quotaAlwaysFits, shadow };
}
