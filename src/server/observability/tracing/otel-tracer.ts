/** Samples calls, and makes the spans of a sampled call when it has ended: the call, its decision, and the commands of the store. */

import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Tracer,
} from '@opentelemetry/api';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import { monotonicNowMs } from '../../../lib/clock';
import { RequestTrace } from '../../../state/request/request-trace';
import type { CallTracer, StartedCall, TracedCall } from './call-tracer';
import { commandAttributes, decisionAttributes, type DecisionShown } from './span-attributes';
import type { ParentContext } from './trace-context';

/** Where spans of ended calls wait to be sent. */
export interface SpanQueue {
  /** Makes room for the spans of a call. False: there is none, and the call is not traced. */
  reserve(spans: number): boolean;
}

export interface OtelTracerOptions extends DecisionShown {
  readonly tracer: Tracer;
  readonly queue: SpanQueue;
  /** The part of calls without a sampling decision of their caller that is sampled. */
  readonly ratio: number;
  /** The system clock, in milliseconds since 1970. */
  readonly systemNowMs?: () => number;
  /** From 0 to 1, for calls without a trace id. */
  readonly random?: () => number;
}

/** gRPC statuses that are errors of a server, by OpenTelemetry's conventions: a client's mistake is none. */
const SERVER_ERRORS: ReadonlySet<number> = new Set([2, 4, 12, 13, 14, 15]);

const HTTP_SERVER_ERROR = 500;

/** Calls whose spans are made in one turn of the event loop, which takes about a millisecond. */
const CALLS_AT_ONCE_MAX = 32;

/** How long ended calls wait for their spans to be made, in milliseconds. */
const RECORD_MS = 10;

/** Fully qualified, as OpenTelemetry names a method. */
const METHOD = 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** The names of gRPC's statuses, by number. */
const STATUS_NAMES =
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  );

/** A system clock that was set moves span times at once. Smaller differences are those of two readings. */
const CLOCK_STEP_MS = 5;

interface EndedCall extends Pick<StartedCall, 'kind' | 'startedMs'> {
  readonly parent: ParentContext;
  readonly request: RequestTrace;
  readonly status: number;
  readonly endedMs: number;
}

interface SpanInput {
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly isError: boolean;
}

export class OtelTracer implements CallTracer {
  private readonly sampler: TraceIdRatioBasedSampler;
  private readonly systemNowMs: () => number;
  private readonly random: () => number;
  /** Added to the monotonic clock it is the system clock, which other services write into their spans. */
  private offsetMs = performance.timeOrigin;
  /** Calls whose spans are not made yet. */
  private readonly ended: EndedCall[] = [];
  private isScheduled = false;

  constructor(private readonly options: OtelTracerOptions) {
    this.sampler = new TraceIdRatioBasedSampler(options.ratio);
    this.systemNowMs = options.systemNowMs ?? Date.now;
    this.random = options.random ?? Math.random;
  }

  begin({ kind, startedMs, parent }: StartedCall): TracedCall | undefined {
    if (!this.isSampled(parent)) return undefined;
    const request = new RequestTrace();
    return {
      request,
      end: (status) => {
        this.end({ kind, startedMs, parent, request, status, endedMs: monotonicNowMs() });
      },
    };
  }

  /** Makes the spans of all calls that have ended. */
  flush(): void {
    for (const call of this.ended.splice(0)) this.recordCall(call);
  }

  private isSampled(parent: ParentContext): boolean {
    if (parent.isSampled !== undefined) return parent.isSampled;
    if (parent.ids === undefined) return this.random() < this.options.ratio;
    return this.sampler.shouldSample(ROOT_CONTEXT, parent.ids.traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  /** Spans are made after the answer has been written, because making them takes longer than a decision. */
  private end(call: EndedCall): void {
    call.request.close();
    if (!this.options.queue.reserve(spansOf(call.request))) return;
    this.ended.push(call);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // A timer and not an immediate, with which the event loop would not wait for input: reads and batches would be smaller.
    setTimeout(this.recordSome, RECORD_MS).unref();
  }

  private readonly recordSome = (): void => {
    for (const call of this.ended.splice(0, CALLS_AT_ONCE_MAX)) this.recordCall(call);
    this.isScheduled = this.ended.length > 0;
    if (this.isScheduled) setImmediate(this.recordSome);
  };

  private recordCall({ kind, startedMs, parent, request, status, endedMs }: EndedCall): void {
    this.followSystemClock();
    const { name, ...call } = kind === 'grpc' ? ofGrpc(status) : ofHttp(kind, status);
    const ofCall = this.record(name, contextOf(parent), { ...call, kind: SpanKind.SERVER, startedMs, endedMs });
    if (request.startedMs === undefined) return;
    const ofDecision = this.record('decide', ofCall, {
      kind: SpanKind.INTERNAL,
      attributes: decisionAttributes(request, this.options),
      startedMs: request.startedMs,
      endedMs: request.endedMs ?? endedMs,
      isError: request.decided === undefined || request.decided.outcome instanceof Error,
    });
    for (const command of request.commands) {
      this.record('redis EVALSHA', ofDecision, {
        kind: SpanKind.CLIENT,
        attributes: commandAttributes(command),
        startedMs: command.arrivedMs,
        endedMs: command.endedMs,
        isError: command.failed !== undefined,
      });
    }
  }

  /** Returns the context for children of the span. */
  private record(name: string, parent: Context, { kind, attributes, startedMs, endedMs, isError }: SpanInput): Context {
    const startTime = this.offsetMs + startedMs;
    const span = this.options.tracer.startSpan(name, { kind, attributes, startTime }, parent);
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(Math.max(startTime, this.offsetMs + endedMs));
    return trace.setSpan(parent, span);
  }

  private followSystemClock(): void {
    const offsetMs = this.systemNowMs() - monotonicNowMs();
    if (Math.abs(offsetMs - this.offsetMs) > CLOCK_STEP_MS) this.offsetMs = offsetMs;
  }
}

/** The call, its decision if it got that far, and the commands. */
function spansOf({ startedMs, commands }: RequestTrace): number {
  return startedMs === undefined ? 1 : 2 + commands.length;
}

function contextOf(parent: ParentContext): Context {
  if (parent.ids === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, state } = parent.ids;
  const traceState = state === undefined ? {} : { traceState: createTraceState(state) };
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true, ...traceState });
}

interface NamedCall extends Pick<SpanInput, 'attributes' | 'isError'> {
  readonly name: string;
}

function ofGrpc(code: number): NamedCall {
  const isError = SERVER_ERRORS.has(code);
  const text = STATUS_NAMES[code] ?? String(code);
  return {
    name: METHOD,
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': METHOD,
      'rpc.response.status_code': text,
      ...(isError && { 'error.type': text }),
    },
    isError,
  };
}

/** The methods are the usual ones: both routes answer any. */
const HTTP_CALLS = { json: { method: 'POST', route: '/json' }, check: { method: 'GET', route: '/check' } } as const;

function ofHttp(kind: keyof typeof HTTP_CALLS, code: number): NamedCall {
  const { method, route } = HTTP_CALLS[kind];
  const isError = code >= HTTP_SERVER_ERROR;
  return {
    name: `${method} ${route}`,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': code,
      ...(isError && { 'error.type': String(code) }),
    },
    isError,
  };
}
