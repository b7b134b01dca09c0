/** The interface through which matching asks control data for blocks, passes, overrides and plans. */

import type { ByteString, Entry } from '../descriptor/descriptor';
import type { UnitName } from '../descriptor/unit';
import type { Limit } from './limit';
import type { Stage, VersionedStage } from './stage/stage';

/** The values of a limit that operators set while Weir runs. Everything else stays as the rule has it. */
export interface LimitValues {
  /** The name of the limit to replace. Absent: the only one. */
  readonly name?: string;
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  /** Absent: 1. */
  readonly unitMultiplier?: number;
  /** Absent: the burst that the rule has. */
  readonly burst?: number;
}

/** A record that selects a descriptor. */
export interface SelectedRecord {
  readonly kind: 'override' | 'block' | 'pass';
  readonly id: string;
  /** When it ends, in microseconds since 1970. Absent: it has no end. */
  readonly untilUs?: number;
  /** An override only tries its limit beside that of the rule, and never denies. Absent: the record is in force. */
  readonly candidate?: true;
}

export interface SelectedOverride extends SelectedRecord {
  readonly kind: 'override';
  readonly limit: LimitValues;
  /** The candidate may decide a part of the requests. Absent: it never denies, or this is not a candidate. */
  readonly stage?: Stage;
}

/** The records that select one descriptor. */
export interface Selection {
  /** The block with the latest end. */
  readonly block?: SelectedRecord;
  readonly pass?: SelectedRecord;
  /** By precedence: the first one for a limit applies to it. */
  readonly overrides: readonly SelectedOverride[];
  /** The last result of matching with the overrides: usually the same ones override the limits of the same rule. */
  last?: Overridden | undefined;
}

/** Limits after overrides. */
export interface Overridden {
  /** The limits before. */
  readonly of: readonly Limit[];
  readonly limits: readonly Limit[];
  /** The records that replaced a limit, or made a candidate. */
  readonly applied: readonly SelectedOverride[];
  /** One for each limit. */
  readonly sources: readonly OverrideSource[];
  readonly hasCandidates: boolean;
}

/** The records that changed one limit. */
export interface OverrideSource {
  readonly limit?: SelectedOverride;
  readonly candidate?: SelectedOverride;
}

/** The interface through which matching asks control data for stages. */
export interface StagesView {
  /** The stage of the rule or plan with this name (`Stage.name`); undefined: that of the configuration is in force. */
  stageOf(domain: ByteString, name: string): VersionedStage | undefined;
}

export interface ControlView extends StagesView {
  /** Changes whenever an answer of the other methods may change, so that results derived from them can be cached. */
  readonly version: number;
  /** The records that select a descriptor with these entries; undefined: none. */
  select(domain: ByteString, entries: readonly Entry[]): Selection | undefined;
  /** The plan of a tenant; undefined: it has none of its own. */
  planOf(domain: ByteString, tenant: ByteString): ByteString | undefined;
  /** The tenant above this one; undefined: there is none. */
  parentOf(domain: ByteString, tenant: ByteString): ByteString | undefined;
  /** Values that replace limits of a plan, by name or place; undefined: the configured ones apply. */
  planLimits(domain: ByteString, plan: ByteString): readonly LimitValues[] | undefined;
}
