/** Reports the engines of Redis servers to log and metrics, and what Weir does differently because of them. */

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

/** The reporter of one server. */
export interface WatchedEngine {
  /** Called after each connect. True: the time of a write at this address is not known yet. */
  onConnected(address: string, engine: Engine): boolean;
  /** Called with the time of a write, in milliseconds. */
  onWrite(address: string, engine: Engine, writeMs: number): void;
  /** The server is not used any more. */
  forget(): void;
}

/** The proposed deadline is this many writes: batches wait for one another. */
const WRITES_OF_DEADLINE = 5;

/** The engine and version that one or more servers show. */
interface EngineFacts {
  readonly store: string;
  readonly engine: string;
  readonly version: string;
}

/** The nodes of a cluster may show more versions than a process reports. */
const ENGINES_MAX = 8;

interface ShownEngine {
  readonly facts: EngineFacts;
  servers: number;
}

export class RedisEngine {
  /** Engines and versions, with the number of servers that show each: a series ends with its last server. */
  private readonly shown = new Map<string, ShownEngine>();

  constructor(private readonly options: RedisEngineOptions) {}

  /** The engines that servers show now. */
  get facts(): readonly EngineFacts[] {
    return Array.from(this.shown.values(), ({ facts }) => facts).slice(0, ENGINES_MAX);
  }

  watch(): WatchedEngine {
    let shown: Engine | undefined;
    // The address of each note, so that a reconnect does not repeat it.
    let [apart, measured] = ['', ''];
    return {
      onConnected: (address, engine) => {
        this.replace(shown, engine);
        shown = engine;
        if (engine.separatesSlots && apart !== address) {
          apart = address;
          const note =
            'refuses scripts with keys of several slots: Weir sends the buckets of each slot apart, and a request with buckets in several slots takes two round trips';
          this.warn({ address, engine, note });
        }
        return measured !== address;
      },
      onWrite: (address, engine, writeMs) => {
        measured = address;
        const wantedMs = Math.ceil(writeMs * WRITES_OF_DEADLINE);
        if (wantedMs <= this.options.timeoutMs) return;
        const note = `needs ${writeMs.toFixed(1)} ms for a write: if that is its nature, set REDIS_OP_TIMEOUT=${wantedMs}ms, or many decisions are made without it`;
        this.warn({ address, engine, note });
      },
      forget: () => {
        this.replace(shown, undefined);
        shown = undefined;
      },
    };
  }

  private replace(before: Engine | undefined, now: Engine | undefined): void {
    if (now !== undefined) this.count(now, 1);
    if (before !== undefined) this.count(before, -1);
  }

  private count({ name, version }: Engine, change: 1 | -1): void {
    const { metrics, store } = this.options;
    const facts = { store, engine: name, version };
    const key = `${name} ${version}`;
    const shown = this.shown.get(key) ?? { facts, servers: 0 };
    shown.servers += change;
    if (shown.servers > 0) {
      this.shown.set(key, shown);
      metrics.redisEngine.set(facts, 1);
    } else {
      this.shown.delete(key);
      metrics.redisEngine.remove(facts);
    }
  }

  private warn({ address, engine, note }: { readonly address: string; readonly engine: Engine; readonly note: string }): void {
    const { name, version } = engine;
    this.options.log.warn(event('redis_engine', { address, engine: name, version }), `Redis at ${address} (${name} ${version}) ${note}`);
  }
}
