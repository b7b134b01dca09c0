/** Decides requests as a server with the embedded store would, in a time that the caller gives. */

import { additionsFor, type AdditionOptions } from '../../domain/respond/response-additions';
import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { Decision } from '../../domain/decide/decision';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import type { GlobalModes } from '../../domain/rule/match';
import type { RuleSet } from '../../domain/rule/rule-set';
import { makeShouldRateLimit, type Decide } from '../../should-rate-limit';
import { ControlData } from '../../state/control/control-data';
import { keyOf, type ControlRecord } from '../../state/control/control-record';
import { ExpiryQueue } from '../../lib/expiry-queue';
import { US_PER_MS } from '../../lib/time-units';
import { MemoryReservations } from '../../state/reservation/memory-reservations';
import { ReservationService, type ReserveAnswer, type StepAnswer } from '../../state/reservation/reservation-service';
import { MemoryStore } from '../../state/store/memory/memory-store';

export interface VirtualServiceOptions {
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Control data; empty: there are none. */
  readonly records: readonly ControlRecord[];
  /** Headers and bodies of answers. Absent: none. */
  readonly additions?: AdditionOptions | undefined;
  /** The time at first, in microseconds since 1970. */
  readonly startUs: number;
  readonly bucketsMax: number;
}

/** The answer to a request, with the matches and verdicts behind it. */
export interface VirtualDecision {
  readonly decision: Decision;
  readonly decided: DecidedRequest;
}

/** A step of a reservation, by its id. `ttlMs` undefined: the default. */
export type ReservationStep =
  | { readonly kind: 'reserve'; readonly id: string; readonly hits: number; readonly ttlMs: number | undefined }
  | { readonly kind: 'commit'; readonly id: string; readonly hits: number }
  | { readonly kind: 'release'; readonly id: string }
  | { readonly kind: 'extend'; readonly id: string; readonly ttlMs: number | undefined };

/** The answer to a step. */
export type VirtualStep =
  | { readonly kind: 'reserved'; readonly answer: ReserveAnswer; readonly decided: DecidedRequest | undefined }
  | { readonly kind: 'stepped'; readonly answer: StepAnswer };

/** As many as a server with the embedded store holds. */
const RESERVATIONS_MAX = 100_000;
const RESERVATION_BYTES_MAX = 64 * 1024 * 1024;

export class VirtualService {
  private readonly decide: Decide;
  /** Undefined: the caller gave no records. */
  readonly control: ControlData | undefined;
  private readonly reservations: MemoryReservations;
  private readonly steps: ReservationService;
  /** The tags in which a reservation may lapse, by its time. */
  private readonly lapses = new ExpiryQueue<string>();
  private nowUs: number;
  private decided: DecidedRequest | undefined;

  constructor({ ruleSet, modes, keyPrefix, records, additions, startUs, bucketsMax }: VirtualServiceOptions) {
    this.nowUs = startUs;
    const nowUs = () => this.nowUs;
    this.control = records.length === 0 ? undefined : controlOf(records);
    const store = new MemoryStore({ nowUs, bucketsMax });
    const parts = {
      ruleSet: () => ruleSet,
      store,
      modes,
      control: this.control,
      keyPrefix,
      nowUs,
      record: (decided: DecidedRequest) => {
        this.decided = decided;
      },
    };
    this.decide = makeShouldRateLimit({
      ...parts,
      ...(additions && { additions: (rules: RuleSet) => additionsFor(rules, additions) }),
    });
    this.reservations = new MemoryReservations({ store, nowUs, recordsMax: RESERVATIONS_MAX, bytesMax: RESERVATION_BYTES_MAX });
    this.steps = new ReservationService({
      ...parts,
      reservations: this.reservations,
      onOutcome: () => undefined,
      onHeld: (tag, lapsesAfterMs) => this.lapses.add(this.nowUs + lapsesAfterMs * US_PER_MS, tag),
    });
  }

  /**
   * Decides a request at a time that is not before that of an earlier one, in microseconds since 1970.
   *
   * @throws BadRequestError for an invalid request
   */
  async ask(request: RateLimitRequest, atUs: number): Promise<VirtualDecision> {
    if (this.lapses.first !== undefined) await this.lapse(atUs);
    this.setTime(atUs);
    const before = this.decided;
    const [outcome] = await this.decide([request], {});
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('a request without an outcome');
    if (this.decided === undefined || this.decided === before) throw new Error('a decision that was not recorded');
    return { decision: outcome, decided: this.decided };
  }

  /**
   * Makes a step of a reservation, at a time as for `ask`.
   *
   * @throws BadRequestError for an invalid step, UnknownReservationError if its id is unknown and it charges nothing
   */
  async step(step: ReservationStep, request: RateLimitRequest, atUs: number): Promise<VirtualStep> {
    await this.lapse(atUs);
    this.setTime(atUs);
    if (step.kind === 'reserve') {
      this.decided = undefined;
      const answer = await this.steps.reserve({ request, ...step }, {});
      return { kind: 'reserved', answer, decided: this.decided };
    }
    const ask = { request, id: step.id };
    if (step.kind === 'commit') return { kind: 'stepped', answer: await this.steps.commit({ ...ask, hits: step.hits }, {}) };
    if (step.kind === 'release') return { kind: 'stepped', answer: await this.steps.release(ask, {}) };
    return { kind: 'stepped', answer: await this.steps.extend({ ...ask, ttlMs: step.ttlMs }, {}) };
  }

  private setTime(atUs: number): void {
    this.nowUs = atUs;
    this.control?.expire(atUs);
  }

  /** Lapses what is due up to that time, each at its own: a server does so within half a second. */
  private async lapse(untilUs: number): Promise<void> {
    for (let first = this.lapses.first; first !== undefined && first.until <= untilUs; first = this.lapses.first) {
      this.lapses.remove(first);
      this.setTime(first.until);
      while ((await this.reservations.sweep(first.key)).firstAfterMs === 0);
    }
  }
}

function controlOf(records: readonly ControlRecord[]): ControlData {
  const data = new ControlData();
  records.forEach((record, index) => {
    data.apply({ key: keyOf(record), version: index + 1, record });
  });
  return data;
}
