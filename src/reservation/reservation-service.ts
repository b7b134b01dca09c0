/** The path of a reservation: match its descriptors to rules, key their buckets, and make one step of it. */

import { randomUUID } from 'node:crypto';
import { domainTag } from '../bucket/bucket-key';
import type { OutsideWindows, Take } from '../bucket/take';
import { toGroup } from '../bucket/to-group';
import type { RateLimitRequest } from '../descriptor/descriptor';
import type { Decision } from '../engine/decision';
import { RESERVATION_LIFE_US_MAX, type Leg, type ReservationRecord, type SettleTarget } from '../engine/reservation';
import { NOTHING_TAKEN, toDecision } from '../engine/to-decision';
import { BadRequestError } from '../errors';
import { DEFAULT_RESERVATION_TERMS, overdraftMaxOf, reservableMax, type Limit } from '../rule/limit';
import { matchRequest, rateLimitsOf, type GlobalModes, type RequestMatch } from '../rule/match';
import type { RuleSet } from '../rule/rule-set';
import { StoreError, type Store, type TakeOptions } from '../store/store';
import { tagOfBucket } from './reservation-keys';
import { UnknownReservationError, type Plan, type ReservationName, type Reservations, type ReserveOutcome, type StepOutcome } from './reservations';

/** Buckets of one reservation: its record names them all. */
export const LEGS_MAX = 64;

/** Characters of an id. */
export const ID_LENGTH_MAX = 128;

/** How long hits are held where nobody says, and at most, in milliseconds. */
export const TTL_MS_DEFAULT = 60_000;
export const TTL_MS_MAX = 3_600_000;

const US_PER_MS = 1_000;

/** How often the store may ask for other windows of the calendar. */
const ASKS_MAX = 4;

/** Visible ASCII. */
const ID = /^[!-~]+$/;

/** What a step is of: descriptors without hits of their own, none if nobody named them. */
export type ReservedRequest = Pick<RateLimitRequest, 'domain' | 'descriptors'>;

export interface ReserveAsk {
  readonly request: ReservedRequest;
  /** Empty: one is made up. */
  readonly id: string;
  /** 0: nothing is charged if a hit is left. */
  readonly hits: number;
  /** Undefined: as long as nobody says. */
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
  /** Present: the id was known, and this is what is kept under it. */
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

/** Told of what became of a step, for metrics. */
export type ReservationOutcome = 'reserved' | 'reduced' | 'denied' | 'committed' | 'released' | 'extended' | 'late' | 'unknown' | 'repeated';

export interface ReservationServiceParts {
  /** The rules in force just now. */
  readonly ruleSet: () => RuleSet;
  readonly reservations: Reservations;
  /** For reports without a reservation. */
  readonly store: Store;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** This process's clock, in microseconds since 1970: a guess at the store's. */
  readonly nowUs: () => number;
  /** Told of each decision, for the metrics of rules. */
  readonly record: (decided: { readonly request: RateLimitRequest; readonly matched: RequestMatch; readonly decision: Decision }) => void;
  readonly onOutcome: (outcome: ReservationOutcome, hits: number) => void;
  /** Told of each tag whose reservations are to be swept. */
  readonly onTag: (tag: string) => void;
}

/** A request under its rules. */
interface Planned {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly plan: Plan;
  readonly tag: string;
}

/** Each method throws BadRequestError, StoreError, PartsError or UnknownReservationError. */
export class ReservationService {
  constructor(private readonly parts: ReservationServiceParts) {}

  async reserve({ request, id, hits, ttlMs = TTL_MS_DEFAULT }: ReserveAsk, options: TakeOptions): Promise<ReserveAnswer> {
    checkTtl(ttlMs);
    if (id !== '') checkId(id);
    const planned = this.plan(request, hits);
    const name = { tag: planned.tag, id: id === '' ? randomUUID() : id };
    if (planned.plan.legs.length === 0) return this.reserveNothing(planned, name, ttlMs);
    const ttlUs = ttlMs * US_PER_MS;
    const outcome = await this.ask(planned, hits, (plan) => this.parts.reservations.reserve({ name, plan, asked: hits, ttlUs, keepUs: keepUsOf(plan.legs, ttlUs) }, options));
    this.parts.onTag(name.tag);
    return outcome.kind === 'known' ? this.answerKnown(name, outcome) : this.answerDecided(name, outcome, { planned, hits });
  }

  commit({ request, id, hits }: StepAsk & { readonly hits: number }, options: TakeOptions): Promise<StepAnswer> {
    return this.settle({ request, id }, { target: 'committed', actual: hits }, options);
  }

  release(ask: StepAsk, options: TakeOptions): Promise<StepAnswer> {
    return this.settle(ask, { target: 'released', actual: 0 }, options);
  }

