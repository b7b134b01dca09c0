/** Interprets the header fields of a request, checked against HTTP/2 (RFC 9113, 8.2 and 8.3), and recognizes plain decisions. */

import { readParent, type ParentContext } from '../../../observability/tracing/trace-context';
import type { HeaderField } from '../hpack/header-field';
import type { HeaderList } from '../hpack/hpack-decoder';

/** The method with a dedicated path through this transport. */
export const SHOULD_RATE_LIMIT_PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

export interface RequestHead {
  /**
   * `malformed` breaks HTTP/2; `too_large` exceeds a bound; `no_grpc` is plain HTTP, as from a browser.
   * `rate_limit` is a plain call of ShouldRateLimit; `other` is any other call, including a compressed one or one with an invalid timeout.
   */
  readonly kind: 'rate_limit' | 'other' | 'no_grpc' | 'malformed' | 'too_large';
  readonly fields: readonly HeaderField[];
  /** From `grpc-timeout`; undefined if absent or invalid. */
  readonly timeoutMs: number | undefined;
  readonly contentLength: number | undefined;
  /** Without pseudo-headers, as trailers must be. */
  readonly isTrailers: boolean;
  /** Read on demand, because almost all calls need none; `parentOf` reads it. */
  parent: ParentContext | undefined;
}

const PSEUDO_NAMES: ReadonlySet<string> = new Set([':method', ':scheme', ':path', ':authority']);

/** Headers of HTTP/1 connections, which HTTP/2 forbids. */
const CONNECTION_NAMES: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE_BREAK = /[\0\r\n]/;
const DIGITS = /^\d{1,15}$/;
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

const TIMEOUT_UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 };

export function readRequestHead({ fields, tooLarge }: HeaderList): RequestHead {
  const isTrailers = fields.every(({ name }) => !name.startsWith(':'));
  if (tooLarge) return unread({ fields, isTrailers, kind: 'too_large' });
  const lengths = valuesOf(fields, 'content-length');
  if (!areWellFormed(fields) || (!isTrailers && !hasPseudoHeaders(fields)) || !areOneLength(lengths))
    return unread({ fields, isTrailers, kind: 'malformed' });
  const contentLength = lengths[0] === undefined ? undefined : Number(lengths[0]);
  const timeouts = valuesOf(fields, 'grpc-timeout');
  const timeoutMs = timeouts[0] === undefined ? undefined : toTimeoutMs(timeouts[0]);
  const isPlain = isPlainCall(fields) && (timeouts.length === 0 || timeoutMs !== undefined);
  const kind = isPlain ? 'rate_limit' : isGrpc(fields) ? 'other' : 'no_grpc';
  return { fields, isTrailers, contentLength, timeoutMs, kind, parent: undefined };
}

/** Fields that decide what a call is. A traced Envoy sends another value of `traceparent` or `x-b3-traceid` with each call. */
const MEANINGFUL_NAMES: ReadonlySet<string> = new Set(['content-type', 'content-length', 'grpc-encoding', 'grpc-timeout', 'te']);

/**
 * The head of a list that equals the previous one except for the values of other fields; undefined if the list differs in more than that.
 * Fields from the dynamic table are the same objects again, so nearly all comparisons are of references.
 */
export function headLike(previous: RequestHead, { fields, tooLarge }: HeaderList): RequestHead | undefined {
  const known = previous.fields;
  if (tooLarge || previous.kind !== 'rate_limit' || fields.length !== known.length) return undefined;
  for (let i = 0; i < fields.length; i += 1) {
    const [field, before] = [fields[i], known[i]];
    if (field === before || field === undefined) continue;
    if (field.name !== before?.name) return undefined;
    if (field.value === before.value) continue;
    if (field.name.startsWith(':') || MEANINGFUL_NAMES.has(field.name) || VALUE_BREAK.test(field.value)) return undefined;
  }
  const { isTrailers, contentLength, timeoutMs, kind } = previous;
  return { fields, isTrailers, contentLength, timeoutMs, kind, parent: undefined };
}

/** Builds all heads with the same fields in the same order, so that they share a hidden class. */
function unread({ fields, isTrailers, kind }: Pick<RequestHead, 'fields' | 'isTrailers' | 'kind'>): RequestHead {
  return { fields, isTrailers, contentLength: undefined, timeoutMs: undefined, kind, parent: undefined };
}

/** The trace context of a call. Calls with identical header blocks share it. */
export function parentOf(head: Pick<RequestHead, 'fields' | 'parent'>): ParentContext {
  head.parent ??= readParent((wanted) => valuesOf(head.fields, wanted)[0]);
  return head.parent;
}

export function valuesOf(fields: readonly HeaderField[], wanted: string): readonly string[] {
  return fields.filter(({ name }) => name === wanted).map(({ value }) => value);
}

function areWellFormed(fields: readonly HeaderField[]): boolean {
  let regular = false;
  const seen = new Set<string>();
  for (const { name, value } of fields) {
    if (VALUE_BREAK.test(value)) return false;
    if (name.startsWith(':')) {
      if (regular || seen.has(name) || !PSEUDO_NAMES.has(name)) return false;
      seen.add(name);
      continue;
    }
    regular = true;
    if (!NAME.test(name) || CONNECTION_NAMES.has(name)) return false;
    if (name === 'te' && value !== 'trailers') return false;
  }
  return true;
}

function hasPseudoHeaders(fields: readonly HeaderField[]): boolean {
  const [method = ''] = valuesOf(fields, ':method');
  const [scheme = ''] = valuesOf(fields, ':scheme');
  const [path = ''] = valuesOf(fields, ':path');
  return method !== '' && scheme !== '' && path !== '';
}

function areOneLength(lengths: readonly string[]): boolean {
  return lengths.every((length) => DIGITS.test(length) && length === lengths[0]);
}

function isGrpc(fields: readonly HeaderField[]): boolean {
  return valuesOf(fields, ':method')[0] === 'POST' && (valuesOf(fields, 'content-type')[0]?.startsWith('application/grpc') ?? false);
}

function isPlainCall(fields: readonly HeaderField[]): boolean {
  const [contentType = ''] = valuesOf(fields, 'content-type');
  return (
    valuesOf(fields, ':path')[0] === SHOULD_RATE_LIMIT_PATH &&
    valuesOf(fields, ':method')[0] === 'POST' &&
    (contentType === 'application/grpc' || contentType.startsWith('application/grpc+')) &&
    valuesOf(fields, 'grpc-encoding').every((encoding) => encoding === 'identity')
  );
}

function toTimeoutMs(text: string): number | undefined {
  const [, digits, unit = ''] = TIMEOUT.exec(text) ?? [];
  const unitMs = TIMEOUT_UNIT_MS[unit];
  return digits === undefined || unitMs === undefined ? undefined : Number(digits) * unitMs;
}
