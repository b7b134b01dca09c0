/** The path of a reservation step: match its descriptors to rules, key their buckets, and make the step. */

import { randomUUID } from 'node:crypto';
import { domainTag } from '../../domain/bucket/bucket-key';
import { isOutsideWindows, type OutsideWindows, type Take } from '../../domain/bucket/take';
import { toGroup } from '../../domain/bucket/to-group';
import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { Decision } from '../../domain/decide/decision';
import { RESERVATION_LIFE_US_MAX, type Leg, type ReservationRecord, type SettleTarget } from '../../domain/decide/reservation';
import { NOTHING_TAKEN, toDecision } from '../../domain/decide/to-decision';
import { BadRequestError } from '../../lib/errors';
import { DEFAULT_RESERVATION_TERMS, overdraftMaxOf, reservableMax, type Limit } from '../../domain/rule/limit';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import type { ControlView } from '../../domain/rule/control-view';
import {
  matchRequest,
  rateLimitsOf,
  type FairLevels,
  type GlobalModes,
  type MatchControl,
  type MatchInput,
  type RequestMatch,
} from '../../domain/rule/match';
import type { RuleSet } from '../../domain/rule/rule-set';
import type { Store, TakeOptions } from '../store/port/store';
import { StoreError } from '../store/port/store-error';
import { tagOfBucket } from './reservation-keys';
import { recordBytesOf, RECORD_BYTES_MAX } from './reservation-wire';
import {
  UnknownReservationError,
  type ReservationPlan,
  type ReservationName,
  type Reservations,
  type ReserveOutcome,
  type StepOutcome,
} from './reservations';
import { US_PER_MS } from '../../lib/time-units';

/** Maximum of buckets in a reservation, because its record names them all. */
export const LEGS_MAX = 64;

/** Maximum length of an id. */
export const ID_LENGTH_MAX = 128;

/** Default and maximum time that hits are held, in milliseconds. */
export const TTL_MS_DEFAULT = 60_000;
export const TTL_MS_MAX = 3_600_000;

/** How often the store may request other calendar windows. */
const ASKS_MAX = 4;

/** Printable ASCII. */
const ID = /^[!-~]+$/;

/** The request of a step: descriptors without own hits; the list is empty if the caller sent none. */
export type ReservedRequest = Pick<RateLimitRequest, 'domain' | 'descriptors'>;

export interface ReserveAsk {
  readonly request: ReservedRequest;
  /** Empty: Weir generates one. */
  readonly id: string;
  /** 0: a check, which charges nothing. */
  readonly hits: number;
  /** Undefined: the default. */
  readonly ttlMs: number | undefined;
}

export interface StepAsk {
  readonly request: ReservedRequest;
  readonly id: string;
}

export interface ReserveAnswer {
  readonly decision: Decision;
  readonly id: string;
  readonly granted: number;
  readonly expiresInUs: number;
  readonly isShareExhausted: boolean;
  /** Set if the id was known already: its record. */
  readonly known?: ReservationRecord;
  readonly isDegraded: boolean;
}

export interface StepAnswer {
  readonly id: string;
  readonly record: Pick<ReservationRecord, 'state' | 'granted' | 'actual' | 'cut' | 'isLate' | 'isUnknown'>;
  readonly expiresInUs: number;
  readonly isChanged: boolean;
  readonly isDegraded: boolean;
}

/** Outcome of a step, for metrics. */
export type ReservationOutcome =
  'reserved' | 'reduced' | 'denied' | 'committed' | 'released' | 'extended' | 'late' | 'unknown' | 'repeated';

export interface ReservationServiceParts {
  /** The rules in force now. */
  readonly ruleSet: () => RuleSet;
  readonly reservations: Reservations;
  /** Charges reports without a reservation. */
  readonly store: Store;
  readonly modes: GlobalModes;
  /** The changes of operators while Weir runs. Absent: control data are off. */
  readonly control?: ControlView | undefined;
  /** How limits are divided among members. Absent: members may use whole limits. */
  readonly fair?: FairLevels | undefined;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** This process's clock, in microseconds since 1970: an estimate of the store's. */
  readonly nowUs: () => number;
  /** Called with each decision, for the metrics of rules. */
  readonly record: (decided: DecidedRequest) => void;
  readonly onOutcome: (outcome: ReservationOutcome, hits: number) => void;
  /** Called when a reservation of the tag lapses after that time, unless it is settled. */
  readonly onHeld: (tag: string, lapsesAfterMs: number) => void;
}

/** A request with its match and plan. */
interface Planned {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly plan: ReservationPlan;
  readonly tag: string;
}

/** Each method rejects with BadRequestError, StoreError, PartsError or UnknownReservationError. */
export class ReservationService {
  constructor(private readonly parts: ReservationServiceParts) {}

