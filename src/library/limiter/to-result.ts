/** Turns the answer of ShouldRateLimit into the result of a limiter: one function for both, so that they cannot differ. */

import { UNIT_NAMES } from '../../descriptor/unit';
import { WIRE_UNITS, type WireLimit, type WireResponse, type WireStatus } from '../../transport/messages/wire';
import type { FailureMode, LimitHeader, LimitResult, LimitStatus, LimitUnit } from './limiter';

const OVER_LIMIT = 2;
const MS_PER_SECOND = 1_000;

const UNITS: ReadonlyMap<number, LimitUnit> = new Map(UNIT_NAMES.map((unit) => [WIRE_UNITS[unit], unit]));

const NO_HEADERS: readonly LimitHeader[] = [];

/** An answer as it comes over gRPC: fields with a default value are absent. */
type Received<Message> = { readonly [Field in keyof Message]?: Message[Field] };

export interface ReceivedResponse extends Received<Omit<WireResponse, 'statuses'>> {
  readonly statuses?: readonly Received<WireStatus>[];
}

export function toResult(response: ReceivedResponse): LimitResult {
  const { overall_code: code, response_headers_to_add: wireHeaders, raw_body: body } = response;
  const allowed = code !== OVER_LIMIT;
  const headers = wireHeaders === undefined ? NO_HEADERS : wireHeaders.map(({ key, value }) => ({ name: key, value }));
  const statuses = response.statuses?.map(toStatus) ?? [];
  const result: LimitResult = { allowed, decidedBy: 'weir', headers, statuses };
  if (allowed) return result;
  const retryAfterMs = retryAfter(headers, statuses);
  return {
    allowed,
    decidedBy: 'weir',
    headers,
    ...(body !== undefined && body.length > 0 && { body: body.toString('utf8') }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    statuses,
  };
}

export function byFailureMode(failureMode: FailureMode, error: Error): LimitResult {
  return { allowed: failureMode === 'open', decidedBy: 'failure-mode', headers: NO_HEADERS, statuses: [], error };
}

function toStatus({
  code,
  current_limit: limit,
  limit_remaining: remaining = 0,
  duration_until_reset: reset,
}: Received<WireStatus>): LimitStatus {
  return {
    code: code === OVER_LIMIT ? 'OVER_LIMIT' : 'OK',
    ...(limit && { limit: toLimit(limit) }),
    remaining,
    ...(reset && { resetAfterMs: secondsOf(reset) * MS_PER_SECOND }),
  };
}

function toLimit({
  name = '',
  requests_per_unit: requestsPerUnit = 0,
  unit = 0,
  unit_multiplier: multiplier,
}: Received<WireLimit>): NonNullable<LimitStatus['limit']> {
  return {
    ...(name !== '' && { name }),
    requestsPerUnit,
    unit: UNITS.get(unit) ?? 'unknown',
    unitMultiplier: multiplier?.value ?? 1,
  };
}

/** Over gRPC a text of digits. */
function secondsOf({ seconds }: { readonly seconds?: number | string }): number {
  return Number(seconds ?? 0);
}

/**
 * As the headers say. Without any of Weir's headers, the longest wait of the descriptors that are over; with them, the absence of
 * Retry-After means that no wait helps.
 */
function retryAfter(headers: readonly LimitHeader[], statuses: readonly LimitStatus[]): number | undefined {
  const valueOf = (name: string): string | undefined => headers.find((header) => header.name.toLowerCase() === name)?.value;
  const [ms, seconds] = [valueOf('retry-after-ms'), valueOf('retry-after')];
  if (ms !== undefined) return Number(ms);
  if (seconds !== undefined) return Number(seconds) * MS_PER_SECOND;
  if (headers.length > 0) return undefined;
  const waits = statuses.flatMap(({ code, resetAfterMs }) => (code === 'OVER_LIMIT' && resetAfterMs !== undefined ? [resetAfterMs] : []));
  return waits.length === 0 ? undefined : Math.max(...waits);
}
