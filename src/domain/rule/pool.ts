/** The pools of a tenant: the lineage of tenants above it, and the limits that a request is charged for besides its own, in the buckets of their owners. */

import { copyOf } from '../descriptor/byte-string';
import type { ByteString, Entry } from '../descriptor/descriptor';
import { overrideLimits } from './apply-override';
import type { ControlView, LimitValues, SelectedOverride, SelectedRecord, Selection } from './control-view';
import { haveOwnBuckets, isRateLimit, type Limit, type PoolOwner } from './limit';
import type { Plan, TenantTerms } from './plan';
import { replaceValues } from './replace-values';

/** Most levels of a tree of tenants, such as organization, team, user and key. */
export const TENANT_LEVELS_MAX = 4;

/** A tenant of a lineage. */
export interface LineageLevel {
  readonly tenant: ByteString;
  readonly plan: Plan;
  /** The tenant above whose plan names this one for its members. Absent: the plan is its own, or the default one. */
  readonly planFrom?: ByteString;
  /** The plan is the default one: it has none of its own that the configuration has, and none above it names one. */
  readonly isDefault: boolean;
}

/** The tenant first, its root last. */
export type Lineage = readonly [LineageLevel, ...LineageLevel[]];

type LineageControl = Pick<ControlView, 'planOf' | 'parentOf'>;

interface LineageInput {
  readonly domain: ByteString;
  readonly tenant: ByteString;
  readonly parent: ByteString;
  readonly terms: TenantTerms;
  readonly control: LineageControl;
}

/**
 * The tenant first, its root last. A tenant without a record, which others name as their parent, has the default plan. The store refuses
 * cycles and deeper trees; where lost data left one, the walk still ends.
 */
export function lineageOf({ domain, tenant, parent, terms, control }: LineageInput): Lineage {
  const line = namesAbove([tenant, parent], domain, control);
  let forMembers: { readonly plan: Plan; readonly of: ByteString } | undefined;
  let levels: LineageLevel[] = [];
  for (const each of line.reverse()) {
    const name = control.planOf(domain, each);
    const own = name === undefined ? undefined : terms.plans.get(name);
    const plan = own ?? forMembers?.plan ?? terms.defaultPlan;
    const isDefault = own === undefined && forMembers === undefined;
    const level = { tenant: each, plan, isDefault };
    levels = [own === undefined && forMembers !== undefined ? { planFrom: forMembers.of, ...level } : level, ...levels];
    const named = plan.members === undefined ? undefined : terms.plans.get(plan.members);
    if (named !== undefined) forMembers = { plan: named, of: each };
  }
  const [first = { tenant, plan: terms.defaultPlan, isDefault: true }, ...above] = levels;
  return [first, ...above];
}

/** The same names without their plans. */
export function lineageNames(domain: ByteString, tenant: ByteString, control: Pick<ControlView, 'parentOf'>): ByteString[] {
  return namesAbove([tenant], domain, control);
}

function namesAbove(from: readonly ByteString[], domain: ByteString, control: Pick<ControlView, 'parentOf'>): ByteString[] {
  const line = [...from];
  while (line.length < TENANT_LEVELS_MAX) {
    const next = control.parentOf(domain, line.at(-1) ?? '');
    if (next === undefined || line.includes(next)) break;
    line.push(next);
  }
  return line;
}

/** A tenant of the lineage with the limits of its pool, which may be none. */
export interface PoolLevel {
  readonly tenant: ByteString;
  readonly plan: Plan;
  /** The plan is the default one, because the tenant has none. */
  readonly isDefault: boolean;
  readonly limits: readonly Limit[];
}

/** The pools that a match is in: the tenant's own first. */
export interface Pools {
  /** Index of the entry whose value is the tenant. */
  readonly level: number;
  readonly levels: readonly PoolLevel[];
}

/** Pools of one request after the records of control data for their owners. */
export interface PoolsInForce {
  readonly limits: readonly Limit[];
  /** The overrides that replaced limits of pools. */
  readonly applied: readonly SelectedOverride[];
  /** A block of a tenant above, which denies the whole subtree. */
  readonly block?: SelectedRecord;
}

interface PoolsInput {
  readonly pools: Pools;
  readonly domain: ByteString;
  readonly entries: readonly Entry[];
  readonly control: Pick<ControlView, 'select'> | undefined;
}

