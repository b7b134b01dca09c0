/** The port through which instances share their top keys. */

import type { TopMinutes } from './top-keys';

/** A window of one instance. */
export interface TopPlace {
  /** The name of the process. */
  readonly instance: string;
  readonly minutes: TopMinutes;
}

export interface TopExchange {
  /** The name of this process. */
  readonly name: string;
  /** The live processes, this one among them. Rejects with a StoreError if the store fails. */
  instances(): Promise<readonly string[]>;
  /** The last text, unless it expired. Rejects with a StoreError if the store fails. */
  read(place: TopPlace): Promise<string | undefined>;
  /** Replaces this process's text, which expires after `ttlMs`. Rejects with a StoreError if the store fails. */
  publish(publication: Publication): Promise<void>;
}

export interface Publication {
  readonly minutes: TopMinutes;
  readonly text: string;
  readonly ttlMs: number;
}
