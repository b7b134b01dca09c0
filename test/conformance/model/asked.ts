/** What is configured, asked and answered, in plain words of the conformance tests: no type of Weir's own is in it. */

export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const;

export type Unit = (typeof UNITS)[number];

/** A configuration file: as JSON it is YAML that every parser reads alike. */
export interface ConfiguredDomain {
  readonly domain: string;
  readonly descriptors: readonly Configured[];
}

export interface Configured {
  readonly key: string;
  readonly value?: string;
  readonly rate_limit?: ConfiguredLimit;
  readonly shadow_mode?: boolean;
  readonly quota_mode?: boolean;
  readonly share_threshold?: boolean;
  readonly detailed_metric?: boolean;
  readonly value_to_metric?: boolean;
  readonly descriptors?: readonly Configured[];
}

export interface ConfiguredLimit {
  readonly unit?: Unit;
  readonly requests_per_unit?: number;
  readonly unlimited?: boolean;
  readonly name?: string;
  readonly replaces?: readonly { readonly name: string }[];
}

export interface Asked {
  readonly domain: string;
  readonly descriptors: readonly AskedDescriptor[];
  /** Absent or 0: one each. */
  readonly hits?: number;
}

export interface AskedDescriptor {
  readonly entries: readonly AskedEntry[];
  /** A 0 that is present is a peek. */
  readonly hits?: bigint;
  /** The hits are given back. */
  readonly isRefund?: boolean;
  /** In place of what is configured. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: Unit };
}

export interface AskedEntry {
  readonly key: string;
  readonly value: string;
}

export type DecidedRequest =
  | { readonly error: string; readonly message?: string }
  | { readonly overallCode: AnsweredCode; readonly statuses: readonly AnsweredStatus[] };

export type AnsweredCode = 'OK' | 'OVER_LIMIT';

export interface AnsweredStatus {
  readonly code: AnsweredCode;
  /** `requests_per_unit`, unit and name; absent: no limit applies. */
  readonly limit?: string;
  readonly remaining: number;
  readonly resetSeconds?: number;
}

export function limitText({
  requestsPerUnit,
  unit,
  name,
}: {
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly name: string;
}): string {
  return `${requestsPerUnit}/${unit}${name === '' ? '' : ` ${name}`}`;
}
