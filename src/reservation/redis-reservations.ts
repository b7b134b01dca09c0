/** Reservations in Redis: each step runs `lua/reserve.lua` once, by the clock of Redis, in the one slot of the buckets. */

import type { OutsideWindows } from '../bucket/take';
import type { SettledLeg } from '../decide/reservation';
import { loadScript, type Script } from '../store/redis/script-loader';
import type { ReadReply } from '../store/redis/client/read-reply';
import type { ScriptRun } from '../store/redis/redis-store';
import type { ScriptArguments } from '../store/redis/script-wire';
import { StoreError, type TakeOptions } from '../store/port/store';
import { SWEPT_AT_ONCE } from './record-table';
import { ReservationKeys } from './reservation-keys';
import {
  decodeDue,
  decodeRead,
  decodeReserve,
  decodeStep,
  encodeDue,
  encodeExtend,
  encodeRead,
  encodeReserve,
  encodeSettle,
  legsOfPlan,
  planText,
  type ReserveReply,
  type StepReply,
  type StoredRecord,
} from './reservation-wire';
import {
  PartsError,
  type ExtendInput,
  type OnLapsed,
  type Reservations,
  type ReserveInput,
  type ReserveOutcome,
  type SettleInput,
  type StepOutcome,
} from './reservations';

/** Runs a script on the server of its keys. */
export type RunScript = <Answer>(call: ScriptRun<Answer>, options: TakeOptions) => Promise<Answer>;

export interface RedisReservationsOptions {
  readonly run: RunScript;
  /** The slot of a bucket; a reservation over several slots is rejected. Undefined: the bucket is on another server than the records. */
  readonly slotOf: (leg: Pick<SettledLeg, 'bucketKey' | 'limit'>) => number | undefined;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Called with buckets that may have got hits back. */
  readonly onGivenBack: (legs: readonly Pick<SettledLeg, 'bucketKey'>[]) => void;
  readonly onLapsed?: OnLapsed;
  /** Default: the script in `lua/`. */
  readonly script?: Script;
}

/** Attempts: another step may create or drop the record between the read and the step, which then starts over. */
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
    // Lapse first: hits that are due for return must not deny anybody. If the sweep fails, the reservation is decided anyway.
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
      const reply = await this.run(call, decodeStep, options);
      if (reply.kind === 'changed') this.options.onGivenBack(legs);
      if (reply.kind === 'changed' || reply.kind === 'unchanged')
        return { record: reply.stored.record, isChanged: reply.kind === 'changed', isDegraded: false };
      stored = reply.kind === 'otherPlan' ? reply.stored : undefined;
      if (reply.kind === 'none') return undefined;
    }
    throw new StoreError('the record of the reservation changed too often during this step; send the step again', 'other', {
      mayHaveRun: false,
    });
  }

  async extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    return toStep(await this.run(encodeExtend(input, this.keys), decodeStep, options));
  }

  async sweep(tag: string, options: TakeOptions = {}): Promise<number> {
    const { held, ids } = await this.run(encodeDue(tag, SWEPT_AT_ONCE, this.keys), (reply) => decodeDue(reply, SWEPT_AT_ONCE), options);
    // All at once on one connection, which keeps their order.
    const outcomes = await Promise.all(ids.map((id) => this.settle({ name: { tag, id }, target: 'lapsed', actual: 0 }, options)));
    const lapsed = outcomes.filter((outcome) => outcome?.isChanged === true);
    for (const outcome of lapsed) if (outcome !== undefined) this.options.onLapsed?.(outcome.record);
    return Math.max(0, held - lapsed.length);
  }

  private async read({ name }: Pick<SettleInput, 'name'>, options: TakeOptions): Promise<StoredRecord | undefined> {
    return this.run(encodeRead(name, this.keys), decodeRead, options);
  }

  /** If a due reservation has no record any more, its id is removed from the index. */
  private async forget({ name, target }: SettleInput, options: TakeOptions): Promise<undefined> {
    if (target === 'lapsed')
      await this.run(encodeSettle({ name, target, actual: 0, legs: [], plan: '', keepUs: 0 }, this.keys), decodeStep, options);
    return undefined;
  }

  private decide(input: ReserveInput, options: TakeOptions): Promise<ReserveReply> {
    return this.run(encodeReserve(input, this.keys), (reply) => decodeReserve(reply, input), options);
  }

  private run<Answer>({ keys, args }: ScriptArguments, read: ReadReply<Answer>, options: TakeOptions): Promise<Answer> {
    return this.options.run({ keys, args, read, script: this.script }, options);
  }

  private refuseParts(legs: readonly SettledLeg[]): void {
    const slots = new Set(legs.map((leg) => this.options.slotOf(leg)));
    if (slots.size > 1 || slots.has(undefined)) {
      throw new PartsError(
        'the buckets of this reservation are in several slots or Redis servers; reserve descriptors with one value of hash_tag, and without limits that REDIS_PERSECOND moves to the second Redis',
      );
    }
  }
}

function toOutcome(reply: ReserveReply): ReserveOutcome | OutsideWindows {
  switch (reply.kind) {
    case 'known':
      return { kind: 'known', record: reply.stored.record, isDegraded: false };
    case 'decided': {
      const { verdict, granted, stored } = reply;
      return { kind: 'decided', verdict, granted, isDegraded: false, ...(stored && { record: stored.record }) };
    }
    case 'undecided':
      if (reply.why === 'outside') return { outsideAtUs: reply.nowUs };
      throw new StoreError('the key of a bucket holds a value that Weir did not write', 'script', { mayHaveRun: false });
  }
}

function toStep(reply: StepReply): StepOutcome | undefined {
  if (reply.kind === 'none') return undefined;
  return { record: reply.stored.record, isChanged: reply.kind === 'changed', isDegraded: false };
}
