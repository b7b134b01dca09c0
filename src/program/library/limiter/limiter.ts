/** The interface of a limiter: its requests, its results, and its two forms, in the process and over gRPC. */

/** The keys and values of a descriptor, in their order: as an object, or as pairs where a key repeats or is a number. */
export type Entries = Readonly<Record<string, string>> | readonly (readonly [key: string, value: string])[];

export type LimitUnit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

/** A limit that a descriptor brings, instead of the configured one. */
export interface LimitOverride {
  readonly requestsPerUnit: number;
  readonly unit: LimitUnit;
  /** Default: 1. */
  readonly unitMultiplier?: number;
}

export interface DetailedDescriptor {
  readonly entries: Entries;
  /** Hits of this descriptor: 0 is a check, a negative number a refund. Default: those of the request. */
  readonly hitsAddend?: number;
  readonly limit?: LimitOverride;
}

/** The descriptor to count: its entries, such as `{ path: '/login', remote_address: '192.0.2.1' }`, or entries with hits or a limit of their own. */
export type Descriptor = Readonly<Record<string, string>> | DetailedDescriptor;

export interface LimitRequest {
  readonly domain: string;
  /** All of them are charged, or none. */
  readonly descriptors: readonly Descriptor[];
  /** Hits of each descriptor without its own. Default: 1. */
  readonly hitsAddend?: number;
}

export interface CallOptions {
  /** Ends the call early: `check` rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Deadline of this call, in milliseconds. Default: that of the limiter. */
  readonly timeoutMs?: number | undefined;
}

export interface WaitOptions extends CallOptions {
  /** The longest wait, in milliseconds, from 0 to 86,400,000. */
  readonly maxMs: number;
}

/** How many requests may wait at once in `wait`. */
export interface WaitBoundOptions {
  /** Default: 10,000. */
  readonly waitersMax?: number;
  /** Bytes that they may take together. Default: 33,554,432. */
  readonly waitBytesMax?: number;
}

export interface FailureOptions {
  /** The answer when nothing can decide. Default: `open`. */
  readonly failureMode?: FailureMode;
  /** Called for each decision of the failure mode. Default: a warning of Node (`process.emitWarning`), once a minute at most. */
  readonly onFailure?: (error: Error) => void;
}

export interface LimitHeader {
  readonly name: string;
  readonly value: string;
}

/** The answer for one descriptor. */
export interface LimitStatus {
  readonly code: 'OK' | 'OVER_LIMIT';
  /** The binding limit. Absent: nothing limits this descriptor. */
  readonly limit?: {
    readonly name?: string;
    readonly requestsPerUnit: number;
    readonly unit: LimitUnit | 'unknown';
    readonly unitMultiplier: number;
  };
  /** Hits left. Absent: nothing limits this descriptor, because no rule matches it or the domain has no rules. */
  readonly remaining?: number;
  /** Time until the limit is reset, or until these hits fit, in milliseconds. */
  readonly resetAfterMs?: number;
}

export interface LimitResult {
  readonly allowed: boolean;
  /** `failure-mode`: nothing could decide, and the option `failureMode` did. `error` says why. */
  readonly decidedBy: 'weir' | 'failure-mode';
  /** For the response to the client, as the configuration asks for them. */
  readonly headers: readonly LimitHeader[];
  /** The body for a denied client, whose type is in `headers`; absent: the configuration has none. */
  readonly body?: string;
  /** How long a denied client should wait, in milliseconds; absent: the request is allowed, or no wait helps. */
  readonly retryAfterMs?: number;
  /** One for each descriptor, in their order; none if `failureMode` decided. */
  readonly statuses: readonly LimitStatus[];
  /** Why nothing could decide. */
  readonly error?: Error;
}

/** The common part of the client and the limiter in the process. */
export interface Limiter {
  /**
   * Decides a request and charges it. Rejects for an invalid request (InvalidRequestError), and with the reason of a signal that
   * aborts; never because Weir or Redis is away.
   */
  check(request: LimitRequest, options?: CallOptions): Promise<LimitResult>;
  /**
   * Waits until the request fits, and charges it then. Requests for the same domain, descriptors and limits have their turn in the order in
   * which they came. Resolves denied when the time is over, or at once if it is certain that it will not be enough. Rejects as `check` does, and with
   * WaitQueueFullError if too many requests wait.
   */
  wait(request: LimitRequest, options: WaitOptions): Promise<LimitResult>;
  /** Requests that wait in `wait` now. */
  readonly waiting: number;
  /** Decisions of the failure mode until now. */
  readonly failures: number;
  /** Ends connections, timers and waits. Calls in flight and later ones are decided by the failure mode. */
  close(): Promise<void>;
}

/** The answer when nothing can decide: `open` allows the request, `closed` denies it. */
export type FailureMode = 'open' | 'closed';
