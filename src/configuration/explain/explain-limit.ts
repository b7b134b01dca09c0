/** Explains a limit in force: its values, its bucket, and where it comes from. */

import type { BucketAlgorithm } from '../../domain/algorithm/algorithms';
import { limitsOf } from '../compile/lint/declared-level';
import type { DescriptorSpec } from '../compile/read/read-file';
import type { LimitedSpec } from '../compile/read/read-limits';
import type { PlanSpec } from '../compile/read/read-plans';
import { toText } from '../../domain/descriptor/byte-string';
import type { OverrideSource, SelectedOverride } from '../../domain/rule/control-view';
import type { InFlight } from '../../domain/rule/in-flight';
import { beforeReserve, overdraftMaxOf, reservableMax, type Limit, type PoolOwner } from '../../domain/rule/limit';
import type { Plan } from '../../domain/rule/plan';
import type { Match } from '../../domain/rule/match';
import type { AmountForm } from '../../lib/text/amount';
import { beforeShare } from '../../domain/rule/share';
import { beforeStage } from '../../domain/rule/stage-limits';

export interface LimitExplanation {
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly unitMultiplier: number;
  readonly algorithm: BucketAlgorithm;
  /** Hits that may come at once. */
  readonly capacity: number;
  /** Hits beyond them that a reserve leaves to other classes; absent: none. */
  readonly reserved?: number;
  readonly calendar?: string;
  /** How far below zero usage reports may take the bucket; absent: they may not. */
  readonly overdraftMax?: number;
  /** For requests in flight: the key of the entry that identifies one; absent: no entry does. */
  readonly id?: string;
  /** The `reservations` fields of the limit; absent: the defaults apply. */
  readonly reservations?: { readonly maxShare: number; readonly onLapse: string; readonly hitsMax: number };
  /** The kind of the body that a denied response has; absent: as `RESPONSE_BODY` says. */
  readonly responseBody?: string;
  /** Whether the limit has leases; absent: as `LEASES` says. */
  readonly leases?: string;
  /** How people read its hits; absent: as hits. */
  readonly show?: AmountForm;
  /** It is the share of one member in the limit before it; absent: it is a whole limit. */
  readonly isShare?: true;
  /** The tenant whose pool it is; absent: the limit is the tenant's own. */
  readonly pool?: string;
  readonly bucketKey: string;
  readonly source: LimitSource;
  /** The limit that is tried beside it; absent: none. */
  readonly candidate?: LimitExplanation;
}

/** `request`: the request brings the limit. The others are parts of the configuration, or records of control data. */
export const LIMIT_GIVERS = ['rule', 'plan', 'plan_values', 'override', 'request'] as const;

/** Where the values of a limit come from. */
export interface LimitSource {
  readonly from: (typeof LIMIT_GIVERS)[number];
  /** The record of control data with the values: the id of an override, or the name of a plan. */
  readonly record?: string;
  /** Where the configuration has the limit, or the one that a record replaces. Absent: it has none. */
  readonly file?: string;
  readonly line?: number;
  /** The values of the configuration that do not apply. Absent: they do. */
  readonly replaces?: LimitValuesShown;
}

export interface LimitValuesShown {
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly unitMultiplier: number;
  readonly capacity: number;
}

export interface LimitsInput {
  readonly match: Match;
  /** The limits of the rule with those of overrides, and the records that made them. */
  readonly overridden: { readonly limits: readonly Limit[]; readonly sources: readonly OverrideSource[] };
  /** The descriptor of the configuration, and its plan, as written. Undefined: not known. */
  readonly written: { readonly descriptor: DescriptorSpec | undefined; readonly plan: PlanSpec | undefined };
  /** Every plan of the rule set, as written. */
  readonly plans: ReadonlyMap<Plan, PlanSpec>;
  /** The keys of the takes of the descriptor: those of limits, then those of candidates. */
  readonly keys: readonly string[];
}

/** One explanation for each limit of the match. */
export function explainLimits({ match, overridden, written, plans, keys }: LimitsInput): LimitExplanation[] {
  const { limits, rule, inFlight } = match;
  // The takes of candidates follow those of all limits.
  let nextCandidate = limits.length;
  return limits.map((limit, at) => {
    if (limit.pool !== undefined) return explainPoolLimit(limit, limit.pool, { match, plans, bucketKey: keys[at] ?? '' });
    const whole = beforeReserve(beforeShare(limit));
    const found = overridden.limits.indexOf(beforeStage(whole));
    const place = found < 0 ? at : found;
    const configured = configuredAt(match, place);
    const by = overridden.sources[place] ?? {};
    const spec = specOf(configured, { match, written });
    const isFromPlan = match.plan !== undefined && limit !== inFlight?.limit;
    const isStaged = beforeStage(whole) !== whole;
    const source: LimitSource = isStaged
      ? candidateSource({ by: by.candidate?.id, isFromPlan, spec, written })
      : rule === undefined && limit !== inFlight?.limit
        ? { from: 'request' }
        : { ...giverOf({ match, by: by.limit?.id, base: rule?.limits[place], configured, isFromPlan }), ...placeOf(spec, written) };
    const explained = { ...explainLimit(limit, { bucketKey: keys[at] ?? '', inFlight }), source };
    const { candidate } = limit;
    if (candidate === undefined) return explained;
    const bucketKey = keys[nextCandidate] ?? '';
    nextCandidate += 1;
    const ofCandidate = candidateSource({ by: by.candidate?.id, isFromPlan, spec, written });
    return { ...explained, candidate: { ...explainLimit(candidate, { bucketKey, inFlight: undefined }), source: ofCandidate } };
  });
}

