/** The messages between the deciding process and the thread of the admin API. */

import type { Algorithm } from '../../../domain/algorithm/algorithms';
import type { ControlStore } from '../../../state/control/control-store';
import type { ConfigNews } from '../../../configuration/source/config-news';
import type { CountsPort } from '../live/live-counts';
import type { DocumentPart } from '../../../configuration/yaml/text-pieces';
import type { TopKeys } from '../../../state/top/top-keys';
import type { RequestReport } from '../request-counts';
import type { BucketsPort, EventReads, DemandReads, RolloutReads } from '../backend';
import type { TailFilter, TailSample } from '../../../server/observability/tail/tail-sample';
import type { InstanceFacts } from '../../../state/instances/instance-facts';

/** Options of the thread; its settings come from the environment. */
export interface AdminThreadData {
  readonly version: string;
  /** As for the deciding process. */
  readonly compile: {
    readonly defaultAlgorithm: Algorithm;
    readonly defaultOverdraft: boolean;
    readonly calendarMonth: boolean;
    readonly mergeDomainConfig: boolean;
  };
  /** The deciding process keeps the buckets and the control data in its memory. */
  readonly isEmbedded: boolean;
  /** Decisions are made in several processes, so this one counts no top keys. */
  readonly hasWorkers: boolean;
}

/** The services of the deciding process that the thread calls, by name. Every method is asynchronous and takes plain data. */
export interface ProcessServices {
  /** Without Redis: the embedded store. */
  readonly buckets: BucketsPort;
  /** Without Redis: the control data. */
  readonly control: Omit<ControlStore, 'close'>;
  /** Without Redis: the hits of rollouts. */
  readonly rollouts: RolloutReads;
  /** Without Redis: the demand of members. */
  readonly demand: DemandReads;
  /** Without Redis: the outbox of events. */
  readonly events: EventReads;
  readonly top: TopKeys;
  readonly live: CountsPort;
  readonly process: ProcessPort;
}

export interface ProcessPort {
  /** The facts that this process reports of itself. */
  facts(): Promise<InstanceFacts>;
  /** Drops cached denials of buckets that were reset. */
  forget(bucketKeys: readonly string[]): Promise<void>;
}

export type ToThread =
  | { readonly kind: 'config_part'; readonly part: DocumentPart }
  | { readonly kind: 'config'; readonly news: ConfigNews }
  | { readonly kind: 'answer'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly call: number; readonly message: string; readonly reason: FailureReason }
  | { readonly kind: 'sample'; readonly tail: number; readonly sample: TailSample }
  /** Bind the port. */
  | { readonly kind: 'listen' }
  /** All ports of Weir are bound: the thread may answer. */
  | { readonly kind: 'open' }
  | { readonly kind: 'close' };

/** `unavailable`: the store cannot answer; `invalid`: the call is; `not-supported`: this process cannot do that; `fault`: a bug. */
export type FailureReason = 'unavailable' | 'invalid' | 'not-supported' | 'fault';

export type FromThread =
  | {
      readonly kind: 'call';
      readonly call: number;
      readonly service: keyof ProcessServices;
      readonly method: string;
      readonly argument: unknown;
    }
  | { readonly kind: 'tail'; readonly tail: number; readonly filter: TailFilter }
  | { readonly kind: 'tail_end'; readonly tail: number }
  /** The answers of the thread since its last report. */
  | { readonly kind: 'counted'; readonly counts: RequestReport }
  /** A line of the log, with its end. */
  | { readonly kind: 'log'; readonly line: string }
  /** The thread is ready to bind the port. */
  | { readonly kind: 'prepared' }
  | { readonly kind: 'listening'; readonly port: number }
  /** The thread cannot start, and ends. */
  | { readonly kind: 'failed'; readonly message: string };
