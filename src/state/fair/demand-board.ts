/** The port of the demand board: what the members of divided limits asked for, window by window, over all processes. */

import type { ByteString } from '../../domain/descriptor/descriptor';

/** Members of one limit in one window that are counted by name; further ones count as the member without a name. */
export const MEMBERS_MAX = 1_000;

/** One window of a limit. */
export interface DemandWindow {
  /** The bucket key of the limit that its members share, without `CACHE_KEY_PREFIX`. */
  readonly bucket: string;
  /** When the window began, in microseconds since 1970. */
  readonly startUs: number;
  readonly windowUs: number;
}

/** By member, hits. */
export type DemandCounts = ReadonlyMap<ByteString, number>;

/** Rejects with a StoreError if the store cannot answer. */
export interface DemandBoard {
  /** How long after its end a window is complete, in microseconds. */
  readonly graceUs: number;
  add(window: DemandWindow, counts: DemandCounts): Promise<void>;
  /** Empty: nobody asked. */
  read(window: DemandWindow): Promise<DemandCounts>;
}

/** Demand is read in the window after its own, and a little later. */
export const KEPT_WINDOWS = 2;

/** Kept beyond those windows, in milliseconds. */
export const KEPT_MS = 5_000;
