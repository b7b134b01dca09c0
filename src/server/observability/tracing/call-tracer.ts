/** The port between a transport and tracing: what a transport reports of a call, without any package of OpenTelemetry. */

import type { RequestTrace } from '../../../state/request/request-trace';
import type { ParentContext } from './trace-context';

export interface StartedCall {
  /** `grpc` is ShouldRateLimit; `json` and `check` are /json and /check on the HTTP port. */
  readonly kind: 'grpc' | 'json' | 'check';
  /** When the call arrived, by the monotonic clock, in milliseconds. */
  readonly startedMs: number;
  readonly parent: ParentContext;
}

/** A sampled call. */
export interface TracedCall {
  /** Passed on with the request, to collect its decision. */
  readonly request: RequestTrace;
  /** The call is answered with this gRPC or HTTP status. Called once. */
  end(status: number): void;
}

export interface CallTracer {
  /** Undefined: the call is not sampled. */
  begin(call: StartedCall): TracedCall | undefined;
}
