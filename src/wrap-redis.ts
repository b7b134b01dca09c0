/** What is wrapped around Redis, each layer put in here and nowhere else: around one server, and around all that there is. It knows no client. */

import { monotonicNowMs as nowMs } from './clock';
import { BreakerStore, type BreakerOptions } from './resilience/breaker';
import { DeadlineStore } from './resilience/deadline';
import { DenyCacheStore, type DenyCacheOptions } from './resilience/deny-cache';
import { FallbackStore, type FallbackOptions } from './resilience/fallback';
import { LastKnown } from './resilience/last-known';
import { BatchingStore, type BatchingOptions } from './store/batching-store';
import { MeasuredStore, type StoreMeasure } from './store/measured-store';
import type { Store } from './store/store';

export interface WrapServerOptions extends Pick<BatchingOptions, 'partOf' | 'groupsMax'> {
  /** How long a command may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly breaker: Omit<BreakerOptions, 'nowMs'>;
  /** Told of each command, and of each call that the server is not asked for. */
  readonly measure: StoreMeasure;
}

export interface WrappedServer {
  /** Asked for many calls at once, within a deadline, and not asked while it keeps failing. */
  readonly store: Store;
  readonly breaker: BreakerStore;
}

export function wrapServer(server: Store, { timeoutMs, breaker: breakerOptions, measure, partOf, groupsMax }: WrapServerOptions): WrappedServer {
  const breaker = new BreakerStore(new DeadlineStore(server, { timeoutMs, nowMs }), { ...breakerOptions, nowMs });
  // Outside all of these: deadline, breaker and measurement are of a command, however many calls it carries.
  const store = new BatchingStore(new MeasuredStore(breaker, measure), {
    partOf,
    groupsMax,
    timeoutMs,
    nowMs,
    onGivenUp: (reason) => {
      measure.onError(reason);
    },
  });
  return { store, breaker };
}

export interface WrapRedisOptions extends Omit<FallbackOptions, 'lastKnown' | 'nowMs'>, Pick<DenyCacheOptions, 'onDenied'> {
  /** Buckets whose denial is remembered; 0: none is, and nothing looks for one. */
  readonly denyCacheMax: number;
  /** Buckets that are remembered for when Redis is away. */
  readonly lastKnownMax: number;
}

export interface WrappedRedis {
  readonly store: FallbackStore;
  readonly denyCache: Pick<DenyCacheStore, 'clear' | 'forget'>;
}

/** Of one Redis or two, whose servers are wrapped already. */
export function wrapRedis(redis: Store, { denyCacheMax, lastKnownMax, onDenied, ...fallback }: WrapRedisOptions): WrappedRedis {
  const lastKnown = new LastKnown({ nowMs, bucketsMax: lastKnownMax });
  const denyCache = new DenyCacheStore(redis, { nowMs, bucketsMax: denyCacheMax, lastKnown, onDenied });
  const store = new FallbackStore(denyCacheMax === 0 ? redis : denyCache, { ...fallback, lastKnown, nowMs });
  return { store, denyCache };
}
