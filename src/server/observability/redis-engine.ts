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

export class RedisEngine {
  /** The last line about each address, so that a reconnect does not repeat it. Bounded by the nodes of a cluster. */
  private readonly logged = new Map<string, string>();

  constructor(private readonly options: RedisEngineOptions) {}

  /** Called after each connect. */
  onConnected(address: string, engine: Engine): void {
    const { metrics, store } = this.options;
    metrics.redisEngine.set({ store, engine: engine.name, version: engine.version }, 1);
    const notes = [this.noteOnSlots(engine), this.noteOnWrites(engine)].filter((note) => note !== undefined);
    const text = notes.join('; ');
    if (this.logged.get(address) === text) return;
    this.logged.set(address, text);
    if (notes.length === 0) return;
    const { name, version } = engine;
    this.options.log.warn(event('redis_engine', { address, engine: name, version }), `Redis at ${address} (${name} ${version}) ${text}`);
  }

  private noteOnSlots({ separatesSlots }: Engine): string | undefined {
    if (!separatesSlots) return undefined;
    return 'refuses scripts with keys of several slots: Weir sends the buckets of each slot apart, and a request with buckets in several slots takes two round trips';
  }

  private noteOnWrites({ writeMs = 0 }: Engine): string | undefined {
    const wanted = Math.ceil(writeMs * WRITES_OF_DEADLINE);
    if (wanted <= this.options.timeoutMs) return undefined;
    return `needs ${writeMs.toFixed(1)} ms for a write, which is its nature: set REDIS_OP_TIMEOUT=${wanted}ms, or many decisions are made without it`;
  }
}
