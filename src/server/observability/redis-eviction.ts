/** Reports Redis servers that evict keys to health, log and metrics. */

import type { Health } from './health';
import { event } from './log/log-event';
import type { Logger } from './log/logger';
import { ThrottledLog } from './log/throttled-log';
import type { Metrics } from './metrics/metrics';

/** The line in the body of the health check. */
export const MAY_EVICT = 'redis: may evict buckets';

export interface RedisEvictionOptions {
  readonly health: Health;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'redisEvictedKeys'>;
  readonly nowMs: () => number;
}

/** One server, as its watch sees it. */
export interface WatchedServer {
  readonly address: string;
  /** `redis` or `redis_per_second`. */
  readonly store: string;
  /** A policy by which it evicts; undefined: it does not. */
  readonly policy: string | undefined;
  /** Keys since the last look; undefined: it does not say. */
  readonly evicted: number | undefined;
}

export class RedisEviction {
  private readonly evicting = new Set<symbol>();
  private readonly throttled: ThrottledLog<Readonly<Record<string, unknown>>>;

  constructor(private readonly options: RedisEvictionOptions) {
    this.throttled = new ThrottledLog({
      write: (sentence, fields) => {
        options.log.warn(event('redis_evicts', fields), sentence);
      },
      nowMs: options.nowMs,
    });
  }

  /** Returns the listener of one server, and what forgets the server. */
  watch(): { readonly onLook: (server: WatchedServer) => void; readonly forget: () => void } {
    const key = Symbol('server');
    let lastPolicy: string | undefined;
    return {
      onLook: ({ address, store, policy, evicted }) => {
        this.show(key, policy !== undefined);
        if (policy !== undefined && policy !== lastPolicy) this.warnOfPolicy(address, policy);
        lastPolicy = policy;
        if (evicted === undefined) return;
        this.options.metrics.redisEvictedKeys.inc({ store }, evicted);
        if (evicted === 0) return;
        this.throttled.log(
          'evicted',
          `Redis at ${address} has evicted ${evicted} keys: the limits of buckets among them start again; set maxmemory-policy noeviction, and give Redis more memory`,
          { address, keys: evicted },
        );
      },
      forget: () => {
        this.show(key, false);
      },
    };
  }

  private warnOfPolicy(address: string, policy: string): void {
    this.options.log.warn(
      event('redis_evicts', { address, policy }),
      `Redis at ${address} has maxmemory-policy ${policy}: when its memory is full it evicts buckets, and their limits start again; set maxmemory-policy noeviction`,
    );
  }

  private show(key: symbol, isEvicting: boolean): void {
    if (isEvicting) this.evicting.add(key);
    else this.evicting.delete(key);
    this.options.health.show(MAY_EVICT, { isDegraded: this.evicting.size > 0 });
  }
}
