/** Calls that one read of a connection has brought: they are decided together, and each is told its own answer. */

import type { Answer, AnswerCalls, Asked } from '../answer';

/** Calls that are asked for at once; what a read brings beyond it is asked for apart. A command to Redis carries some more. */
export const GATHERED_MAX = 64;

/** Who waits for an answer. */
export interface GatheredCall {
  /** `nowMs` is the time for all that are told together. Without an answer there is a fault of ours. */
  onAnswer(answer: Answer | undefined, nowMs: number): void;
  /** It could not be told: `onAnswer` has thrown this. */
  onFault(error: unknown): void;
}

/**
 * What a call costs besides its decision (promises, the layers of the store) is paid once for all of them; none waits for
 * others to come.
 */
export class GatheredCalls {
  private calls: GatheredCall[] = [];
  private asked: Asked[] = [];
  private timeoutMs: number | undefined;

  constructor(
    private readonly answerCalls: AnswerCalls,
    /** A clock that is never set. */
    private readonly nowMs: () => number,
  ) {}

  /** Asked for by `ask`, or before that with as many others as may be. Those of one question have one timeout. */
  add(call: GatheredCall, asked: Asked, timeoutMs: number | undefined): void {
    if (this.calls.length >= GATHERED_MAX || timeoutMs !== this.timeoutMs) this.ask();
    this.timeoutMs = timeoutMs;
    this.calls.push(call);
    this.asked.push(asked);
  }

  /** All that a read has brought is there. */
  ask(): void {
    const { calls, asked, timeoutMs } = this;
    if (calls.length === 0) return;
    this.calls = [];
    this.asked = [];
    void this.answerCalls(asked, timeoutMs === undefined ? {} : { timeoutMs }).then((answers) => {
      const nowMs = this.nowMs();
      for (let i = 0; i < calls.length; i += 1) tell(calls[i], answers[i], nowMs);
    });
  }
}

/** Whatever becomes of one, the others are told theirs. */
function tell(call: GatheredCall | undefined, answer: Answer | undefined, nowMs: number): void {
  try {
    call?.onAnswer(answer, nowMs);
  } catch (error) {
    call?.onFault(error);
  }
}