  async reserve({ request, id, hits, ttlMs = TTL_MS_DEFAULT }: ReserveAsk, options: TakeOptions): Promise<ReserveAnswer> {
    checkTtl(ttlMs);
    if (id !== '') checkId(id);
    const planned = this.plan(request, hits, { control: this.parts.control });
    if (planned.matched.blocked === true) return this.refuseBlocked(planned, hits);
    const name = { tag: planned.tag, id: id === '' ? randomUUID() : id };
    if (planned.plan.legs.length === 0) return this.reserveNothing(planned, name, ttlMs);
    const ttlUs = ttlMs * US_PER_MS;
    const outcome = await this.ask(planned, hits, (plan) =>
      this.parts.reservations.reserve({ name, plan, asked: hits, ttlUs, keepUs: keepUsOf(plan.legs, ttlUs) }, options),
    );
    if (outcome.record?.state === 'held') this.parts.onHeld(name.tag, ttlMs);
    return outcome.kind === 'known' ? this.answerKnown(name, outcome) : this.answerDecided(name, outcome, { planned, hits });
  }

  commit({ request, id, hits }: StepAsk & { readonly hits: number }, options: TakeOptions): Promise<StepAnswer> {
    return this.settle({ request, id }, { target: 'committed', actual: hits }, options);
  }

  release(ask: StepAsk, options: TakeOptions): Promise<StepAnswer> {
    return this.settle(ask, { target: 'released', actual: 0 }, options);
  }

  async extend(
    { request, id, ttlMs = TTL_MS_DEFAULT }: StepAsk & { readonly ttlMs: number | undefined },
    options: TakeOptions,
  ): Promise<StepAnswer> {
    checkTtl(ttlMs);
    checkId(id);
    const name = { id, tag: this.tagOf(request) };
    const outcome = await this.parts.reservations.extend({ name, ttlUs: ttlMs * US_PER_MS }, options);
    if (outcome === undefined) throw unknownReservation();
    if (outcome.record.state === 'held') this.parts.onHeld(name.tag, ttlMs);
    this.parts.onOutcome(outcome.isChanged ? 'extended' : 'repeated', 0);
    return this.toStepAnswer(name, outcome);
  }

  /** Charges used hits in full, even beyond the limit. */
  async report(request: ReservedRequest, hits: number, options: TakeOptions): Promise<Decision> {
    const planned = this.planStep(request, hits);
    const { legs } = planned.plan;
    if (legs.length === 0) return toDecision(planned.matched, NOTHING_TAKEN, this.parts.nowUs);
    const verdict = await this.ask(planned, hits, async ({ legs: planLegs }) => {
      const takes = planLegs.map(({ bucketKey, limit, mode, descriptor, overdraftMax, failureMode }): Take => {
        const take = { bucketKey, limit, hits, mode, descriptor, overdraftMax };
        return failureMode === undefined ? take : { ...take, failureMode };
      });
      const [outcome] = await this.parts.store.take(
        [{ takes, quotaAlwaysFits: planned.plan.quotaAlwaysFits, shadow: planned.plan.shadow }],
        options,
      );
      if (outcome === undefined) throw new Error('the store answered no outcome for a group');
      if (outcome instanceof StoreError) throw outcome;
      return outcome;
    });
    const decision = toDecision(planned.matched, verdict, this.parts.nowUs);
    this.parts.record({ request: planned.request, matched: planned.matched, verdict, decision });
    return decision;
  }

  private async settle(
    { request, id }: StepAsk,
    { target, actual }: { readonly target: SettleTarget; readonly actual: number },
    options: TakeOptions,
  ): Promise<StepAnswer> {
    checkId(id);
    const isNamed = request.descriptors.length > 0;
    const planned = isNamed ? this.planStep(request, actual) : undefined;
    const name = { id, tag: planned?.tag ?? this.tagOf(request) };
    const settleBy = (plan: ReservationPlan | undefined) => {
      const isCharged = plan !== undefined && plan.legs.length > 0;
      const unknown = isCharged ? { plan, keepUs: keepUsOf(plan.legs, TTL_MS_DEFAULT * US_PER_MS) } : undefined;
      return this.parts.reservations.settle({ name, target, actual, unknown }, options);
    };
    const outcome = planned === undefined ? await settleBy(undefined) : await this.ask(planned, actual, settleBy);
    if (outcome === undefined && planned?.plan.legs.length !== 0) throw unknownReservation();
    if (outcome === undefined) return nothingSettled(id, target, actual);
    if ('outsideAtUs' in outcome) throw new Error('calendar windows were requested of a step without descriptors');
    const { record, isChanged } = outcome;
    this.parts.onOutcome(outcomeOf(record, isChanged), target === 'committed' && isChanged ? actual : 0);
    return this.toStepAnswer(name, outcome);
  }

