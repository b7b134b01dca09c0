/** Turns the answer of ShouldRateLimit into the result of a limiter: one function for both, so that they cannot differ. */

import { TIME_UNITS } from '../../../domain/descriptor/unit';
import { WIRE_UNITS } from '../../../server/transport/messages/wire';
import type { FailureMode, LimitHeader, LimitResult, LimitStatus, LimitUnit } from './limiter';
import { MS_PER_S } from '../../../lib/time-units';

const OVER_LIMIT = 2;

const UNITS: ReadonlyMap<number, LimitUnit> = new Map(TIME_UNITS.map((unit) => [WIRE_UNITS[unit], unit]));

const NO_HEADERS: readonly LimitHeader[] = [];

/** An answer as it comes over gRPC, or as the engine gives it: fields with a default value may be absent. */
export interface ReceivedResponse {
  readonly overall_code?: number;
  readonly statuses?: readonly ReceivedStatus[];
  readonly response_headers_to_add?: readonly ReceivedHeader[];
  readonly raw_body?: Buffer;
}

export interface ReceivedHeader {
  readonly key: string;
  readonly value: string;
}

export interface ReceivedStatus {
  readonly code?: number;
  readonly current_limit?: ReceivedLimit;
  readonly limit_remaining?: number;
  readonly duration_until_reset?: { readonly seconds: number };
}

export interface ReceivedLimit {
  readonly requests_per_unit?: number;
  readonly unit?: number;
  readonly name?: string;
  readonly unit_multiplier?: { readonly value: number };
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
}: ReceivedStatus): LimitStatus {
  const isOver = code === OVER_LIMIT;
  // Without a limit, 0 is not a number of hits. The rule may be `unlimited`, and then the number is not 0.
  const isCounted = isOver || limit !== undefined || remaining > 0;
  return {
    code: isOver ? 'OVER_LIMIT' : 'OK',
    ...(limit && { limit: toLimit(limit) }),
    ...(isCounted && { remaining }),
    ...(reset && { resetAfterMs: reset.seconds * MS_PER_S }),
  };
}

function toLimit({
  name = '',
  requests_per_unit: requestsPerUnit = 0,
  unit = 0,
  unit_multiplier: multiplier,
}: ReceivedLimit): NonNullable<LimitStatus['limit']> {
  return {
    ...(name !== '' && { name }),
    requestsPerUnit,
    unit: UNITS.get(unit) ?? 'unknown',
    unitMultiplier: multiplier?.value ?? 1,
  };
}

/** They come with Retry-After, unless no wait helps. */
const WITH_RETRY_AFTER = ['ratelimit-policy', 'x-should-retry'];

/** As the headers say; those of the mode `reference` do not say it. Without them, the longest wait of the descriptors that are over. */
function retryAfter(headers: readonly LimitHeader[], statuses: readonly LimitStatus[]): number | undefined {
  const valueOf = (name: string): string | undefined => headers.find((header) => header.name.toLowerCase() === name)?.value;
  const [ms, seconds] = [valueOf('retry-after-ms'), valueOf('retry-after')];
  if (ms !== undefined) return Number(ms);
  if (seconds !== undefined) return Number(seconds) * MS_PER_S;
  if (WITH_RETRY_AFTER.some((name) => valueOf(name) !== undefined)) return undefined;
  const waits = statuses.flatMap(({ code, resetAfterMs }) => (code === 'OVER_LIMIT' && resetAfterMs !== undefined ? [resetAfterMs] : []));
  return waits.length === 0 ? undefined : Math.max(...waits);
}
