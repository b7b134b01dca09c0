/** The only place that combines the layers around Redis: those of one server, and those around all servers. It does not know the client. */

import { monotonicNowMs as nowMs, monotonicNowUs as nowUs } from '../../lib/clock';
import { BreakerStore, type BreakerOptions } from './breaker';
import { DeadlineStore } from './deadline';
import { DenyCacheStore, type DenyCacheOptions } from './deny-cache';
import { FallbackStore, type FallbackOptions } from './fallback';
import { LeaseStore, type LeaseStoreOptions } from './lease-store';
import { UsageSnapshot } from './usage-snapshot';
import { BatchingStore, type BatchingOptions } from '../store/layers/batching-store';
import { MeasuredStore, type StoreMeasure } from '../store/layers/measured-store';
import type { Store } from '../store/port/store';

export interface WrapServerOptions extends Pick<BatchingOptions, 'partOf' | 'groupsMax' | 'server' | 'pipeline'> {
  /** Deadline of a command, in milliseconds. */
  readonly timeoutMs: number;
  /** Recent lag of this process, in milliseconds, which extends the deadline. Default: none. */
  readonly lagMs?: () => number;
  readonly breaker: Omit<BreakerOptions, 'nowMs'>;
  /** Measures each command, and each call that does not reach the server. */
  readonly measure: StoreMeasure;
}

export interface WrappedServer {
  /** Batches calls, applies the deadline, and skips a server that keeps failing. */
  readonly store: Store;
  /** Another store on the same server, with its deadline, breaker and measurement; calls are not batched. */
  readonly beside: (other: Store) => Store;
  readonly breaker: BreakerStore;
  readonly deadline: Pick<DeadlineStore, 'allowedMs'>;
}

export function wrapServer(
  server: Store,
  { timeoutMs, lagMs, breaker: breakerOptions, measure, partOf, groupsMax, pipeline, server: serverName }: WrapServerOptions,
): WrappedServer {
  const deadline = new DeadlineStore(server, { timeoutMs, nowMs, callersWaiting: () => store.callersWaiting, ...(lagMs && { lagMs }) });
  const breaker = new BreakerStore(deadline, { ...breakerOptions, nowMs });
  // The outermost layer: deadline, breaker and measurement apply to a command, which may carry many calls.
  const store: BatchingStore = new BatchingStore(new MeasuredStore(breaker, measure), {
    partOf,
    groupsMax,
    ...(serverName && { server: serverName }),
    ...(pipeline && { pipeline }),
    timeoutMs,
    longestMs: () => deadline.longestMs,
    nowMs,
    onGivenUp: (reason) => {
      measure.onError(reason);
    },
  });
  const beside = (other: Store) => new MeasuredStore(breaker.beside(deadline.beside(other)), measure);
  return { store, beside, breaker, deadline };
}

export interface WrapRedisOptions extends Omit<FallbackOptions, 'lastKnown' | 'nowMs' | 'nowUs'>, Pick<DenyCacheOptions, 'onDenied'> {
  /** Most buckets with a cached denial; 0 turns the deny cache off. */
  readonly denyCacheMax: number;
  /** Most buckets in the usage snapshot. */
  readonly lastKnownMax: number;
  readonly leases: Pick<LeaseStoreOptions, 'leases' | 'onHits'>;
}

export interface WrappedRedis {
  readonly store: FallbackStore;
  readonly denyCache: Pick<DenyCacheStore, 'clear' | 'forget'>;
  readonly leases: Pick<LeaseStore, 'clear' | 'forget' | 'sweep'>;
}

/** Wraps one Redis or two, whose servers are already wrapped. */
export function wrapRedis(
  redis: Store,
  { denyCacheMax, lastKnownMax, onDenied, leases: leaseOptions, ...fallback }: WrapRedisOptions,
): WrappedRedis {
  const lastKnown = new UsageSnapshot({ nowMs, bucketsMax: lastKnownMax });
  const denyCache = new DenyCacheStore(redis, { nowMs, bucketsMax: denyCacheMax, lastKnown, onDenied });
  const { instances } = fallback;
  const leases = new LeaseStore(denyCacheMax === 0 ? redis : denyCache, { ...leaseOptions, instances, nowMs, lastKnown });
  const store = new FallbackStore(leases, { ...fallback, lastKnown, nowMs, nowUs });
  return { store, denyCache, leases };
}