  /** Repeats the step with the calendar windows around the store's own time, if that lies outside the windows sent. */
  private async ask<Outcome extends object | undefined>(
    planned: Planned,
    hits: number,
    ask: (plan: ReservationPlan) => Promise<Outcome | OutsideWindows>,
  ): Promise<Outcome> {
    let outcome = await ask(planned.plan);
    for (let asks = 1; isOutsideWindows(outcome) && asks < ASKS_MAX; asks += 1) {
      const { outsideAtUs } = outcome;
      outcome = await ask(this.planAt(planned.request, planned.matched, () => outsideAtUs, hits));
    }
    if (isOutsideWindows(outcome)) throw new Error(`the store requested other calendar windows ${ASKS_MAX} times`);
    return outcome;
  }

  /** The plan of a later step: a block or a pass that was made meanwhile must not hide the buckets of the reservation. */
  private planStep(asked: ReservedRequest, hits: number): Planned {
    const { control } = this.parts;
    return this.plan(asked, hits, { control: control && overridesOf(control), admitsAll: true });
  }

  private plan({ domain, descriptors }: ReservedRequest, hits: number, view: Pick<MatchInput, 'control' | 'admitsAll'>): Planned {
    const request: RateLimitRequest = { domain, descriptors, hits };
    // Limits on requests in flight do not apply: a reservation counts hits of a future request.
    const { ruleSet, modes, fair } = this.parts;
    const matched = rateLimitsOf(matchRequest({ ruleSet: ruleSet(), request, modes, fair, ...view }));
    const plan = this.planAt(request, matched, this.parts.nowUs, hits);
    if (plan.legs.length > LEGS_MAX)
      throw new BadRequestError(`descriptors has ${plan.legs.length} limits; a reservation has at most ${LEGS_MAX}`);
    checkBytes(plan.legs);
    const [first] = plan.legs;
    const tag = first === undefined ? domainTag(domain) : tagOfBucket(first.bucketKey, this.parts.keyPrefix);
    return { request, matched, plan, tag };
  }

  private planAt(request: RateLimitRequest, matched: RequestMatch, nowUs: () => number, hits: number): ReservationPlan {
    const { keyPrefix, modes } = this.parts;
    const { takes, quotaAlwaysFits, shadow } = toGroup({ request: { ...request, hits }, matched, keyPrefix, shadow: modes.shadow, nowUs });
    const limits = matched.matches.flatMap((match) => match.limits);
    const legs = takes.flatMap((take, i) => {
      const limit = limits[i];
      return limit === undefined ? [] : [toLeg(take, limit, shadow)];
    });
    return { legs, quotaAlwaysFits, shadow };
  }

  /** The tag that spreads the domain's reservations; steps find a reservation only by it. */
  private tagOf(request: ReservedRequest): string {
    if (request.descriptors.length > 0) return this.planStep(request, 0).tag;
    if (this.parts.ruleSet().domains.get(request.domain)?.hashTag !== undefined) {
      throw new BadRequestError('descriptors must repeat those of the reservation, because the domain has a hash_tag');
    }
    return domainTag(request.domain);
  }

  private reserveNothing({ request, matched }: Planned, { id }: ReservationName, ttlMs: number): ReserveAnswer {
    const decision = toDecision(matched, NOTHING_TAKEN, this.parts.nowUs);
    this.parts.record({ request, matched, verdict: NOTHING_TAKEN, decision });
    return { decision, id, granted: request.hits, expiresInUs: ttlMs * US_PER_MS, isShareExhausted: false, isDegraded: false };
  }

  private refuseBlocked({ request, matched }: Planned, hits: number): ReserveAnswer {
    const decision = toDecision(matched, NOTHING_TAKEN, this.parts.nowUs);
    this.parts.record({ request, matched, verdict: NOTHING_TAKEN, decision });
    this.parts.onOutcome('denied', hits);
    return { decision, id: '', granted: 0, expiresInUs: 0, isShareExhausted: false, isDegraded: false };
  }

  private answerKnown({ id }: ReservationName, { record, isDegraded }: ReserveOutcome & { readonly kind: 'known' }): ReserveAnswer {
    this.parts.onOutcome('repeated', 0);
    const decision: Decision = { overallCode: 'OK', statuses: [] };
    return {
      decision,
      id,
      granted: record.granted,
      expiresInUs: this.expiresInUs(record),
      isShareExhausted: false,
      known: record,
      isDegraded,
    };
  }

