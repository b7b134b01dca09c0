/** The records of control data: what operators change while Weir runs, with the bounds and the key of each. */

import type { LimitValues } from '../../domain/rule/control-view';
import type { StopIf } from '../../domain/rule/stage/stage';

export const CONTROL_KINDS = ['tenant', 'plan', 'override', 'block', 'pass', 'rollout'] as const;

export type ControlKind = (typeof CONTROL_KINDS)[number];

/** Bounds of a record. Texts are counted in bytes of UTF-8. */
export const RECORD_BOUNDS = {
  domainBytes: 255,
  /** A tenant, or the name of a plan. */
  nameBytes: 255,
  idChars: 64,
  entries: 16,
  keyBytes: 256,
  valueBytes: 1024,
  reasonBytes: 200,
  authorBytes: 64,
  /** Limits of a plan. */
  limits: 16,
  limitNameBytes: 255,
  /** The name of a rollout: the path of a rule may be long. */
  rolloutBytes: 1024,
} as const;

/** Most bytes of a record as JSON, whose fields together could have more. The audit log keeps two records for a change. */
export const RECORD_BYTES_MAX = 12_288;

/** Most records of each kind that a store keeps. */
export const RECORDS_MAX: Readonly<Record<ControlKind, number>> = {
  tenant: 1_000_000,
  plan: 10_000,
  override: 100_000,
  block: 100_000,
  pass: 100_000,
  rollout: 10_000,
};

/** Most blocks by penalties among the blocks: requests cause them, and operators always have the rest. */
export const PENALTY_BLOCKS_MAX = 50_000;

/** Divided by the size of a write, it is how many such writes the change log keeps. The largest writes have 620 KB, so the change log takes at most 370 MB. */
const LOG_BYTES = 64 * 1024 * 1024;

/** How many records a store keeps, and the number of large writes in its change log (`logEntriesMax`). */
export interface RecordBounds {
  readonly records: Readonly<Record<ControlKind, number>>;
  readonly penalties: number;
  readonly logBytes: number;
}

export const STORE_BOUNDS: RecordBounds = { records: RECORDS_MAX, penalties: PENALTY_BLOCKS_MAX, logBytes: LOG_BYTES };

/** The beginning of the ids of blocks by penalties. */
export const PENALTY_ID_START = 'penalty-';

interface RecordBase {
  readonly domain: string;
  /** When it ends, in milliseconds since 1970. Absent: it has no end. */
  readonly untilMs?: number;
  readonly reason?: string;
  readonly author?: string;
  readonly createdAtMs?: number;
}

/** The plan of a tenant, and its place below another one. It has at least one of the two. */
export interface TenantRecord extends RecordBase {
  readonly kind: 'tenant';
  readonly tenant: string;
  /** Absent: that which a plan above names for members, or the default one. */
  readonly plan?: string;
  /** The tenant above it, of the same domain. Such a record has no end. Absent: there is none. */
  readonly parent?: string;
}

/** Run-time values of a plan. */
export interface PlanRecord extends RecordBase {
  readonly kind: 'plan';
  readonly plan: string;
  readonly limits: readonly LimitValues[];
}

/** An entry that a descriptor must contain. */
export interface EntrySelector {
  readonly key: string;
  /** Absent: any value. */
  readonly value?: string;
}

interface SelectorBase extends RecordBase {
  /** Unique by kind and domain. */
  readonly id: string;
  /** A descriptor is selected if it contains all of them, in any order. */
  readonly entries: readonly EntrySelector[];
}

export interface OverrideRecord extends SelectorBase {
  readonly kind: 'override';
  readonly limit: LimitValues;
  /** The limit is tried beside that of the rule, and never denies. Absent: it replaces that of the rule. */
  readonly candidate?: true;
  /** The candidate decides a part of the requests. Absent: it never denies, or this is not a candidate. */
  readonly rollout?: RolloutValues;
}

/** Denies the whole request. */
export interface BlockRecord extends SelectorBase {
  readonly kind: 'block';
}

/** Makes the descriptor unlimited. */
export interface PassRecord extends SelectorBase {
  readonly kind: 'pass';
}

/** How far a candidate is in force. */
export interface RolloutValues {
  /** The key of the entry whose values are in the stage or not. Absent: that of the configuration. */
  readonly by?: string;
  /** From 0 to 100. */
  readonly percent: number;
  /** Absent: that of the configuration. */
  readonly stopIf?: StopIf;
  /** It was taken back; the reason and the author of the record say why and by whom. */
  readonly stopped?: true;
}

/** The name of the rollout of an override begins with it; the id follows. */
export const OVERRIDE_ROLLOUT = 'override/';

/** The rollout of the candidates of a rule or plan of the configuration, whose own values it replaces. It has no end. */
export interface RolloutRecord extends RecordBase, RolloutValues {
  readonly kind: 'rollout';
  /** As in `Stage.name`. */
  readonly rule: string;
}

export type SelectorRecord = OverrideRecord | BlockRecord | PassRecord;

export type ControlRecord = TenantRecord | PlanRecord | SelectorRecord | RolloutRecord;

/** Identifies a record. */
export interface RecordKey {
  readonly kind: ControlKind;
  readonly domain: string;
  /** The tenant, the plan, the id, or the rule. */
  readonly name: string;
}

/** A record as a store has it. */
export interface StoredRecord {
  readonly record: ControlRecord;
  /** The version of the write that put it; its ETag is this number in quotes. Versions grow, also after a store lost its data. */
  readonly version: number;
}

export function keyOf(record: ControlRecord): RecordKey {
  const { kind, domain } = record;
  if (record.kind === 'tenant') return { kind, domain, name: record.tenant };
  if (record.kind === 'plan') return { kind, domain, name: record.plan };
  if (record.kind === 'rollout') return { kind, domain, name: record.rule };
  return { kind, domain, name: record.id };
}

export function isSelector(record: ControlRecord): record is SelectorRecord {
  return 'entries' in record;
}

export function isPenalty({ kind, name }: RecordKey): boolean {
  return kind === 'block' && name.startsWith(PENALTY_ID_START);
}

/** The key below its kind, as one printable text. */
export function fieldOf({ domain, name }: Pick<RecordKey, 'domain' | 'name'>): string {
  return `${encodeURIComponent(domain)}/${encodeURIComponent(name)}`;
}

/** The field of the parent; undefined: the tenant has none. */
export function parentFieldOf({ domain, parent }: TenantRecord): string | undefined {
  return parent === undefined ? undefined : fieldOf({ domain, name: parent });
}

/** The reverse of `fieldOf`; undefined: it is not such a text. */
export function parseField(field: string): Pick<RecordKey, 'domain' | 'name'> | undefined {
  const [domain, name, ...more] = field.split('/');
  if (domain === undefined || name === undefined || more.length > 0) return undefined;
  try {
    return { domain: decodeURIComponent(domain), name: decodeURIComponent(name) };
  } catch {
    return undefined;
  }
}