  async extend({ request, id, ttlMs = TTL_MS_DEFAULT }: StepAsk & { readonly ttlMs: number | undefined }, options: TakeOptions): Promise<StepAnswer> {
    checkTtl(ttlMs);
    checkId(id);
    const name = { id, tag: this.tagOf(request) };
    const outcome = await this.parts.reservations.extend({ name, ttlUs: ttlMs * US_PER_MS }, options);
    this.parts.onTag(name.tag);
    if (outcome === undefined) throw unknownReservation();
    this.parts.onOutcome(outcome.isChanged ? 'extended' : 'repeated', 0);
    return this.toStepAnswer(name, outcome);
  }

  /** Charges hits that were used in full, whatever is left. */
  async report(request: ReservedRequest, hits: number, options: TakeOptions): Promise<Decision> {
    const planned = this.plan(request, hits);
    const { legs } = planned.plan;
    if (legs.length === 0) return toDecision(planned.matched, NOTHING_TAKEN);
    const verdict = await this.ask(planned, hits, async ({ legs: asked }) => {
      const takes = asked.map(({ bucketKey, limit, mode, descriptor, overdraftMax, failureMode }): Take => {
        const take = { bucketKey, limit, hits, mode, descriptor, overdraftMax };
        return failureMode === undefined ? take : { ...take, failureMode };
      });
      const [outcome] = await this.parts.store.take([{ takes, quotaAlwaysFits: planned.plan.quotaAlwaysFits, shadow: planned.plan.shadow }], options);
      if (outcome === undefined) throw new Error('the store answered no outcome for a group');
      if (outcome instanceof StoreError) throw outcome;
      return outcome;
    });
    const decision = toDecision(planned.matched, verdict);
    this.parts.record({ request: planned.request, matched: planned.matched, decision });
    return decision;
  }

  private async settle({ request, id }: StepAsk, { target, actual }: { readonly target: SettleTarget; readonly actual: number }, options: TakeOptions): Promise<StepAnswer> {
    checkId(id);
    const isNamed = request.descriptors.length > 0;
    const planned = isNamed ? this.plan(request, actual) : undefined;
    const name = { id, tag: planned?.tag ?? this.tagOf(request) };
    const plan = planned?.plan;
    const unknown = plan === undefined || plan.legs.length === 0 ? undefined : { plan, keepUs: keepUsOf(plan.legs, TTL_MS_DEFAULT * US_PER_MS) };
    const outcome = await this.parts.reservations.settle({ name, target, actual, unknown }, options);
    if (outcome === undefined && planned?.plan.legs.length !== 0) throw unknownReservation();
    if (outcome === undefined) return nothingSettled(id, target, actual);
    const { record, isChanged } = outcome;
    this.parts.onOutcome(outcomeOf(record, isChanged), target === 'committed' && isChanged ? actual : 0);
    return this.toStepAnswer(name, outcome);
  }

  /** Asks anew, around the store's own time, as long as that lies outside the calendar windows that were named. */
  private async ask<Outcome extends object>(planned: Planned, hits: number, ask: (plan: Plan) => Promise<Outcome | OutsideWindows>): Promise<Outcome> {
    let outcome = await ask(planned.plan);
    for (let asks = 1; 'outsideAtUs' in outcome && asks < ASKS_MAX; asks += 1) {
      const { outsideAtUs } = outcome;
      outcome = await ask(this.planAt(planned.request, planned.matched, () => outsideAtUs, hits));
    }
    if ('outsideAtUs' in outcome) throw new Error(`the store asked for other calendar windows ${ASKS_MAX} times`);
    return outcome;
  }

  private plan({ domain, descriptors }: ReservedRequest, hits: number): Planned {
    const request: RateLimitRequest = { domain, descriptors, hits };
    // What is reserved are hits: a request that is yet to come is not in flight.
    const matched = rateLimitsOf(matchRequest({ ruleSet: this.parts.ruleSet(), request, modes: this.parts.modes }));
    const plan = this.planAt(request, matched, this.parts.nowUs, hits);
    if (plan.legs.length > LEGS_MAX) throw new BadRequestError(`descriptors has ${plan.legs.length} limits; a reservation has at most ${LEGS_MAX}`);
    const [first] = plan.legs;
    const tag = first === undefined ? domainTag(domain) : tagOfBucket(first.bucketKey, this.parts.keyPrefix);
    return { request, matched, plan, tag };
  }

  private planAt(request: RateLimitRequest, matched: RequestMatch, nowUs: () => number, hits: number): Plan {
    const { keyPrefix, modes } = this.parts;
    const { takes, quotaAlwaysFits, shadow } = toGroup({ request: { ...request, hits }, matched, keyPrefix, shadow: modes.shadow, nowUs });
    const limits = matched.matches.flatMap((match) => match.limits);
    const legs = takes.flatMap((take, i) => {
      const limit = limits[i];
      return limit === undefined ? [] : [toLeg(take, limit, shadow)];
    });
    return { legs, quotaAlwaysFits, shadow };
  }

