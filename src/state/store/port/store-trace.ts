/** The reports of a store on the requests that a trace samples. */

import type { Group } from '../../../domain/bucket/take';
import type { StoreErrorReason } from './store-error';

/** Follows sampled requests through the layers of a store. */
export interface StoreTrace {
  /** The trace of one of the groups; undefined: its request is not sampled. */
  of(group: Group): StoreTrace | undefined;
  /** Called for each command that was sent. */
  onCommand(groups: readonly Group[], command: TracedCommand): void;
  /** The failure mode decides the group. */
  onFallback(group: Group, reason: StoreErrorReason): void;
}

/** A command as one call saw it. Times are of the monotonic clock, in milliseconds. */
export interface TracedCommand {
  /** When the call was handed over. */
  readonly arrivedMs: number;
  readonly sentMs: number;
  readonly endedMs: number;
  /** Number of requests in the command, those of other calls included. */
  readonly groups: number;
  /** Why it failed; undefined: it was answered. */
  readonly failed: StoreErrorReason | undefined;
  /** The server that it was sent to; undefined: unknown. */
  readonly server: ServerName | undefined;
}

/** A server as traces name it. */
export interface ServerName {
  /** A host, an address, or the path of a socket. */
  readonly address: string;
  /** Absent for a socket. */
  readonly port?: number;
}
