/** What both models of the conformance tests share: units, which limit a descriptor gets, `replaces`, the overall code. */

import type { AnsweredCode, AskedDescriptor, AskedEntry, Unit } from './asked';
import type { Found } from './descriptor-match';

/** Months are of 30 days, years of 365. */
export const WINDOW_SECONDS: Readonly<Record<Unit, number>> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
};

export const UNLIMITED_REMAINING = 4_294_967_295;

/** Settings that hold for every request. */
export interface Modes {
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
  /** `QUOTA_MODE`. */
  readonly quota: boolean;
}

export interface ModelLimit {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
  readonly name: string;
  readonly replaces: readonly string[];
  readonly unlimited: boolean;
  readonly isShadow: boolean;
  readonly isQuota: boolean;
  readonly shared: Found['shared'];
}

/** Windows are counted from 1970. */
export function windowStartSeconds(unit: Unit, nowSeconds: number): number {
  return Math.floor(nowSeconds / WINDOW_SECONDS[unit]) * WINDOW_SECONDS[unit];
}

/** A limit that is sent along takes the place of whatever is configured, modes and all. */
export function limitOf({ limit: sent }: AskedDescriptor, { configured, shared }: Found): ModelLimit | undefined {
  const none = { name: '', replaces: [], unlimited: false, isShadow: false, isQuota: false, shared: NOTHING_SHARED };
  if (sent !== undefined) return { ...none, ...sent };
  const limit = configured?.rate_limit;
  if (configured === undefined || limit === undefined) return undefined;
  return {
    requestsPerUnit: limit.requests_per_unit ?? 0,
    // Of no meaning beside unlimited.
    unit: limit.unit ?? 'second',
    name: limit.name ?? '',
    replaces: (limit.replaces ?? []).map(({ name }) => name),
    unlimited: limit.unlimited === true,
    isShadow: configured.shadow_mode === true,
    isQuota: configured.quota_mode === true,
    shared,
  };
}

const NOTHING_SHARED: readonly (AskedEntry | undefined)[] = [];

/** Those that another limit of the request replaces, by name, are as good as not there; what is unlimited stays so. */
export function applyReplaces(limits: readonly (ModelLimit | undefined)[]): (ModelLimit | undefined)[] {
  const replaced = new Set(limits.flatMap((limit) => limit?.replaces ?? []));
  return limits.map((limit) => (limit?.unlimited === false && replaced.has(limit.name) ? undefined : limit));
}

/**
 * OVER_LIMIT if one is over that is not a quota, or if there are quotas and all of them are over; `SHADOW_MODE` has the last word.
 * `isOver` is as the status says.
 */
export function overallCode({ limits, isOver, modes }: OverallInput): AnsweredCode {
  const isDenied =
    limits.some((limit, index) => isOver[index] === true && !isQuota(limit, modes)) || isQuotaOver({ limits, isOver, modes });
  return isDenied && !modes.shadow ? 'OVER_LIMIT' : 'OK';
}

/** There are quotas, and all of them are over. */
export function isQuotaOver({ limits, isOver, modes }: OverallInput): boolean {
  const quotas = limits.flatMap((limit, index) => (isQuota(limit, modes) ? [isOver[index] === true] : []));
  return quotas.length > 0 && quotas.every((over) => over);
}

/** What is unlimited is outside the count. */
export function isQuota(limit: ModelLimit | undefined, modes: Modes): boolean {
  if (limit?.unlimited === true) return false;
  return modes.quota || limit?.isQuota === true;
}

interface OverallInput {
  readonly limits: readonly (ModelLimit | undefined)[];
  readonly isOver: readonly boolean[];
  readonly modes: Modes;
}
