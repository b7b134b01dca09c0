/** `@weir-rls/limiter`: the decisions of the service in the process of a program, by the same rules and with the same stores. */

import type { InProcessLimiter, LimiterOptions } from './in-process-limiter';
import { InvalidRequestError } from '../limiter/invalid-request-error';
import { WaitQueueFullError } from '../limiter/wait-queue-full-error';
import { openEngine } from './open-engine';
import { EngineLimiter } from './engine-limiter';
import { readOptions } from './limiter-settings';
import { REAL_CLOCK } from '../wait/wait-clock';

export type {
  CallOptions,
  Descriptor,
  DetailedDescriptor,
  Entries,
  FailureMode,
  Limiter,
  LimitHeader,
  LimitOverride,
  LimitRequest,
  LimitResult,
  LimitStatus,
  LimitUnit,
  WaitOptions,
} from '../limiter/limiter';
export type { InProcessLimiter, LimiterOptions, RulesOption } from './in-process-limiter';
export { InvalidRequestError, WaitQueueFullError };

/**
 * Resolves when the rules are in force, with Redis at the latest after `REDIS_CONNECT_TIMEOUT`. Rejects for invalid options (TypeError),
 * settings (SettingsError) and rules (ConfigError, whose message has a line for each problem).
 */
export async function createLimiter(options: LimiterOptions): Promise<InProcessLimiter> {
  const choices = readOptions(options);
  return new EngineLimiter(await openEngine(choices), choices, REAL_CLOCK);
}
