/** Makes the calls of a client: picks a connection, keeps the deadline, and leaves the rest to the failure mode. */

import { setTimeout as pause } from 'node:timers/promises';
import { connectivityState, Metadata, status, type Client as GrpcClient, type ServiceError } from '@grpc/grpc-js';
import { monotonicNowMs, readTimeout } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import type { WireRequest } from '../../../server/transport/messages/wire';
import { InvalidRequestError } from '../limiter/invalid-request-error';
import type { CallOptions, LimitRequest, LimitResult, WaitOptions } from '../limiter/limiter';
import { readCallOptions, readWaitOptions } from '../limiter/call-options';
import { FailureReport } from '../limiter/failure-report';
import { checkOptions, readWhole } from '../limiter/read-option';
import { toResult, type ReceivedResponse } from '../limiter/to-result';
import { toWireRequest } from '../limiter/to-wire-request';
import { REAL_CLOCK } from '../wait/wait-clock';
import { WaitQueue, type Answer, type AskOptions } from '../wait/wait-queue';
import { AbsenceCircuit } from './absence-circuit';
import { isTimeout, readOptions, TIMEOUT_MS_MAX, type ClientSettings } from './client-settings';
import type { Client, ClientOptions } from './client';
import { openChannels } from './open-channels';
import { decodeResponse, encodeRequest, SHOULD_RATE_LIMIT } from './rate-limit-codec';

const READY_TIMEOUT_MS = 5_000;
const READY_LOOK_MS = 5;

/** The time that an answer to a wait usually takes at most, in milliseconds. */
const WAIT_CALL_MS = 20;

/** Clients that wait for one limit spread their calls over this part of the wait, and over this time at most. */
const JITTER_PART = 0.1;
const JITTER_MS_MAX = 1_000;

const READY_MS_MAX = 3_600_000;

export class WeirClient implements Client {
  private readonly settings: ClientSettings;
  private readonly channels: readonly GrpcClient[];
  private readonly circuit = new AbsenceCircuit({ nowMs: monotonicNowMs });
  private readonly report: FailureReport;
  private readonly queue: WaitQueue;
  private readonly metadata: Metadata;
  private next = 0;
  private inFlight = 0;
  private isClosed = false;

  constructor(options: ClientOptions) {
    this.settings = readOptions(options);
    this.metadata = timeoutMetadata(this.settings.timeoutMs);
    this.report = new FailureReport({ ...this.settings, nowMs: monotonicNowMs });
    this.queue = new WaitQueue({
      ...this.settings,
      clock: REAL_CLOCK,
      callMs: Math.min(WAIT_CALL_MS, this.settings.timeoutMs),
      ask: (wire, options) => this.askForWait(wire, options),
      undecided: (error) => this.report.decide(error),
      jitterMs: (waitMs) => Math.random() * Math.min(waitMs * JITTER_PART, JITTER_MS_MAX),
    });
    this.channels = openChannels(this.settings);
  }

  get failures(): number {
    return this.report.failures;
  }

  get waiting(): number {
    return this.queue.waiting;
  }

  async check(request: LimitRequest, options: CallOptions = {}): Promise<LimitResult> {
    const wire = toWireRequest(request);
    const { signal, timeoutMs = this.settings.timeoutMs } = readCallOptions(options);
    checkTimeout(timeoutMs);
    signal?.throwIfAborted();
    return this.decide(wire, { signal, timeoutMs });
  }

  async wait(request: LimitRequest, options: WaitOptions): Promise<LimitResult> {
    const wire = toWireRequest(request);
    const { timeoutMs = this.settings.timeoutMs } = readWaitOptions(options);
    checkTimeout(timeoutMs);
    return this.queue.wait(wire, options);
  }

  /** No longer than the wait may last. */
  private async askForWait(wire: WireRequest, { timeoutMs = this.settings.timeoutMs, leftMs }: AskOptions): Promise<Answer> {
    const result = await this.decide(wire, { timeoutMs: Math.max(1, Math.min(timeoutMs, Math.floor(leftMs))) });
    return { result, waitMs: result.retryAfterMs };
  }

  private async decide(wire: WireRequest, { signal, timeoutMs }: CallOptions & { readonly timeoutMs: number }): Promise<LimitResult> {
    const refusal = this.refusal();
    if (refusal !== undefined) return this.report.decide(refusal);
    this.inFlight += 1;
    try {
      const result = toResult(decided(await this.call(wire, { signal, timeoutMs })));
      this.circuit.recordAnswer();
      return result;
    } catch (error) {
      if (signal?.aborted === true) this.circuit.recordAbort();
      signal?.throwIfAborted();
      const { code, details } = error as Partial<ServiceError>;
      if (code === status.INVALID_ARGUMENT) {
        this.circuit.recordAnswer();
        throw new InvalidRequestError(details, { cause: error });
      }
      this.circuit.recordFailure();
      return this.report.decide(asError(error));
    } finally {
      this.inFlight -= 1;
    }
  }

