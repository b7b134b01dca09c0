/** Gathers the calls of one read of a connection, so that they are decided together; each call gets its own answer. */

import type { RequestTrace } from '../../../../state/request/request-trace';
import type { DecideOptions } from '../../../../should-rate-limit';
import type { Answer, AnswerCalls, ReadRequest } from '../../answer';

/** Maximum of calls decided together; further calls of the same read form another batch. A command to Redis carries more. */
export const GATHERED_MAX = 64;

/** A call that waits for its answer. */
export interface GatheredCall {
  /** Undefined: the call is not sampled. */
  readonly requestTrace: RequestTrace | undefined;
  /** `nowMs` is the same for the whole batch. An undefined answer is an internal error. */
  onAnswer(answer: Answer | undefined, nowMs: number): void;
  /** `onAnswer` has thrown this error. */
  onFault(error: unknown): void;
}

/**
 * Calls of one batch share the fixed costs (promises, the layers of the store). No call waits for calls
 * that have not arrived yet.
 */
export class GatheredCalls {
  private calls: GatheredCall[] = [];
  private received: ReadRequest[] = [];
  private timeoutMs: number | undefined;
  /** One for each call; undefined while none of them is sampled. */
  private traces: (RequestTrace | undefined)[] | undefined;

  constructor(
    private readonly answerCalls: AnswerCalls,
    /** A monotonic clock. */
    private readonly nowMs: () => number,
  ) {}

  /** Adds a call to the batch. First sends the present batch if it is full or has another timeout. */
  add(call: GatheredCall, received: ReadRequest, timeoutMs: number | undefined): void {
    if (this.calls.length >= GATHERED_MAX || timeoutMs !== this.timeoutMs) this.send();
    this.timeoutMs = timeoutMs;
    if (call.requestTrace !== undefined) this.traces ??= this.calls.map(() => undefined);
    this.traces?.push(call.requestTrace);
    this.calls.push(call);
    this.received.push(received);
  }

  /** Sends the batch: everything of the read has been added. */
  send(): void {
    const { calls, received, timeoutMs, traces } = this;
    if (calls.length === 0) return;
    this.calls = [];
    this.received = [];
    this.traces = undefined;
    void this.answerCalls(received, optionsOf(timeoutMs, traces)).then((answers) => {
      const nowMs = this.nowMs();
      for (let i = 0; i < calls.length; i += 1) deliver(calls[i], answers[i], nowMs);
    });
  }
}

function optionsOf(timeoutMs: number | undefined, traces: DecideOptions['traces']): DecideOptions {
  if (traces !== undefined) return timeoutMs === undefined ? { traces } : { timeoutMs, traces };
  return timeoutMs === undefined ? {} : { timeoutMs };
}

/** Delivers an answer. An error of one call does not affect the others. */
function deliver(call: GatheredCall | undefined, answer: Answer | undefined, nowMs: number): void {
  try {
    call?.onAnswer(answer, nowMs);
  } catch (error) {
    call?.onFault(error);
  }
}
