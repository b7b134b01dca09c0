/** Watches whether a Redis server evicts keys for lack of memory, by its INFO, which hosted engines show where CONFIG is refused. */

import { errorCodeOf } from './client/redis-errors';

/** Interval between two looks, in milliseconds. */
export const EVICTION_MS = 10_000;

/** Longer texts of other servers are cut. */
const POLICY_CHARS_MAX = 32;

export interface EvictionReading {
  /** `maxmemory-policy`; undefined: the server does not show it. */
  readonly policy: string | undefined;
  /** `maxmemory`; 0: no limit, so nothing is evicted. */
  readonly bytesMax: number;
  /** Since the server started; undefined: the server does not show it. */
  readonly evictedKeys: number | undefined;
}

export interface EvictionWatchOptions {
  /** Sends INFO. Rejects if the server does not answer or refuses it. */
  readonly read: () => Promise<EvictionReading>;
  /** Called after each look. `evicted`: the keys since the last one; undefined: the server does not show it. */
  readonly onLook: (look: EvictionLook) => void;
}

export interface EvictionLook {
  /** A policy by which the server evicts keys; undefined: it does not. */
  readonly policy: string | undefined;
  readonly evicted: number | undefined;
}

export class EvictionWatch {
  private timer: NodeJS.Timeout | undefined;
  private evictedKeys: number | undefined;
  private isLooking = false;

  constructor(private readonly options: EvictionWatchOptions) {}

  /** The server is connected: looks now, and then at an interval. The count of another server is forgotten. */
  start(): void {
    this.stop();
    this.evictedKeys = undefined;
    this.timer = setInterval(() => void this.look(), EVICTION_MS).unref();
    void this.look();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Never rejects. */
  async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      this.report(await this.options.read());
    } catch (error) {
      // Without the permission every further try would be a line in the server's log of denied commands.
      if (errorCodeOf(error) !== undefined) this.stop();
    } finally {
      this.isLooking = false;
    }
  }

  private report({ policy, bytesMax, evictedKeys }: EvictionReading): void {
    const before = this.evictedKeys ?? evictedKeys;
    this.evictedKeys = evictedKeys;
    const mayEvict = policy !== undefined && policy !== 'noeviction' && bytesMax > 0;
    this.options.onLook({
      policy: mayEvict ? policy : undefined,
      // Less than before: the server has started again.
      evicted: evictedKeys === undefined || before === undefined ? undefined : evictedKeys < before ? evictedKeys : evictedKeys - before,
    });
  }
}

/** Reads the sections `memory` and `stats` of INFO. Any text is accepted: servers differ, and nothing is decided by it. */
export function readInfo(memory: unknown, stats: unknown): EvictionReading {
  const policy = fieldOf(memory, 'maxmemory_policy')?.slice(0, POLICY_CHARS_MAX);
  return { policy, bytesMax: wholeOf(fieldOf(memory, 'maxmemory')) ?? 0, evictedKeys: wholeOf(fieldOf(stats, 'evicted_keys')) };
}

function fieldOf(info: unknown, name: string): string | undefined {
  if (typeof info !== 'string') return undefined;
  return new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
}

function wholeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