  /** Where descriptors spread a domain, its reservations are found by them alone. */
  private tagOf(request: ReservedRequest): string {
    if (request.descriptors.length > 0) return this.plan(request, 0).tag;
    if (this.parts.ruleSet().domains.get(request.domain)?.hashTag !== undefined) {
      throw new BadRequestError('descriptors must be those of the reservation; the domain has a hash_tag');
    }
    return domainTag(request.domain);
  }

  private reserveNothing({ request, matched }: Planned, { id }: ReservationName, ttlMs: number): ReserveAnswer {
    const decision = toDecision(matched, NOTHING_TAKEN);
    this.parts.record({ request, matched, decision });
    return { decision, id, granted: request.hits, expiresInUs: ttlMs * US_PER_MS, isShareExhausted: false, isDegraded: false };
  }

  private answerKnown({ id }: ReservationName, { record, isDegraded }: ReserveOutcome & { readonly kind: 'known' }): ReserveAnswer {
    this.parts.onOutcome('repeated', 0);
    const decision: Decision = { overallCode: 'OK', statuses: [] };
    return { decision, id, granted: record.granted, expiresInUs: this.expiresInUs(record), isShareExhausted: false, known: record, isDegraded };
  }

  private answerDecided({ id }: ReservationName, outcome: ReserveOutcome & { readonly kind: 'decided' }, { planned, hits }: { readonly planned: Planned; readonly hits: number }): ReserveAnswer {
    const { verdict, granted, record, isDegraded } = outcome;
    const { matched } = planned;
    const decision = toDecision(matched, verdict);
    const isDenied = record === undefined;
    this.parts.record({ request: { ...planned.request, hits: isDenied ? hits : granted }, matched, decision });
    this.parts.onOutcome(isDenied ? 'denied' : granted < hits ? 'reduced' : 'reserved', isDenied ? hits : granted);
    const isShareExhausted = isDenied && granted === 0 && hits > 0;
    if (isDenied) return { decision, id: '', granted: 0, expiresInUs: 0, isShareExhausted, isDegraded };
    return { decision, id, granted, expiresInUs: record.expiresUs - record.madeUs, isShareExhausted, isDegraded };
  }

  private toStepAnswer({ id }: ReservationName, { record, isChanged, isDegraded }: StepOutcome): StepAnswer {
    return { id, record, expiresInUs: this.expiresInUs(record), isChanged, isDegraded };
  }

  /** By this process's clock. */
  private expiresInUs({ state, expiresUs }: ReservationRecord): number {
    return state === 'held' ? Math.max(0, expiresUs - this.parts.nowUs()) : 0;
  }
}

function toLeg({ bucketKey, limit: bucketLimit, mode, descriptor }: Take, limit: Limit, shadow: boolean): Leg {
  const { onLapse } = limit.reservations ?? DEFAULT_RESERVATION_TERMS;
  return {
    bucketKey,
    limit: bucketLimit,
    mode,
    descriptor,
    shareMax: shadow || mode === 'shadow' ? undefined : reservableMax(limit),
    overdraftMax: overdraftMaxOf(limit) ?? limit.capacity,
    keepsOnLapse: onLapse === 'charge',
    ...(limit.failureMode && { failureMode: limit.failureMode }),
  };
}

/** Until the longest window of its limits is over: then its hits count no more. */
function keepUsOf(legs: readonly Leg[], ttlUs: number): number {
  return Math.min(RESERVATION_LIFE_US_MAX, Math.max(ttlUs, ...legs.map(({ limit }) => limit.windowUs)));
}

function outcomeOf({ state, isUnknown, isLate }: ReservationRecord, isChanged: boolean): ReservationOutcome {
  if (!isChanged) return 'repeated';
  if (isUnknown) return 'unknown';
  if (isLate) return 'late';
  return state === 'committed' ? 'committed' : 'released';
}

/** Nothing limits the descriptors, so nothing was held of them. */
function nothingSettled(id: string, target: SettleTarget, actual: number): StepAnswer {
  const record = { state: target, granted: 0, actual: target === 'committed' ? actual : 0, cut: 0, isLate: false, isUnknown: true };
  return { id, record, expiresInUs: 0, isChanged: true, isDegraded: false };
}

function unknownReservation(): UnknownReservationError {
  return new UnknownReservationError('no reservation of this id is known; it was never made, or it is long over');
}

/** @throws BadRequestError */
function checkId(id: string): void {
  if (id === '') throw new BadRequestError('id must not be empty; send that of the reservation');
  if (id.length > ID_LENGTH_MAX) throw new BadRequestError(`id has ${id.length} characters; send at most ${ID_LENGTH_MAX}`);
  if (!ID.test(id)) throw new BadRequestError('id must be printable ASCII without spaces');
}

/** @throws BadRequestError */
function checkTtl(ttlMs: number): void {
  if (!(ttlMs >= 1 && ttlMs <= TTL_MS_MAX)) throw new BadRequestError(`ttl must be from 1 ms to ${TTL_MS_MAX / 1_000} s`);
}
