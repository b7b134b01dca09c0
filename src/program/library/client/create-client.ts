/** `@weir-rls/client`: a client of ShouldRateLimit for Node services, whose calls end within a deadline whatever happens to Weir. */

import { InvalidRequestError } from '../limiter/invalid-request-error';
import { WaitQueueFullError } from '../limiter/wait-queue-full-error';
import type { Client, ClientOptions } from './client';
import { WeirClient } from './weir-client';

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
export type { Client, ClientOptions, ClientTls } from './client';
export { InvalidRequestError, WaitQueueFullError };

/** Begins to connect. Throws if an option is invalid. */
export function createClient(options: ClientOptions): Client {
  return new WeirClient(options);
}