  // Not grpc-js's waitForReady, whose timers outlast a channel that is closed or not awaited any more.
  async ready(options: { readonly timeoutMs?: number } = {}): Promise<boolean> {
    checkOptions(options, { names: ['timeoutMs'], place: 'ready' });
    const timeoutMs = readWhole('timeoutMs', options.timeoutMs ?? READY_TIMEOUT_MS, { min: 0, max: READY_MS_MAX });
    const endMs = monotonicNowMs() + timeoutMs;
    while (!this.isClosed) {
      if (this.channels.some((channel) => isReady(channel, { connects: true }))) return true;
      if (monotonicNowMs() >= endMs) return false;
      await pause(READY_LOOK_MS);
    }
    return false;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.queue.close(closedError());
    this.circuit.close();
    // A channel of grpc-js 1.14 resolves its first address in the next tick. One that is closed before would connect again and again.
    await new Promise(setImmediate);
    for (const channel of this.channels) channel.close();
  }

  /** Why this call is not made; undefined if it is. */
  private refusal(): Error | undefined {
    const { inFlightMax, address } = this.settings;
    if (this.isClosed) return closedError();
    if (this.inFlight >= inFlightMax) return new Error(`${inFlightMax} calls wait already (inFlightMax)`);
    if (!this.circuit.mayCall()) return new Error(`Weir at ${address} does not answer; the next try follows`);
    return undefined;
  }

  /**
   * Keeps the deadline itself: grpc-js looks at the clock before it reads the socket, so after a pause of this process it would take
   * answers that are there for late.
   */
  private call(wire: WireRequest, { signal, timeoutMs }: CallOptions & { readonly timeoutMs: number }): Promise<ReceivedResponse> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const cancel = (): void => {
        call.cancel();
      };
      const giveUp = (): void => {
        isLate = true;
        cancel();
      };
      const done = (error: ServiceError | null, response?: ReceivedResponse): void => {
        clearTimeout(deadline);
        signal?.removeEventListener('abort', cancel);
        if (response !== undefined) resolve(response);
        else if (isLate) reject(new Error(`Weir at ${this.settings.address} did not answer within ${timeoutMs} ms`));
        else reject(error ?? new Error('no answer'));
      };
      const call = this.pick().makeUnaryRequest(
        SHOULD_RATE_LIMIT,
        encodeRequest,
        decodeResponse,
        wire,
        this.metadataFor(timeoutMs),
        {},
        done,
      );
      const deadline = readTimeout(timeoutMs, giveUp);
      signal?.addEventListener('abort', cancel);
    });
  }

  /** Weir waits for Redis no longer than its caller waits. */
  private metadataFor(timeoutMs: number): Metadata {
    return timeoutMs === this.settings.timeoutMs ? this.metadata : timeoutMetadata(timeoutMs);
  }

  /** In turn; one that is connected before one that is not. */
  private pick(): GrpcClient {
    const { channels } = this;
    for (let i = 0; i < channels.length; i += 1) {
      const channel = channels[(this.next + i) % channels.length];
      if (channel === undefined || !isReady(channel, { connects: false })) continue;
      this.next = (this.next + i + 1) % channels.length;
      return channel;
    }
    const [first] = channels;
    if (first === undefined) throw new Error('a client without a connection');
    const channel = channels[this.next] ?? first;
    this.next = (this.next + 1) % channels.length;
    return channel;
  }
}

function closedError(): Error {
  return new Error('the client is closed');
}

/** @throws InvalidRequestError */
function checkTimeout(timeoutMs: number): void {
  if (isTimeout(timeoutMs)) return;
  throw new InvalidRequestError(`timeoutMs is ${String(timeoutMs)}; set a whole number from 1 to ${TIMEOUT_MS_MAX}`);
}

function timeoutMetadata(timeoutMs: number): Metadata {
  const metadata = new Metadata();
  metadata.set('grpc-timeout', `${timeoutMs}m`);
  return metadata;
}

/** `connects`: an idle channel begins to connect. */
function isReady(channel: GrpcClient, { connects }: { readonly connects: boolean }): boolean {
  return channel.getChannel().getConnectivityState(connects) === connectivityState.READY;
}

/** An answer without a decision is not one of Weir. */
function decided(response: ReceivedResponse): ReceivedResponse {
  if (response.overall_code === undefined) throw new Error('the answer has no overall_code');
  return response;
}