interface PoolLimitInput {
  readonly match: Match;
  readonly plans: LimitsInput['plans'];
  readonly bucketKey: string;
}

function explainPoolLimit(
  limit: Limit,
  { tenant, limit: counted }: PoolOwner,
  { match, plans, bucketKey }: PoolLimitInput,
): LimitExplanation {
  const base = beforeReserve(counted);
  const level = match.pools?.levels.find((each) => each.tenant === tenant);
  const configured = level?.plan.pool ?? [];
  const place = configured.findIndex((each) => each === base || (base.name !== '' && each.name === base.name));
  const replaced = configured[place];
  const spec = level && (plans.get(level.plan)?.pool[place] ?? plans.get(level.plan));
  const at = spec === undefined ? {} : { file: spec.problems.file, line: spec.problems.lineAt(spec.offset) };
  const replaces = replaced === undefined || replaced === base ? undefined : { replaces: valuesOf(replaced) };
  const override = match.control?.find((record) => 'limit' in record && (record as SelectedOverride).limit.name === base.name);
  const source: LimitSource =
    replaces === undefined
      ? { from: 'plan', ...at }
      : level?.limits.includes(base) === true || override === undefined
        ? { from: 'plan_values', record: toText(level?.plan.name ?? ''), ...at, ...replaces }
        : { from: 'override', record: override.id, ...at, ...replaces };
  return { ...explainLimit(limit, { bucketKey, inFlight: undefined }), pool: toText(tenant), source };
}

interface CandidateSourceInput {
  /** The id of an override. */
  readonly by: string | undefined;
  readonly isFromPlan: boolean;
  readonly spec: Placed | undefined;
  readonly written: Written;
}

function candidateSource({ by, isFromPlan, spec, written }: CandidateSourceInput): LimitSource {
  if (by !== undefined) return { from: 'override', record: by, ...placeOf(spec, written) };
  return { from: isFromPlan ? 'plan' : 'rule', ...placeOf(candidateSpecOf(spec), written) };
}

function explainLimit(
  limit: Limit,
  { bucketKey, inFlight }: { readonly bucketKey: string; readonly inFlight: InFlight | undefined },
): Omit<LimitExplanation, 'source'> {
  const { name, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, reserved, calendar, reservations, responseBody, leases } =
    limit;
  const { show } = limit;
  const overdraftMax = overdraftMaxOf(limit);
  const id = limit === inFlight?.limit ? inFlight.id?.key : undefined;
  const optional = {
    ...(reserved !== undefined && { reserved }),
    ...(calendar && { calendar: calendar.timeZone }),
    ...(overdraftMax !== undefined && { overdraftMax }),
    ...(id !== undefined && { id }),
    ...(responseBody && { responseBody: responseBody.kind }),
    ...(leases && { leases }),
    ...(limit.role === 'share' && { isShare: true as const }),
    ...(show && { show }),
    ...(reservations && { reservations: { ...reservations, hitsMax: reservableMax(limit) } }),
  };
  return { name, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, ...optional, bucketKey };
}

/** The limit of the configuration at a place of the rule: its rule's own, or that of the plan without run-time values. */
function configuredAt({ rule, plan }: Match, place: number): Limit | undefined {
  return plan?.plan.limits[place] ?? rule?.limits[place];
}

interface GiverInput {
  readonly match: Match;
  /** The id of an override. */
  readonly by: string | undefined;
  /** The limit before overrides. */
  readonly base: Limit | undefined;
  readonly configured: Limit | undefined;
  readonly isFromPlan: boolean;
}

function giverOf({ match, by, base, configured, isFromPlan }: GiverInput): LimitSource {
  const replaces = configured && { replaces: valuesOf(configured) };
  if (by !== undefined) return { from: 'override', record: by, ...replaces };
  if (!isFromPlan || match.plan === undefined) return { from: 'rule' };
  if (base === configured) return { from: 'plan' };
  return { from: 'plan_values', record: toText(match.plan.plan.name), ...replaces };
}

function valuesOf({ name, requestsPerUnit, unit, unitMultiplier, capacity }: Limit): LimitValuesShown {
  return { name, requestsPerUnit, unit, unitMultiplier, capacity };
}

type Written = LimitsInput['written'];

type Placed = Pick<DescriptorSpec, 'offset' | 'problems'>;

function specOf(configured: Limit | undefined, { match, written }: Pick<LimitsInput, 'match' | 'written'>): Placed | undefined {
  const { rule, plan, inFlight } = match;
  if (configured === undefined) return undefined;
  if (inFlight !== undefined && configured === beforeReserve(inFlight.limit)) return written.descriptor?.inFlight;
  const spec = plan === undefined ? written.descriptor : written.plan;
  const limits = plan === undefined ? (rule?.limits ?? []) : plan.plan.limits;
  return spec && (limitsOf(spec, limits).find(({ limit }) => limit === configured)?.spec ?? spec);
}

function candidateSpecOf(spec: Placed | undefined): Placed | undefined {
  const { fields, problems } = (spec ?? {}) as Partial<LimitedSpec>;
  const offset = fields?.candidate?.offset;
  return offset === undefined || problems === undefined ? spec : { offset, problems };
}

/** Without a place of its own, a limit is where its descriptor is. */
function placeOf(spec: Placed | undefined, { descriptor }: Written): Pick<LimitSource, 'file' | 'line'> {
  const { offset, problems } = spec ?? descriptor ?? {};
  return offset === undefined || problems === undefined ? {} : { file: problems.file, line: problems.lineAt(offset) };
}
