/** The port of the admin API: what its handlers need of the rest of Weir. */

import type { Group, GroupVerdict } from '../../domain/bucket/take';
import type { ControlData } from '../../state/control/control-data';
import type { ControlService } from '../../state/control/control-service';
import type { ControlView } from '../../domain/rule/control-view';
import type { DeclaredLevel } from '../../configuration/compile/lint/declared-level';
import type { PlanSpec } from '../../configuration/compile/read/read-plans';
import type { Plan } from '../../domain/rule/plan';
import type { GlobalModes } from '../../domain/rule/match';
import type { RuleSet } from '../../domain/rule/rule-set';
import type { DescriptorLevel } from '../../domain/rule/tree';
import type { SettingsInForce } from '../../configuration/settings/settings-in-force';
import type { Warning } from './effect/warning';
import type { HistoryPort } from './history/history';
import type { RolloutCounter } from '../../state/rollout/rollout-counter';
import type { DemandBoard } from '../../state/fair/demand-board';
import type { Outbox } from '../../state/events/outbox';
import type { InstancesPort } from '../../state/instances/instance-facts';
import type { UsagePort } from './usage/prometheus-usage';
import type { LiveView } from './live/live-figures';
import type { TailFilter, TailSample } from '../../server/observability/tail/tail-sample';
import type { TopKeys } from '../../state/top/top-keys';

export interface AdminBackend {
  readonly control: Pick<ControlService, 'read' | 'scan' | 'write' | 'audit' | 'restore' | 'discardLost' | 'changesBetween'>;
  /** The records in force. */
  readonly controlView: ControlView & Pick<ControlData, 'get' | 'selecting' | 'exceptions' | 'childrenOf'>;
  /** Called for each write that has no effect, or only a part of it. */
  readonly onWithoutEffect: (write: WithoutEffect) => void;
  readonly rules: RulesPort;
  readonly buckets: BucketsPort;
  readonly instances: InstancesPort;
  readonly rollouts: RolloutReads;
  readonly demand: DemandReads;
  /** Undefined: no EVENTS_URL. */
  readonly events?: EventReads | undefined;
  readonly tail: TailPort;
  readonly top: TopKeys;
  readonly live: LivePort;
  readonly history: HistoryPort;
  /** Undefined: no ADMIN_PROMETHEUS_URL. */
  readonly usage?: UsagePort;
  readonly settings: () => SettingsInForce;
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
}

/** The hits of rollouts over all instances. */
export type RolloutReads = Pick<RolloutCounter, 'read'>;

/** The demand of members of divided limits, over all instances. */
export type DemandReads = Pick<DemandBoard, 'read'>;

/** The events of all instances. */
export type EventReads = Pick<Outbox, 'read'>;

/** A write with warnings. */
export interface WithoutEffect {
  readonly author: string;
  /** The record that was written: `override payments/m42`. */
  readonly subject: string;
  readonly warnings: readonly Warning[];
}

/** Live figures of this instance. */
export interface LivePort {
  /** `rules`: most rules of the answer. */
  view(query: { readonly rules: number }): Promise<LiveView>;
}

/** The configuration of this instance. */
export interface RulesPort {
  /** Undefined: none is loaded yet. */
  readonly current: () => CurrentRules | undefined;
  /** Why the newest configuration was rejected; empty if it was not. */
  readonly problems: () => readonly string[];
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
}

export interface CurrentRules {
  readonly ruleSet: RuleSet;
  /** Every level, as declared. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  /** Every plan, as declared. */
  readonly plans: ReadonlyMap<Plan, PlanSpec>;
}

/** The live buckets. Rejects with StoreError if the store cannot answer. */
export interface BucketsPort {
  /** Decides the groups in order, without other calls in between. */
  take(groups: readonly Group[]): Promise<readonly (GroupVerdict | undefined)[]>;
  /** Deletes buckets, on every instance within a second; resolves to the number of those that existed. */
  reset(bucketKeys: readonly string[]): Promise<number>;
  /** Rejects with AdminProblem if this store cannot list its buckets. */
  list(query: BucketQuery): Promise<BucketPage>;
}

export interface BucketQuery {
  readonly domain: string;
  /** The part of the key after the domain. */
  readonly prefix: string;
  readonly cursor?: string;
  /** Most keys of the page. */
  readonly limit: number;
}

export interface BucketPage {
  readonly keys: readonly string[];
  /** Absent: this page is the last. A page may be short, or empty, before that. */
  readonly next?: string;
}

export interface TailPort {
  /** Calls `onSample` for sampled decisions until `close` is called. Throws AdminProblem if too many tails are open. */
  open(filter: TailFilter, onSample: (sample: TailSample) => void): { readonly close: () => void };
}
