/** Compiles the limits of a descriptor or of a plan. */

import { CALENDAR_ALGORITHM, TOTAL_ALGORITHM, type Algorithm } from '../../domain/algorithm/algorithms';
import type { ByteString } from '../../domain/descriptor/descriptor';
import { joinPath } from '../../lib/quote';
import {
  type Leases,
  DEFAULT_RESERVATION_TERMS,
  isLimitProblem,
  makeLimit,
  windowName,
  type Limit,
  type LimitTerms,
  type Overdraft,
  type ReservationTerms,
  type ResponseHeaders,
} from '../../domain/rule/limit';
import type { ValuesOf } from './field-types/field';
import type { StagedLimits } from '../../domain/rule/rule-set';
import { StageCompiler, type LimitOwner } from './compile-stages';
import { eventLinesOf } from './fields/events';
import type { RESERVATIONS } from './fields/reservations';
import { amountFormOf } from './fields/show';
import { softLinesOf } from './fields/soft';
import { warnOfLimit } from './limit-warnings';
import type { LimitedSpec, RateLimitSpec } from './read/read-limits';

/** Its terms are those of limits that do not say their own. */
export interface LimitDefaults extends Pick<LimitTerms, 'failureMode' | 'responseHeaders' | 'responseBody' | 'leases'> {
  readonly domain: ByteString;
  /** For limits without `algorithm`. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`: months are calendar months in UTC. */
  readonly calendarMonth: boolean;
  /** Whether limits without `overdraft` take usage reports. */
  readonly defaultOverdraft: boolean;
}

/** Shared by the many rules without entries here: an array for each would take a tenth of the memory of all rules. */
export const NONE: readonly never[] = [];

/** The result of compiling the limits of a rule or a plan. */
export interface CompiledLimits {
  readonly limits: readonly Limit[];
  readonly unlimited: boolean;
  /** Name of an unlimited one; limits have their own. */
  readonly name: string;
  /** Names of limits that they replace. */
  readonly replaces: readonly string[];
}

/** Compiles all limits of one domain. */
interface LimitParts {
  readonly stages: StageCompiler;
  /** Replaces the leases of all limits. Undefined: each has its own. */
  readonly leases: Leases | undefined;
}

export class LimitCompiler {
  /** The values of `response_headers` of the limits so far. */
  readonly headerModes = new Set<ResponseHeaders>();
  /** Whether a limit so far has a `response_body` other than `off`. */
  hasBodies = false;
  /** Whether a limit so far has `reservations`. */
  hasReservations = false;
  /** Whether a limit so far has `soft` lines. */
  hasSoftLines = false;
  /** Whether a limit so far has a `candidate`. */
  hasCandidates = false;
  /** The limits with candidates so far, by the names of their stages. */
  readonly stages = new Map<string, StagedLimits>();

  constructor(private readonly options: LimitDefaults) {}

  compile(specs: readonly RateLimitSpec[], owner: LimitOwner): CompiledLimits {
    const unlimited = specs.find(({ kind }) => kind === 'unlimited');
    return {
      limits: this.compileLimits(specs, { stages: new StageCompiler(this.options.domain, specs, owner), leases: owner.leases }),
      unlimited: unlimited !== undefined,
      name: unlimited?.name ?? '',
      replaces: replacedBy(specs),
    };
  }

  /** Two limits with one algorithm and window would share a bucket, where only the smaller one has an effect: that is a problem. */
  private compileLimits(specs: readonly RateLimitSpec[], parts: LimitParts): readonly Limit[] {
    const [only] = specs;
    if (only !== undefined && specs.length === 1) {
      const limit = only.kind === 'limited' ? this.compileWithCandidate(only, parts) : undefined;
      return limit === undefined ? NONE : [limit];
    }
    const seen = new Map<string, LimitedSpec>();
    return specs.flatMap((spec) => {
      const limit = spec.kind === 'limited' ? this.compileWithCandidate(spec, parts) : undefined;
      if (limit === undefined || spec.kind !== 'limited') return [];
      for (const one of limit.candidate === undefined ? [limit] : [limit, limit.candidate]) {
        const identity = `${one.role ?? ''} ${one.algorithm} ${windowName(one)}`;
        const first = seen.get(identity);
        if (first === undefined) seen.set(identity, spec);
        else reportSameWindow(one.role === 'candidate' ? candidateOf(spec) : spec, { first, limit: one });
      }
      return [limit];
    });
  }

  private compileWithCandidate(spec: LimitedSpec, { stages, leases }: LimitParts): Limit | undefined {
    const limit = this.compileLimit(spec, leases);
    if (spec.fields.candidate === undefined) return limit;
    const candidate = this.compileLimit(candidateOf(spec), leases);
    if (limit === undefined || candidate === undefined) return limit;
    this.hasCandidates = true;
    const stage = stages.of(spec, { limit, candidate });
    const made = { ...limit, candidate: { ...candidate, role: 'candidate' as const, ...(stage && { stage }) } };
    if (stage !== undefined) this.stages.set(stage.name, { stage, limits: [...(this.stages.get(stage.name)?.limits ?? []), made] });
    return made;
  }

