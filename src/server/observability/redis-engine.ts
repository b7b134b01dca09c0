/** Reports the engine of a Redis server to log and metrics, and what Weir does differently because of it. */

import type { Engine } from '../../state/store/redis/engine-probe';
import { event } from './log/log-event';
import type { Logger } from './log/logger';
import type { Metrics } from './metrics/metrics';

export interface RedisEngineOptions {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'redisEngine'>;
  /** `redis` or `redis_per_second`. */
  readonly store: string;
  /** `REDIS_OP_TIMEOUT`, in milliseconds. */
  readonly timeoutMs: number;
}

/** The proposed deadline is this many writes: batches wait for one another. */
const WRITES_OF_DEADLINE = 5;

interface Note {
  readonly kind: 'slots' | 'writes';
  readonly engine: Engine;
  readonly note: string;
}

export class RedisEngine {
  /** The notes that were logged, so that a reconnect does not repeat it. Bounded by the nodes of a cluster. */
  private readonly logged = new Set<string>();

  constructor(private readonly options: RedisEngineOptions) {}

  /** Called after each connect. */
  onConnected(address: string, engine: Engine): void {
    const { metrics, store } = this.options;
    const { name, version, separatesSlots } = engine;
    metrics.redisEngine.set({ store, engine: name, version }, 1);
    if (separatesSlots)
      this.warn(address, {
        kind: 'slots',
        engine,
        note: 'refuses scripts with keys of several slots: Weir sends the buckets of each slot apart, and a request with buckets in several slots takes two round trips',
      });
  }

  /** Called with the time of a write, in milliseconds. */
  onWrite(address: string, engine: Engine, writeMs: number): void {
    const wantedMs = Math.ceil(writeMs * WRITES_OF_DEADLINE);
    if (wantedMs <= this.options.timeoutMs) return;
    this.warn(address, {
      kind: 'writes',
      engine,
      note: `needs ${writeMs.toFixed(1)} ms for a write: if that is its nature, set REDIS_OP_TIMEOUT=${wantedMs}ms, or many decisions are made without it`,
    });
  }

  /** Each kind of note once for each address. */
  private warn(address: string, { kind, engine: { name, version }, note }: Note): void {
    const said = `${kind} ${address}`;
    if (this.logged.has(said)) return;
    this.logged.add(said);
    this.options.log.warn(event('redis_engine', { address, engine: name, version }), `Redis at ${address} (${name} ${version}) ${note}`);
  }
}
