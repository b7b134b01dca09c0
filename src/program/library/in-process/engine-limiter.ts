/** The limiter in the process: hands requests to the engine, and turns its outcomes into results. */

import { examineConfig } from '../../../configuration/compile/compile';
import type { Decision } from '../../../domain/decide/decision';
import type { DeclaredLevel } from '../../../configuration/compile/lint/declared-level';
import type { PlanSpec } from '../../../configuration/compile/read/read-plans';
import { formatExplanation } from '../../cli/explain/explanation-text';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { explainRequest } from '../../../configuration/explain/explanation';
import { asError, BadRequestError, UnavailableError } from '../../../lib/errors';
import { monotonicNowUs } from '../../../lib/clock';
import { retryAfterMs } from '../../../domain/respond/decided/wait';
import type { Plan } from '../../../domain/rule/plan';
import type { DescriptorLevel } from '../../../domain/rule/tree';
import type { Outcome } from '../../../should-rate-limit';
import { toRequest } from '../../../server/transport/messages/request';
import { toWireResponse } from '../../../server/transport/messages/response';
import type { WireRequest } from '../../../server/transport/messages/wire';
import { InvalidRequestError } from '../limiter/invalid-request-error';
import { readCallOptions, readWaitOptions } from '../limiter/call-options';
import { FailureReport } from '../limiter/failure-report';
import type { CallOptions, LimitRequest, LimitResult, WaitOptions } from '../limiter/limiter';
import { toResult } from '../limiter/to-result';
import { toWireRequest } from '../limiter/to-wire-request';
import type { InProcessLimiter } from './in-process-limiter';
import type { LimiterChoices } from './limiter-settings';
import type { Engine } from './open-engine';
import { unlessAborted } from '../limiter/unless-aborted';
import type { WaitClock } from '../wait/wait-clock';
import { WaitQueue, type Answer, type AskOptions } from '../wait/wait-queue';

export class EngineLimiter implements InProcessLimiter {
  private readonly report: FailureReport;
  private readonly queue: WaitQueue;
  private closing: Promise<void> | undefined;

  /** `clock`: that of waits. */
  constructor(
    private readonly engine: Engine,
    private readonly choices: LimiterChoices,
    clock: WaitClock,
  ) {
    this.report = new FailureReport({ ...choices, nowMs: clock.nowMs });
    this.queue = new WaitQueue({
      ...choices,
      clock,
      // The embedded store answers before the clock moves.
      callMs: choices.storeChoice.kind === 'memory' ? 0 : choices.settings.redisOpTimeoutMs,
      ask: (wire, options) => this.askForWait(wire, options),
      undecided: (error) => this.report.decide(error),
      // Redis orders those that ask at the same moment.
      jitterMs: () => 0,
    });
  }

  get failures(): number {
    return this.report.failures;
  }

  get waiting(): number {
    return this.queue.waiting;
  }

  async check(request: LimitRequest, options: CallOptions = {}): Promise<LimitResult> {
    const received = readRequest(request);
    const { signal, timeoutMs } = readCallOptions(options);
    checkTimeout(timeoutMs);
    signal?.throwIfAborted();
    if (this.closing !== undefined) return this.report.decide(closedError());
    const deciding = this.decide(received, timeoutMs);
    return this.toResult(await (signal === undefined ? deciding : unlessAborted(deciding, signal)));
  }

  async wait(request: LimitRequest, options: WaitOptions): Promise<LimitResult> {
    const wire = toWireRequest(request);
    refusing(() => toRequest(wire));
    checkTimeout(readWaitOptions(options).timeoutMs);
    return this.queue.wait(wire, options);
  }

  explain(request: LimitRequest): string {
    const { rules, compile, control } = this.engine;
    const { settings } = this.choices;
    const levels = new Map<DescriptorLevel, DeclaredLevel>();
    const plans = new Map<Plan, PlanSpec>();
    const { ruleSet } = examineConfig({
      ...compile,
      files: rules.set?.documents ?? [],
      generation: rules.ruleSet?.generation ?? 0,
      onLevel: (declared) => levels.set(declared.level, declared),
      onPlan: (spec, plan) => plans.set(plan, spec),
    });
    const modes = { shadow: settings.shadowMode, quota: settings.quotaMode };
    const input = { ruleSet, levels, plans, request: readRequest(request), modes, keyPrefix: settings.cacheKeyPrefix };
    return formatExplanation(refusing(() => explainRequest({ ...input, nowUs: monotonicNowUs, control })));
  }

  metrics(): Promise<string> {
    return this.engine.metrics();
  }

  close(): Promise<void> {
    this.queue.close(closedError());
    this.closing ??= this.engine.close();
    return this.closing;
  }

  private async askForWait(wire: WireRequest, { timeoutMs }: AskOptions): Promise<Answer> {
    if (this.closing !== undefined) return { result: this.report.decide(closedError()), waitMs: undefined };
    const outcome = await this.decide(toRequest(wire), timeoutMs);
    return { result: this.toResult(outcome), waitMs: outcome instanceof Error ? undefined : waitMsOf(outcome) };
  }

  private async decide(request: RateLimitRequest, timeoutMs: number | undefined): Promise<Outcome> {
    try {
      const [outcome] = await this.engine.decide([request], timeoutMs === undefined ? {} : { timeoutMs });
      return outcome ?? new Error('the engine answered no outcome');
    } catch (error) {
      return asError(error);
    }
  }

  private toResult(outcome: Outcome): LimitResult {
    if (!(outcome instanceof Error)) return toResult(toWireResponse(outcome));
    if (outcome instanceof BadRequestError) throw new InvalidRequestError(outcome.message, { cause: outcome });
    if (!(outcome instanceof UnavailableError)) this.engine.faults.error({ err: outcome }, 'a rate limit request failed');
    return this.report.decide(outcome);
  }
}

function closedError(): Error {
  return new Error('the limiter is closed');
}

/** When a denied request would fit, exactly: answers are in whole seconds. Undefined: no wait helps. */
function waitMsOf({ statuses }: Decision): number | undefined {
  const denying = statuses.filter(({ denies }) => denies);
  if (denying.length === 0 || denying.some(({ neverFits }) => neverFits === true)) return undefined;
  return retryAfterMs(Math.max(...denying.map(({ durationUntilResetUs = 0 }) => durationUntilResetUs)));
}

/** @throws InvalidRequestError */
function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs > 0)) return;
  throw new InvalidRequestError(`timeoutMs is ${String(timeoutMs)}; set a number of milliseconds above 0`);
}

function readRequest(request: LimitRequest): RateLimitRequest {
  const wire = toWireRequest(request);
  return refusing(() => toRequest(wire));
}

/** @throws InvalidRequestError */
function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof BadRequestError ? new InvalidRequestError(error.message, { cause: error }) : error;
  }
}