  private overdraftOf({ fields: { overdraft, overdraftMax } }: LimitedSpec): Overdraft | undefined {
    if (!(overdraft?.value ?? this.options.defaultOverdraft)) return undefined;
    return overdraftMax === undefined ? {} : { max: overdraftMax.value };
  }

  /** A missing `requests_per_unit` is 0, as in the reference: every hit is over the limit. */
  private compileLimit(spec: LimitedSpec, leases: Leases | undefined): Limit | undefined {
    const { unit, name, fields } = spec;
    if (!spec.isReadable) return undefined;
    const { requestsPerUnit, unitMultiplier, burst, timeZone, reservations, overdraftMax } = fields;
    const calendar = fields.calendar?.value === true;
    // Calendar windows are fixed windows, so `calendar` implies the algorithm.
    const implied = unit.value === 'total' ? TOTAL_ALGORITHM : calendar ? CALENDAR_ALGORITHM : this.options.defaultAlgorithm;
    const algorithm = fields.algorithm?.value ?? implied;
    const monthTimeZone = this.options.calendarMonth && unit.value === 'month' ? 'UTC' : undefined;
    const made = makeLimit({
      unit: unit.value,
      requestsPerUnit: requestsPerUnit?.value ?? 0,
      name,
      algorithm,
      calendarTimeZone: calendar ? (timeZone?.value ?? 'UTC') : monthTimeZone,
      failureMode: fields.failureMode?.value ?? this.options.failureMode,
      responseHeaders: fields.responseHeaders?.value ?? this.options.responseHeaders,
      responseBody: fields.responseBody?.value ?? this.options.responseBody,
      overdraft: this.overdraftOf(spec),
      leases: leases ?? fields.leases?.value ?? this.options.leases,
      reservations: reservations && reservationTermsOf(reservations.value),
      soft: fields.soft && softLinesOf(fields.soft.value),
      show: fields.show && amountFormOf(fields.show.value),
      events: fields.events && eventLinesOf(fields.events.value),
      ...(unitMultiplier && { unitMultiplier: unitMultiplier.value }),
      ...(burst && { burst: burst.value }),
    });
    if (!isLimitProblem(made)) {
      warnOfLimit(spec, { limit: made, ...this.options });
      if (made.responseHeaders !== undefined) this.headerModes.add(made.responseHeaders);
      if (made.responseBody !== undefined && made.responseBody.kind !== 'off') this.hasBodies = true;
      if (made.reservations !== undefined) this.hasReservations = true;
      if (made.soft !== undefined) this.hasSoftLines = true;
      return made;
    }
    const culprits = { unit, requests_per_unit: requestsPerUnit, unit_multiplier: unitMultiplier, burst, overdraft_max: overdraftMax };
    const culprit = culprits[made.field];
    const message = culprit === undefined ? made.message : `${culprit.value} ${made.message}`;
    spec.problems.report({ offset: (culprit ?? spec).offset, path: joinPath(spec.path, made.field), message });
    return undefined;
  }
}

/** The candidate as a limit of its own. While the store is away it counts nothing. */
function candidateOf(spec: LimitedSpec): LimitedSpec {
  const { candidate, requestsPerUnit, unitMultiplier, burst, algorithm, calendar, timeZone, overdraft, overdraftMax } = spec.fields;
  const own = candidate?.value ?? {};
  const hasUnit = own.unit !== undefined;
  const keepsAlgorithm = own.algorithm === undefined;
  const fields = {
    ...(requestsPerUnit && { requestsPerUnit }),
    ...(unitMultiplier && !hasUnit && { unitMultiplier }),
    ...(keepsAlgorithm && {
      ...(burst && { burst }),
      ...(algorithm && { algorithm }),
      ...(calendar && { calendar }),
      ...(timeZone && { timeZone }),
    }),
    ...(overdraft && { overdraft }),
    ...(overdraftMax && { overdraftMax }),
    failureMode: { value: 'open' as const, offset: spec.offset },
    responseHeaders: { value: 'off' as const, offset: spec.offset },
    ...own,
  };
  const { offset = spec.offset } = candidate ?? {};
  return { ...spec, fields, unit: own.unit ?? spec.unit, givesRequestsPerUnit: true, offset, path: joinPath(spec.path, 'candidate') };
}

function reservationTermsOf({ maxShare, onLapse }: ValuesOf<typeof RESERVATIONS.fields>): ReservationTerms {
  const terms = DEFAULT_RESERVATION_TERMS;
  return { maxShare: maxShare?.value ?? terms.maxShare, onLapse: onLapse?.value ?? terms.onLapse };
}

function replacedBy(specs: readonly RateLimitSpec[]): readonly string[] {
  return specs.every(({ replaces }) => replaces.length === 0) ? NONE : specs.flatMap(({ replaces }) => replaces.map(({ value }) => value));
}

function reportSameWindow(spec: LimitedSpec, { first, limit }: { first: LimitedSpec; limit: Limit }): void {
  const message = `uses ${limit.algorithm} over the same window as the limit ${spec.problems.placeOf(first)}; keep the smaller one, or change one's algorithm or window`;
  spec.problems.report({ offset: spec.offset, path: spec.path, message });
}
