/** The limiter in the process: hands requests to the engine, and turns its outcomes into results. */

import { examineConfig } from '../../compile/compile';
import type { DeclaredLevel } from '../../compile/lint/declared-level';
import type { PlanSpec } from '../../compile/read/read-plans';
import { formatExplanation } from '../../cli/explain/explanation-text';
import type { RateLimitRequest } from '../../descriptor/descriptor';
import { explainRequest } from '../../explain/explanation';
import { asError, BadRequestError, UnavailableError } from '../../lib/errors';
import { monotonicNowUs } from '../../lib/clock';
import type { Plan } from '../../rule/plan';
import type { DescriptorLevel } from '../../rule/tree';
import type { Outcome } from '../../should-rate-limit';
import { toRequest } from '../../transport/messages/request';
import { toWireResponse } from '../../transport/messages/response';
import { InvalidRequestError } from '../limiter/invalid-request-error';
import type { CallOptions, LimitRequest, LimitResult } from '../limiter/limiter';
import { byFailureMode, toResult } from '../limiter/to-result';
import { toWireRequest } from '../limiter/to-wire-request';
import type { InProcessLimiter } from './in-process-limiter';
import type { LimiterChoices } from './limiter-settings';
import type { Engine } from './open-engine';
import { unlessAborted } from './unless-aborted';

export class EngineLimiter implements InProcessLimiter {
  private closing: Promise<void> | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly choices: LimiterChoices,
  ) {}

  async check(request: LimitRequest, { signal, timeoutMs }: CallOptions = {}): Promise<LimitResult> {
    const received = readRequest(request);
    signal?.throwIfAborted();
    if (this.closing !== undefined) return this.undecided(new Error('the limiter is closed'));
    const decided = this.decide(received, timeoutMs);
    const outcome = await (signal === undefined ? decided : unlessAborted(decided, signal));
    if (!(outcome instanceof Error)) return toResult(toWireResponse(outcome));
    if (outcome instanceof BadRequestError) throw new InvalidRequestError(outcome.message, { cause: outcome });
    if (!(outcome instanceof UnavailableError)) this.engine.faults.error({ err: outcome }, 'a rate limit request failed');
    return this.undecided(outcome);
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
    this.closing ??= this.engine.close();
    return this.closing;
  }

  private async decide(request: RateLimitRequest, timeoutMs: number | undefined): Promise<Outcome> {
    try {
      const [outcome] = await this.engine.decide([request], timeoutMs === undefined ? {} : { timeoutMs });
      return outcome ?? new Error('the engine answered no outcome');
    } catch (error) {
      return asError(error);
    }
  }

  private undecided(error: Error): LimitResult {
    return byFailureMode(this.choices.failureMode, error);
  }
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
