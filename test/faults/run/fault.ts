/** What a fault is: how its scene is set, what is done to it, and what it may destroy. */

import { isLong } from '../../support/random/form';
import type { WeirProcess } from '../../support/processes/weir-process';

export interface Fault {
  /** Its row in docs/generated/faults.md. */
  readonly name: string;
  /** What is done, for a reader; times are those of the long form. */
  readonly done: string;
  /** What of the counts the fault itself destroys. `last_seconds`: what Redis had acknowledged in them, but neither stored nor replicated. */
  readonly loses: 'nothing' | 'last_seconds' | 'everything';
  /** How often it makes the refill of a bucket run ahead by more than the bucket holds. */
  readonly refills?: number;
  /** Whether it is one that callers may not notice at all: then an answer by fallback fails the test. */
  readonly unnoticed?: true;
  /** Why it can't be done on this machine. */
  readonly whyNot?: () => string | undefined;
  readonly open: (size: Size) => Promise<Scene>;
}

/** A store, and what is to happen to it. */
export interface Scene {
  /** How Weir reaches it, and whatever else its processes are to have. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends every connection to the store: Weir's processes then count one another at once, and not at their next heartbeat. */
  reconnect(): Promise<void>;
  /** Resolves when the fault is over. */
  strike(during: During): Promise<Seen>;
  close(): Promise<void>;
}

/** What else was seen of a fault. */
export interface Seen {
  readonly noted?: string;
  /** What of this fault's own promises did not hold. */
  readonly broken?: string;
}

export interface During {
  readonly weirs: readonly WeirProcess[];
  readonly size: Size;
}

export interface Size {
  readonly perSecond: number;
  /** Load before the fault, for as long as it lasts, and after the recovery. */
  readonly beforeMs: number;
  readonly faultMs: number;
  readonly afterMs: number;
  /** Longest wait for the recovery. */
  readonly recoveryMsMax: number;
  readonly freshKeys: number;
  /** Of the processes, beside what a fault sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Of those that are to notice nothing. */
  readonly unnoticedEnv: Readonly<Record<string, string>>;
}

const LONG: Size = {
  perSecond: 500,
  beforeMs: 3_000,
  faultMs: 5_000,
  afterMs: 2_000,
  recoveryMsMax: 60_000,
  freshKeys: 1_000_000,
  // As delivered: the published table is of the defaults.
  env: {},
  unnoticedEnv: {},
};

const SHORT: Size = {
  perSecond: 400,
  beforeMs: 600,
  faultMs: 1_000,
  afterMs: 300,
  recoveryMsMax: 10_000,
  freshKeys: 50_000,
  // A machine that is busy for a moment is no fault; a stop, a slow Redis and a pause of 200 ms still are.
  env: { REDIS_BREAKER_OPEN: '500ms', REDIS_OP_TIMEOUT: '25ms' },
  // A machine that other work stalls for 350 ms has been seen.
  unnoticedEnv: { REDIS_OP_TIMEOUT: '600ms' },
};

export const SIZE = isLong ? LONG : SHORT;

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Does it again and again until the time is over. */
export async function repeat(work: () => unknown, { everyMs, forMs }: { readonly everyMs: number; readonly forMs: number }): Promise<void> {
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    await work();
    await sleep(everyMs);
  }
}
