/** Reservations in Redis: each step is one run of `lua/reserve.lua`, on Redis's own clock, in the one slot that has the buckets. */

import type { OutsideWindows } from '../bucket/take';
import type { SettledLeg } from '../engine/reservation';
import { loadScript, type Script } from '../store/script-loader';
import type { ScriptArguments } from '../store/script-wire';
import { StoreError, type TakeOptions } from '../store/store';
import { SWEPT_AT_ONCE } from './record-table';
import { ReservationKeys } from './reservation-keys';
import { decodeDue, decodeRead, decodeReserve, decodeStep, encodeDue, encodeExtend, encodeRead, encodeReserve, encodeSettle, legsOfPlan, planText, type StepReply, type StoredRecord } from './reservation-wire';
import { PartsError, type ExtendInput, type OnLapsed, type Reservations, type ReserveInput, type ReserveOutcome, type SettleInput, type StepOutcome } from './reservations';

/** Runs a script on the server that has its keys. */
export type RunScript = (call: ScriptArguments & { readonly script: Script }, options: TakeOptions) => Promise<unknown>;

export interface RedisReservationsOptions {
  readonly run: RunScript;
  /** The slot of a bucket; legs of several are refused. Undefined: it lies on another server than the records. */
  readonly slotOf: (leg: Pick<SettledLeg, 'bucketKey' | 'limit'>) => number | undefined;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Told of the buckets that hits may have been given back to. */
  readonly onGivenBack: (legs: readonly Pick<SettledLeg, 'bucketKey'>[]) => void;
  readonly onLapsed?: OnLapsed;
  /** Default: that of `lua/`. */
  readonly script?: Script;
}

/** Another one may have made the record, or forgotten it, between the look at it and the step: then it is looked at once more. */
const LOOKS_MAX = 4;

export class RedisReservations implements Reservations {
  private readonly keys: ReservationKeys;
  private readonly script: Script;

  constructor(private readonly options: RedisReservationsOptions) {
    this.keys = new ReservationKeys(options.keyPrefix);
    this.script = options.script ?? loadScript('reserve');
  }

  async reserve(input: ReserveInput, options: TakeOptions): Promise<ReserveOutcome | OutsideWindows> {
    this.refuseParts(input.plan.legs);
    const first = await this.decide(input, options);
    if (first.kind !== 'decided' || first.due === 0) return toOutcome(first);
    // What has lapsed, and is not given back yet, must deny nobody. What was decided stands, should this fail.
    const swept = await this.sweep(input.name.tag, options).catch(() => undefined);
    return toOutcome(first.verdict.overLimit && swept !== undefined ? await this.decide(input, options) : first);
  }

  async settle(input: SettleInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    const { name, target, actual, unknown } = input;
    let stored = await this.read(input, options);
    for (let looks = 1; looks <= LOOKS_MAX; looks += 1) {
      if (stored === undefined && (unknown === undefined || target === 'lapsed')) return this.forget(input, options);
      const legs: readonly SettledLeg[] = stored === undefined ? (unknown?.plan.legs ?? []) : legsOfPlan(stored.plan);
      this.refuseParts(legs);
      const plan = stored?.plan ?? planText(legs);
      const call = encodeSettle({ name, target, actual, legs, plan, keepUs: stored?.record.keepUs ?? unknown?.keepUs ?? 0 }, this.keys);
      const reply = decodeStep(await this.run(call, options));
      if (reply.kind === 'changed') this.options.onGivenBack(legs);
      if (reply.kind === 'changed' || reply.kind === 'unchanged') return { record: reply.stored.record, isChanged: reply.kind === 'changed', isDegraded: false };
      stored = reply.kind === 'otherPlan' ? reply.stored : undefined;
      if (reply.kind === 'none') return undefined;
    }
    throw new StoreError('the record of the reservation changes too often to be settled', 'other', { mayHaveRun: false });
  }

  async extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    return toStep(decodeStep(await this.run(encodeExtend(input, this.keys), options)));
  }

  async sweep(tag: string, options: TakeOptions = {}): Promise<number> {
    const { held, ids } = decodeDue(await this.run(encodeDue(tag, SWEPT_AT_ONCE, this.keys), options));
    // In their order, all under way at once: one connection keeps it.
    const outcomes = await Promise.all(ids.map((id) => this.settle({ name: { tag, id }, target: 'lapsed', actual: 0 }, options)));
    const lapsed = outcomes.filter((outcome) => outcome?.isChanged === true);
    for (const outcome of lapsed) if (outcome !== undefined) this.options.onLapsed?.(outcome.record);
    return Math.max(0, held - lapsed.length);
  }

  private async read({ name }: Pick<SettleInput, 'name'>, options: TakeOptions): Promise<StoredRecord | undefined> {
    return decodeRead(await this.run(encodeRead(name, this.keys), options));
  }

  /** What is to lapse may have no record any more: then its id leaves the index. */
  private async forget({ name, target }: SettleInput, options: TakeOptions): Promise<undefined> {
    if (target === 'lapsed') await this.run(encodeSettle({ name, target, actual: 0, legs: [], plan: '', keepUs: 0 }, this.keys), options);
    return undefined;
  }

  private async decide(input: ReserveInput, options: TakeOptions) {
    return decodeReserve(await this.run(encodeReserve(input, this.keys), options), input.plan.legs);
  }

  private run(call: ScriptArguments, options: TakeOptions): Promise<unknown> {
    return this.options.run({ ...call, script: this.script }, options);
  }

  private refuseParts(legs: readonly SettledLeg[]): void {
    const slots = new Set(legs.map((leg) => this.options.slotOf(leg)));
    if (slots.size > 1 || slots.has(undefined)) {
      throw new PartsError('the buckets of this reservation lie in several slots or Redis servers; reserve on descriptors of one value of hash_tag, and of no limit that REDIS_PERSECOND has');
    }
  }
}

function toOutcome(reply: ReturnType<typeof decodeReserve>): ReserveOutcome | OutsideWindows {
  switch (reply.kind) {
    case 'known':
      return { kind: 'known', record: reply.stored.record, isDegraded: false };
    case 'decided': {
      const { verdict, granted, stored } = reply;
      return { kind: 'decided', verdict, granted, isDegraded: false, ...(stored && { record: stored.record }) };
    }
    case 'undecided':
      if (reply.why === 'outside') return { outsideAtUs: reply.nowUs };
      throw new StoreError('the store holds something that is no bucket under the key of one', 'script', { mayHaveRun: false });
  }
}

function toStep(reply: StepReply): StepOutcome | undefined {
  if (reply.kind === 'none') return undefined;
  return { record: reply.stored.record, isChanged: reply.kind === 'changed', isDegraded: false };
}
