/** Counts failed tries by address, and refuses an address after too many in a minute. */

import { isIPv6 } from 'node:net';
import { MS_PER_MINUTE } from '../../../lib/time-units';

export interface FailedTriesOptions {
  /** Failed tries of an address in a minute. */
  readonly triesMax: number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** Most addresses that are counted; beyond it the oldest is dropped. */
const ADDRESSES_MAX = 10_000;

interface Tries {
  readonly sinceMs: number;
  count: number;
}

export class FailedTries {
  /** By network, oldest minute first. */
  private readonly tries = new Map<string, Tries>();

  constructor(private readonly options: FailedTriesOptions) {}

  /** Seconds until the address may try again; undefined: it may try now. */
  retryAfterS(address: string): number | undefined {
    const tries = this.current(address);
    if (tries === undefined || tries.count < this.options.triesMax) return undefined;
    return Math.max(1, Math.ceil((tries.sinceMs + MS_PER_MINUTE - this.options.nowMs()) / 1000));
  }

  record(address: string): void {
    const tries = this.current(address);
    if (tries !== undefined) {
      tries.count += 1;
      return;
    }
    this.tries.set(networkOf(address), { sinceMs: this.options.nowMs(), count: 1 });
    for (const oldest of this.tries.keys()) {
      if (this.tries.size <= ADDRESSES_MAX) break;
      this.tries.delete(oldest);
    }
  }

  private current(address: string): Tries | undefined {
    const network = networkOf(address);
    const tries = this.tries.get(network);
    if (tries === undefined || this.options.nowMs() - tries.sinceMs < MS_PER_MINUTE) return tries;
    this.tries.delete(network);
    return undefined;
  }
}

/** An IPv4 address, also one in IPv6 form, or the first 64 bits of an IPv6 address: one host may have the whole /64. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const after = tail.split(':').filter((group) => group !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0');
  return [...groups, ...zeros, ...after].slice(0, 4).join(':');
}