  private answerDecided(
    { id }: ReservationName,
    outcome: ReserveOutcome & { readonly kind: 'decided' },
    { planned, hits }: { readonly planned: Planned; readonly hits: number },
  ): ReserveAnswer {
    const { verdict, granted, record, isDegraded } = outcome;
    const { matched } = planned;
    const decision = toDecision(matched, verdict, this.parts.nowUs);
    const isDenied = record === undefined;
    this.parts.record({ request: { ...planned.request, hits: isDenied ? hits : granted }, matched, verdict, decision });
    this.parts.onOutcome(isDenied ? 'denied' : granted < hits ? 'reduced' : 'reserved', isDenied ? hits : granted);
    const isShareExhausted = isDenied && granted === 0 && hits > 0;
    if (isDenied) return { decision, id: '', granted: 0, expiresInUs: 0, isShareExhausted, isDegraded };
    return { decision, id, granted, expiresInUs: record.expiresUs - record.madeUs, isShareExhausted, isDegraded };
  }

  private toStepAnswer({ id }: ReservationName, { record, isChanged, isDegraded }: StepOutcome): StepAnswer {
    return { id, record, expiresInUs: this.expiresInUs(record), isChanged, isDegraded };
  }

  /** Time until the lapse, by this process's clock. */
  private expiresInUs({ state, expiresUs }: ReservationRecord): number {
    return state === 'held' ? Math.max(0, expiresUs - this.parts.nowUs()) : 0;
  }
}

function overridesOf(control: MatchControl): MatchControl {
  return {
    planOf: (domain, tenant) => control.planOf(domain, tenant),
    parentOf: (domain, tenant) => control.parentOf(domain, tenant),
    planLimits: (domain, plan) => control.planLimits(domain, plan),
    stageOf: (domain, name) => control.stageOf(domain, name),
    select: (domain, entries) => {
      const selection = control.select(domain, entries);
      if (selection?.block === undefined && selection?.pass === undefined) return selection;
      return { overrides: selection.overrides };
    },
  };
}

function toLeg({ bucketKey, limit: bucketLimit, mode, descriptor }: Take, limit: Limit, shadow: boolean): Leg {
  const { onLapse } = limit.reservations ?? DEFAULT_RESERVATION_TERMS;
  return {
    bucketKey,
    limit: bucketLimit,
    mode,
    descriptor,
    shareMax: shadow || mode === 'shadow' ? undefined : reservableMax(limit),
    // As far below zero as the whole limit.
    overdraftMax: overdraftMaxOf(limit) ?? limit.capacity + 2 * (limit.reserved ?? 0),
    keepsOnLapse: onLapse === 'charge',
    ...(limit.failureMode && { failureMode: limit.failureMode }),
  };
}

/** Until the longest window of its limits has passed: after that its hits no longer count. */
function keepUsOf(legs: readonly Leg[], ttlUs: number): number {
  return Math.min(RESERVATION_LIFE_US_MAX, Math.max(ttlUs, ...legs.map(({ limit }) => limit.windowUs)));
}

function outcomeOf({ state, isUnknown, isLate }: ReservationRecord, isChanged: boolean): ReservationOutcome {
  if (!isChanged) return 'repeated';
  if (isUnknown) return 'unknown';
  if (isLate) return 'late';
  return state === 'committed' ? 'committed' : 'released';
}

/** The answer for descriptors without a limit: nothing was held. */
function nothingSettled(id: string, target: SettleTarget, actual: number): StepAnswer {
  const record = { state: target, granted: 0, actual: target === 'committed' ? actual : 0, cut: 0, isLate: false, isUnknown: true };
  return { id, record, expiresInUs: 0, isChanged: true, isDegraded: false };
}

function unknownReservation(): UnknownReservationError {
  return new UnknownReservationError('no reservation has this id; it was never made, or it ended long ago');
}

/** @throws BadRequestError */
function checkId(id: string): void {
  if (id === '') throw new BadRequestError('id must not be empty; send the id of the reservation');
  if (id.length > ID_LENGTH_MAX) throw new BadRequestError(`id has ${id.length} characters; send at most ${ID_LENGTH_MAX}`);
  if (!ID.test(id)) throw new BadRequestError('id must be printable ASCII without spaces');
}

/** @throws BadRequestError if their record would exceed its maximum */
function checkBytes(legs: readonly Leg[]): void {
  const bytes = recordBytesOf(legs);
  if (bytes <= RECORD_BYTES_MAX) return;
  throw new BadRequestError(
    `descriptors has ${legs.length} limits, whose record needs ${bytes} bytes; send fewer or shorter ones, for at most ${RECORD_BYTES_MAX}`,
  );
}

/** @throws BadRequestError */
function checkTtl(ttlMs: number): void {
  if (!(ttlMs >= 1 && ttlMs <= TTL_MS_MAX)) throw new BadRequestError(`ttl must be from 1 ms to ${TTL_MS_MAX / 1_000} s`);
}