/**
 * The owner's own records decide about its pool: a pass lifts it, an override with the name of one of its limits replaces that limit. A
 * record that selects a member alone changes no pool.
 */
export function poolsInForce({ pools, domain, entries, control }: PoolsInput): PoolsInForce {
  const limits: Limit[] = [];
  const applied: SelectedOverride[] = [];
  let block: SelectedRecord | undefined;
  for (const [i, { tenant, limits: ofPlan }] of pools.levels.entries()) {
    const owner = { level: pools.level, tenant };
    const selection = control?.select(domain, entriesOfOwner(entries, owner));
    if (i > 0) block ??= selection?.block;
    if (ofPlan.length === 0 || selection?.pass !== undefined) continue;
    const replaced = withOverrides(ofPlan, selection);
    applied.push(...replaced.applied);
    for (const limit of replaced.limits) limits.push(limitOfOwner(limit, owner));
  }
  return block === undefined ? { limits, applied } : { limits, applied, block };
}

const NO_OVERRIDES: readonly never[] = [];

/** An override without a name means the only limit of a rule, never that of a pool; and a pool has no candidates. */
function withOverrides(limits: readonly Limit[], selection: Selection | undefined) {
  if (selection === undefined || selection.overrides.length === 0) return { limits, applied: NO_OVERRIDES };
  const overrides = selection.overrides.filter(({ limit, candidate }) => limit.name !== undefined && candidate !== true);
  return overrides.length === 0 ? { limits, applied: NO_OVERRIDES } : overrideLimits(limits, { overrides });
}

/** By the run-time values of a plan, its pool with them: the same objects each time. */
const withValues = new WeakMap<readonly LimitValues[], { readonly plan: Plan; readonly limits: readonly Limit[] }>();

const NO_LIMITS: readonly Limit[] = [];

/** The limits of a plan's pool. Run-time values replace them by name. */
export function poolOf(plan: Plan, values: readonly LimitValues[] | undefined): readonly Limit[] {
  const { pool = NO_LIMITS } = plan;
  if (values === undefined || pool.length === 0) return pool;
  const known = withValues.get(values);
  if (known?.plan === plan) return known.limits;
  const replaced = pool.map((limit) => {
    const own = limit.name === '' ? undefined : values.find(({ name }) => name === limit.name);
    return (own !== undefined && isRateLimit(limit) ? replaceValues(limit, own) : undefined) ?? limit;
  });
  const limits = haveOwnBuckets(replaced) ? replaced : pool;
  withValues.set(values, { plan, limits });
  return limits;
}

/** The entries that name the bucket of a pool: those of the request, with its owner in the tenant's place. */
export function entriesOfOwner(entries: readonly Entry[], { level, tenant }: Pick<PoolOwner, 'level' | 'tenant'>): readonly Entry[] {
  const entry = entries[level];
  if (entry === undefined || entry.value === tenant) return entries;
  const owned = entries.slice();
  owned[level] = { key: entry.key, value: tenant };
  return owned;
}

/** Most limits with an owner that are kept, about 8 MB; beyond them all are made again. */
const OWNED_MAX = 20_000;

/** Records name no longer owner. A longer name is that of the caller alone, who may choose 64 KiB of it, and is not kept. */
const OWNER_BYTES_MAX = 255;

let owned = new WeakMap<Limit, Map<ByteString, Limit>>();
let ownedCount = 0;

/** The same object each time, so that no request of a pool makes one. */
function limitOfOwner(limit: Limit, { level, tenant }: Pick<PoolOwner, 'level' | 'tenant'>): Limit {
  if (tenant.length > OWNER_BYTES_MAX) return withOwner(limit, { level, tenant });
  let byOwner = owned.get(limit);
  const known = byOwner?.get(tenant);
  if (known?.pool?.level === level) return known;
  if (ownedCount >= OWNED_MAX) {
    owned = new WeakMap();
    ownedCount = 0;
    byOwner = undefined;
  }
  if (byOwner === undefined) owned.set(limit, (byOwner = new Map<ByteString, Limit>()));
  const own = copyOf(tenant);
  const made = withOwner(limit, { level, tenant: own });
  byOwner.set(own, made);
  ownedCount += 1;
  return made;
}

function withOwner(limit: Limit, { level, tenant }: Pick<PoolOwner, 'level' | 'tenant'>): Limit {
  const { pool, ...others } = limit;
  return { pool: { level, tenant, limit }, ...others };
}
