/** Reservations in Redis: each step runs `lua/reserve.lua` once, by the clock of Redis, in the one slot of the buckets. */

import type { OutsideWindows } from '../../domain/bucket/take';
import { haveEdgesOf, withEdgesOf, type SettledLeg } from '../../domain/decide/reservation';
import { monotonicNowMs } from '../../lib/clock';
import { loadScript, type Script } from '../store/redis/script-loader';
import type { ReadReply } from '../store/redis/client/read-reply';
import type { RunScript } from '../store/redis/redis-store';
import type { ScriptArguments } from '../store/redis/script-wire';
import type { TakeOptions } from '../store/port/store';
import { StoreError } from '../store/port/store-error';
import { decodeLapse, encodeLapse, type Due, type LapseInput, type LapseReply } from './lapse-wire';
import { ReservationKeys } from './reservation-keys';
import {
  decodeRead,
  decodeReserve,
  decodeStep,
  encodeExtend,
  encodeRead,
  encodeReserve,
  encodeSettle,
  legsOfPlan,
  type ReserveReply,
  type StepReply,
  type StoredRecord,
} from './reservation-wire';
import {
  PartsError,
  SWEEP_TURN_MS,
  type ExtendInput,
  type OnLapsed,
  type Reservations,
  type ReserveInput,
  type ReserveOutcome,
  type SettleInput,
  type StepOutcome,
  type Swept,
} from './reservations';
import { US_PER_MS } from '../../lib/time-units';

/** Runs a script on the server of its keys. */
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
  /** A monotonic clock, in milliseconds. Default: that of this process. */
  readonly nowMs?: () => number;
}

/** Most legs that lapse in one run of the script: a fraction of a millisecond of Redis. */
const LEGS_AT_ONCE = 40;

/** Runs that are sent together, so that Redis does not wait for this process in between. A decision waits for all of them. */
const RUNS_TOGETHER = 3;

/** Most ids in one reply. */
const IDS_AT_ONCE = RUNS_TOGETHER * LEGS_AT_ONCE;

/** How long a sweep lets another instance go on that lapses the same reservations, in milliseconds. */
const YIELD_MS = 1_000;

/** How long a Reserve that would be denied waits for others to lapse, in milliseconds. */
const RESERVE_TURN_MS = 100;

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
    const turn = { turnMs: first.verdict.overLimit ? RESERVE_TURN_MS : 0, options };
    const swept = await this.lapseDue(input.name.tag, turn).catch(() => undefined);
    return toOutcome(first.verdict.overLimit && swept !== undefined ? await this.decide(input, options) : first);
  }

  async settle(input: SettleInput, options: TakeOptions): Promise<StepOutcome | OutsideWindows | undefined> {
    const { name, target, actual, unknown } = input;
    let stored = await this.read(input, options);
    for (let looks = 1; looks <= LOOKS_MAX; looks += 1) {
      if (stored === undefined && (unknown === undefined || target === 'lapsed')) return undefined;
      if (stored?.record.state === 'committed' || stored?.record.state === 'released')
        return { record: stored.record, isChanged: false, isDegraded: false };
      const current = unknown?.plan.legs ?? [];
      const legs: readonly SettledLeg[] = stored === undefined ? current : withEdgesOf(legsOfPlan(stored.plan), current);
      this.refuseParts(legs);
      const keepUs = stored?.record.keepUs ?? unknown?.keepUs ?? 0;
      const isLast = !haveEdgesOf(legs, current);
      const call = encodeSettle({ name, target, actual, legs, plan: stored?.plan ?? '', keepUs, isLast }, this.keys);
      const reply = await this.run(call, decodeStep, options);
      if (reply.kind === 'outside') return { outsideAtUs: reply.nowUs };
      if (reply.kind === 'changed') this.options.onGivenBack(legs);
      if (reply.kind === 'changed' || reply.kind === 'unchanged')
        return { record: reply.stored.record, isChanged: reply.kind === 'changed', isDegraded: false };
      stored = reply.kind === 'otherPlan' ? reply.stored : undefined;
    }
    throw new StoreError('the record of the reservation changed too often during this step; send the step again', 'other', {
      mayHaveRun: false,
    });
  }

  async extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined> {
    return toStep(await this.run(encodeExtend(input, this.keys), decodeStep, options));
  }

  async sweep(tag: string): Promise<Swept> {
    const { held, firstUs, nowUs, isInVain } = await this.lapseDue(tag, { turnMs: SWEEP_TURN_MS, options: {} });
    if (held === 0) return { held, firstAfterMs: undefined };
    return { held, firstAfterMs: Math.max(isInVain ? YIELD_MS : 0, Math.ceil((firstUs - nowUs) / US_PER_MS)) };
  }

  /** Lapses what is due until nothing is, or the turn is over, but one step in any case. In vain: another instance lapses the same ones. */
  private async lapseDue(
    tag: string,
    { turnMs, options }: { readonly turnMs: number; readonly options: TakeOptions },
  ): Promise<LapseReply & { readonly isInVain: boolean }> {
    const { nowMs = monotonicNowMs } = this.options;
    const untilMs = nowMs() + turnMs;
    let reply = await this.lapse({ tag, due: [], idsMax: IDS_AT_ONCE }, options);
    let isInVain = false;
    while (reply.isFull && !isInVain) {
      // Ids without records are gone already: then one part is empty.
      const parts = inParts(reply.due);
      const last = parts.length - 1;
      const replies: LapseReply[] = [];
      for (let from = 0; from <= last; from += RUNS_TOGETHER) {
        const together = parts
          .slice(from, from + RUNS_TOGETHER)
          .map((due, i) => ({ tag, due, idsMax: from + i === last ? IDS_AT_ONCE : 0 }));
        replies.push(...(await Promise.all(together.map((each) => this.lapse(each, options)))));
      }
      const isGone = parts.some((due, i) => due.some(({ record }, at) => record === undefined || replies[i]?.lapsed[at] === true));
      isInVain = reply.due.length > 0 && !isGone;
      reply = replies[last] ?? reply;
      if (nowMs() >= untilMs) break;
    }
    return { ...reply, isInVain };
  }

  private async lapse(input: LapseInput, options: TakeOptions): Promise<LapseReply> {
    const reply = await this.run(encodeLapse(input, this.keys), (answer) => decodeLapse(answer, input), options);
    for (const [i, { record, legs }] of input.due.entries()) {
      if (reply.lapsed[i] !== true || record === undefined) continue;
      this.options.onGivenBack(legs);
      this.options.onLapsed?.(record);
    }
    return reply;
  }

  private read({ name }: Pick<SettleInput, 'name'>, options: TakeOptions): Promise<StoredRecord | undefined> {
    return this.run(encodeRead(name, this.keys), decodeRead, options);
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

/** Few enough legs in each part that no run of the script delays a decision. */
function inParts(due: readonly Due[]): readonly (readonly Due[])[] {
  const parts: Due[][] = [[]];
  let legs = 0;
  for (const each of due) {
    if (legs > 0 && legs + each.legs.length > LEGS_AT_ONCE) {
      parts.push([]);
      legs = 0;
    }
    parts.at(-1)?.push(each);
    legs += Math.max(1, each.legs.length);
  }
  return parts;
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
  if (!('stored' in reply)) return undefined;
  return { record: reply.stored.record, isChanged: reply.kind === 'changed', isDegraded: false };
}
