/** Reads the trace context that a caller sends: W3C Trace Context, or B3 in one header or in several. */

/** The value of a request header, by its name in lower case. */
type HeaderLookup = (name: string) => string | undefined;

export interface ParentContext {
  /** Undefined: the call has no parent, or its caller sent only a sampling decision. */
  readonly ids: ParentIds | undefined;
  /** Undefined: the caller leaves the decision to the service. */
  readonly isSampled: boolean | undefined;
}

interface ParentIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** `tracestate` as received. */
  readonly state: string | undefined;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const B3 = /^([\da-f]{32}|[\da-f]{16})-([\da-f]{16})(?:-([01d])(?:-[\da-f]{16})?)?$/i;
const B3_TRACE_ID = /^(?:[\da-f]{16}|[\da-f]{32})$/i;
const B3_SPAN_ID = /^[\da-f]{16}$/i;
const ZEROS = /^0+$/;

const NO_PARENT: ParentContext = { ids: undefined, isSampled: undefined };

/** Longest `tracestate` that is passed on; the specification asks for at least 512 characters. */
const STATE_CHARS_MAX = 1_024;

const SAMPLED_FLAG = 1;
const TRACE_ID_DIGITS = 32;

const B3_SAMPLED: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['d', true],
  ['true', true],
  ['0', false],
  ['false', false],
]);

/** `traceparent` comes before `b3`, and `b3` before `x-b3-*`. A header that is invalid counts as absent. */
export function readParent(header: HeaderLookup): ParentContext {
  const parent = header('traceparent');
  const fromW3c = parent === undefined ? undefined : readTraceparent(parent, header);
  if (fromW3c !== undefined) return fromW3c;
  const single = header('b3');
  const fromSingle = single === undefined ? undefined : readB3(single);
  return fromSingle ?? readB3Headers(header) ?? NO_PARENT;
}

function readTraceparent(text: string, header: HeaderLookup): ParentContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED_FLAG) !== 0;
  // A call that is not sampled sends nothing, so its state is not read.
  const state = isSampled ? header('tracestate') : undefined;
  return { ids: { traceId, spanId, state: state !== undefined && state.length <= STATE_CHARS_MAX ? state : undefined }, isSampled };
}

function readB3(text: string): ParentContext | undefined {
  const only = B3_SAMPLED.get(text);
  if (only !== undefined) return { ids: undefined, isSampled: only };
  const [, traceId, spanId, sampled] = B3.exec(text) ?? [];
  return fromB3(traceId, spanId, sampled === undefined ? undefined : B3_SAMPLED.get(sampled.toLowerCase()));
}

function readB3Headers(header: HeaderLookup): ParentContext | undefined {
  const sampled = header('x-b3-sampled')?.toLowerCase();
  const isDebug = header('x-b3-flags') === '1';
  const traceId = header('x-b3-traceid');
  if (sampled === undefined && !isDebug && traceId === undefined) return undefined;
  const isSampled = isDebug ? true : B3_SAMPLED.get(sampled ?? '');
  const spanId = header('x-b3-spanid');
  const hasIds = traceId !== undefined && spanId !== undefined && B3_TRACE_ID.test(traceId) && B3_SPAN_ID.test(spanId);
  const parent = hasIds ? fromB3(traceId, spanId, isSampled) : undefined;
  return parent ?? (isSampled === undefined ? undefined : { ids: undefined, isSampled });
}

/** A trace id of 64 bits is extended with zeros, as OpenTelemetry does. */
function fromB3(traceId: string | undefined, spanId: string | undefined, isSampled: boolean | undefined): ParentContext | undefined {
  if (traceId === undefined || spanId === undefined || ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  return {
    ids: { traceId: traceId.toLowerCase().padStart(TRACE_ID_DIGITS, '0'), spanId: spanId.toLowerCase(), state: undefined },
    isSampled,
  };
}
