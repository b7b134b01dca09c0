/** `weir/client`: a client of ShouldRateLimit for Node services, whose calls end within a deadline whatever happens to Weir. */

import { InvalidRequestError } from '../limiter/invalid-request-error';
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
} from '../limiter/limiter';
export type { Client, ClientOptions, ClientTls } from './client';
export { InvalidRequestError };

/** Begins to connect. Throws if an option is invalid. */
export function createClient(options: ClientOptions): Client {
  return new WeirClient(options);
}
