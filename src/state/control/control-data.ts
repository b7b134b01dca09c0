/** The replica of control data in memory, from which every decision reads. */

import { toByteString, toText } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import type { ControlView, LimitValues, Selection } from '../../domain/rule/control-view';
import {
  CONTROL_KINDS,
  fieldOf,
  keyOf,
  type ControlKind,
  type ControlRecord,
  type RecordKey,
  type SelectorRecord,
  type StoredRecord,
  type TenantRecord,
} from './control-record';
import type { LoggedChange } from './control-store';
import { ExpiryQueue, type Expiry } from '../../lib/expiry-queue';
import { Names } from './tenants/names';
import { SelectorIndex, stageValuesOf, type Held, type HeldKinds, type Selector } from './selector-index';
import type { VersionedStage } from '../../domain/rule/stage/stage';
import { ShardedMap } from './sharded-map';
import { TenantTerms } from './tenant-terms';
import { TenantTable, type TenantName } from './tenants/tenant-table';
import { TenantParents, type ChildrenPage, type ChildrenQuery } from './tenants/tenant-parents';
import { US_PER_MS } from '../../lib/time-units';

/** Numbers of records by kind. */
export type ControlCounts = Readonly<Record<ControlKind, number>>;

/** Records expired at once: a tenth of a millisecond, because a decision may wait for it several times. */
const EXPIRED_AT_ONCE = 50;

/** The bit of a mark that says that the store lost the record; the other bits are the snapshot that last contained it. */
const LOST = 0x8000;
const SNAPSHOTS = 0x7fff;

/** Texts that many records share are kept once; beyond this number, the table starts again. */
const SHARED_TEXTS_MAX = 4_096;

interface DomainControl {
  readonly name: ByteString;
  readonly number: number;
  tenants: number;
  readonly plans: Map<ByteString, readonly LimitValues[]>;
  readonly selectors: SelectorIndex;
  /** By the name of the rollout. */
  readonly stages: Map<string, VersionedStage>;
}

/** A record of the replica, with its version. */
export interface HeldRecord<Kept extends ControlRecord> {
  readonly record: Kept;
  readonly version: number;
}

type HeldKind = Exclude<ControlKind, 'tenant'>;

export class ControlData implements ControlView {
  private readonly domains = new Map<ByteString, DomainControl>();
  private readonly domainNames = new Names();
  private readonly terms = new TenantTerms();
  private readonly tenants = new TenantTable();
  private readonly parents = new TenantParents();
  /** Only of tenants that end. */
  private readonly tenantEnds = new ShardedMap<Expiry<RecordKey>>();
  private readonly held: Readonly<Record<HeldKind, ShardedMap<Held>>> = {
    plan: new ShardedMap(),
    override: new ShardedMap(),
    block: new ShardedMap(),
    pass: new ShardedMap(),
    rollout: new ShardedMap(),
  };
  private readonly expiries = new ExpiryQueue<RecordKey>();
  private readonly texts = new Map<string, string>();
  private readonly limits = new Map<string, LimitValues>();
  private changes = 0;
  private lostCount = 0;
  private snapshot = 0;
  /** Number of records that the last snapshot has not confirmed. */
  private unconfirmed = 0;
  private latestEndUs = 0;
  /** While more records have ended than were dropped: up to when they have. They decide nothing any more. Otherwise 0. */
  private endingUs = 0;
  private last: DomainControl | undefined;

  get version(): number {
    return this.changes;
  }

  /** Number of records that the store lost and this replica keeps. */
  get lost(): number {
    return this.lostCount;
  }

  get counts(): ControlCounts {
    const { plan, override, block, pass, rollout } = this.held;
    const sizes = { plan: plan.size, override: override.size, block: block.size, pass: pass.size, rollout: rollout.size };
    return { tenant: this.tenants.size, ...sizes };
  }

  get size(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  select(domain: ByteString, entries: readonly Entry[]): Selection | undefined {
    const control = this.domainNamed(domain);
    return control === undefined || control.selectors.size === 0 ? undefined : control.selectors.select(entries, this.endingUs);
  }

  planOf(domain: ByteString, tenant: ByteString): ByteString | undefined {
    const control = this.domainNamed(domain);
    if (control === undefined || control.tenants === 0) return undefined;
    const plan = this.tenants.planOf(control.number, tenant);
    if (plan < 0 || (this.endingUs > 0 && this.isEnding(this.tenantEnds.get(fieldOfBytes(domain, tenant))))) return undefined;
    const name = this.terms.planOf(plan);
    return name === '' ? undefined : name;
  }

  parentOf(domain: ByteString, tenant: ByteString): ByteString | undefined {
    if (this.parents.size === 0) return undefined;
    const control = this.domainNamed(domain);
    return control === undefined ? undefined : this.parents.parentOf(control.number, tenant);
  }

  /** The tenants directly below one, whether it has a record or not. */
  childrenOf({ domain, name }: Pick<RecordKey, 'domain' | 'name'>, query: ChildrenQuery): ChildrenPage {
    const control = this.domains.get(toByteString(domain));
    if (control === undefined) return { names: [], count: 0 };
    return this.parents.childrenOf({ domain: control.number, tenant: toByteString(name) }, query);
  }

  planLimits(domain: ByteString, plan: ByteString): readonly LimitValues[] | undefined {
    const control = this.domainNamed(domain);
    if (control === undefined || control.plans.size === 0) return undefined;
    if (this.endingUs > 0 && this.isEnding(this.held.plan.get(fieldOfBytes(domain, plan))?.expiry)) return undefined;
    return control.plans.get(plan);
  }

  stageOf(domain: ByteString, name: string): VersionedStage | undefined {
    const control = this.domainNamed(domain);
    return control === undefined || control.stages.size === 0 ? undefined : control.stages.get(name);
  }

  /** The record in force; undefined: none. The record of a tenant lacks reason and author if very many tenants have different ones. */
  get(key: RecordKey): StoredRecord | undefined {
    if (key.kind === 'tenant') return this.tenantOf(key);
    const held = this.held[key.kind].get(fieldOf(key));
    return held === undefined || this.isEnding(held.expiry) ? undefined : { record: held.record, version: held.version };
  }

  /** All overrides, blocks and passes that select a descriptor with these entries, in no order. */
  selecting(domain: ByteString, entries: readonly Entry[]): readonly HeldRecord<SelectorRecord>[] {
    const all = this.domainNamed(domain)?.selectors.selecting(entries) ?? [];
    return this.endingUs === 0 ? all : all.filter(({ expiry }) => !this.isEnding(expiry));
  }

  /** The records of a kind that are exceptions to the configuration, in no order: of tenants only those whose plan ends. */
  *exceptions(kind: ControlKind): Generator<StoredRecord> {
    if (kind !== 'tenant') {
      for (const { record, version, expiry } of this.held[kind].values()) if (!this.isEnding(expiry)) yield { record, version };
      return;
    }
    for (const { key } of this.tenantEnds.values()) {
      const stored = this.tenantOf(key);
      if (stored !== undefined) yield stored;
    }
  }

  /** How many other records select by the rarest entry of this one. A decision may have to look at all of them. */
  crowd(record: SelectorRecord): number {
    return this.domains.get(toByteString(record.domain))?.selectors.crowd(record) ?? 0;
  }

  /** Applies a change, unless the record is newer already. */
  apply({ key, version, record }: LoggedChange): void {
    const before = key.kind === 'tenant' ? this.entryOf(key) : this.held[key.kind].get(fieldOf(key));
    if (before !== undefined) {
      if (before.version > version) return;
      // A record that the store scans again is only marked.
      if (record !== undefined && before.version === version) {
        this.setMark(key, this.snapshot);
        return;
      }
      this.remove(key);
    }
    if (record === undefined) return;
    this.add(record, version);
    this.changes += 1;
  }

  /** Starts to read everything again: what `endSnapshot` does not find confirmed by a change since then is dropped, or lost. */
  beginSnapshot(): void {
    this.latestEndUs = 0;
    this.snapshot = (this.snapshot + 1) & SNAPSHOTS;
    this.unconfirmed = this.size;
  }

  /** Drops the records that the snapshot lacks, but keeps those with a version after `common`: the store acknowledged and lost them. */
  *endSnapshot(common: number): Generator<undefined, void> {
    // As at the start, when there was nothing before.
    if (this.unconfirmed === 0) return;
    for (const key of this.keysInSteps()) {
      if (key === undefined) {
        yield;
        continue;
      }
      const mark = this.markOf(key);
      if (mark === undefined || (mark & SNAPSHOTS) === this.snapshot) continue;
      // A record that was lost before stays lost until an operator decides.
      if ((mark & LOST) !== 0 || this.versionOf(key) > common) this.setMark(key, this.snapshot | LOST);
      else this.remove(key);
    }
  }

  /** Drops the lost records up to this version. */
  *discardLost(upTo: number): Generator<undefined, void> {
    if (this.lostCount === 0) return;
    for (const key of this.keysInSteps()) {
      if (key === undefined) yield;
      else if (this.isLost(key) && this.versionOf(key) <= upTo) this.remove(key);
    }
  }

  /** Every record, in steps; `isLost`: the store lost it. */
  *recordsInSteps(): Generator<(StoredRecord & { readonly isLost: boolean }) | undefined> {
    for (const key of this.keysInSteps()) {
      const stored = key && this.get(key);
      if (key === undefined || stored === undefined) yield undefined;
      else yield { ...stored, isLost: this.isLost(key) };
    }
  }

  /** Time of the next expiry, in microseconds since 1970; undefined: no record ends. */
  get nextExpiryUs(): number | undefined {
    return this.expiries.first?.until;
  }

  /** The latest end of the records that were dropped because they had ended: a clock before it has stepped back. */
  get endedUpToUs(): number {
    return this.latestEndUs;
  }

  /** Whether the store lost this record and the replica keeps it. */
  isLost(key: RecordKey): boolean {
    return ((this.markOf(key) ?? 0) & LOST) !== 0;
  }

  /** Applies a record of the store that may have ended: then nothing is in force under its key. */
  applyUnlessEnded({ record, version }: StoredRecord, nowUs: number): void {
    const endUs = (record.untilMs ?? Infinity) * US_PER_MS;
    const key = keyOf(record);
    if (endUs > nowUs) {
      this.apply({ key, version, record });
      return;
    }
    this.latestEndUs = Math.max(this.latestEndUs, endUs);
    this.apply({ key, version });
  }

  /** Drops records that have ended, a bounded number at once; whether there are more. */
  expire(nowUs: number): boolean {
    if ((this.expiries.first?.until ?? Infinity) > nowUs) {
      this.endingUs = 0;
      return false;
    }
    this.endingUs = nowUs;
    for (let expired = 0; expired < EXPIRED_AT_ONCE; expired += 1) {
      const { first } = this.expiries;
      if (first === undefined || first.until > nowUs) break;
      this.latestEndUs = Math.max(this.latestEndUs, first.until);
      this.remove(first.key);
    }
    const hasMore = (this.expiries.first?.until ?? Infinity) <= nowUs;
    if (!hasMore) this.endingUs = 0;
    return hasMore;
  }

  private isEnding(expiry: Expiry<RecordKey> | undefined): boolean {
    return expiry !== undefined && expiry.until <= this.endingUs;
  }

  private add(record: ControlRecord, version: number): void {
    if (record.kind === 'tenant') this.addTenant(record, version);
    else this.hold(this.withSharedTexts(record), version);
  }

  private addTenant(record: TenantRecord, version: number): void {
    const domain = this.domainOf(record.domain);
    const plan = this.terms.acquire(record);
    const { createdAtMs } = record;
    this.tenants.set({ domain: domain.number, tenant: toByteString(record.tenant) }, { plan, version, mark: this.snapshot, createdAtMs });
    domain.tenants += 1;
    if (record.parent !== undefined)
      this.parents.add({ domain: domain.number, tenant: toByteString(record.tenant) }, toByteString(record.parent));
    const key = keyOf(record);
    const expiry = this.expiryOf(record);
    if (expiry !== undefined) this.tenantEnds.set(fieldOf(key), expiry);
  }

  private hold(record: HeldKinds, version: number): void {
    const domain = this.domainOf(record.domain);
    const [mark, expiry] = [this.snapshot, this.expiryOf(record)];
    const field = fieldOf(keyOf(record));
    if (record.kind === 'plan') {
      domain.plans.set(toByteString(record.plan), record.limits);
      this.held.plan.set(field, { record, version, mark, expiry });
      return;
    }
    if (record.kind === 'rollout') {
      domain.stages.set(record.rule, stageValuesOf(record, version));
      this.held.rollout.set(field, { record, version, mark, expiry });
      return;
    }
    this.held[record.kind].set(field, domain.selectors.add({ record, version, mark, expiry }));
  }

  private remove(key: RecordKey): void {
    const mark = this.markOf(key);
    if (mark === undefined) return;
    if ((mark & LOST) !== 0) this.lostCount -= 1;
    if ((mark & SNAPSHOTS) !== this.snapshot) this.unconfirmed -= 1;
    this.changes += 1;
    const name = toByteString(key.domain);
    const domain = this.domainOf(key.domain);
    const field = fieldOf(key);
    if (key.kind === 'tenant') this.removeTenant(key, { domain, field });
    else {
      const held = this.held[key.kind].get(field);
      this.held[key.kind].delete(field);
      if (held?.expiry !== undefined) this.expiries.remove(held.expiry);
      if (held !== undefined && isSelector(held)) domain.selectors.remove(held);
      if (key.kind === 'plan') domain.plans.delete(toByteString(key.name));
      if (key.kind === 'rollout') domain.stages.delete(key.name);
    }
    if (domain.tenants > 0 || domain.plans.size > 0 || domain.selectors.size > 0 || domain.stages.size > 0) return;
    this.domains.delete(name);
    this.last = undefined;
    this.domainNames.release(domain.number);
  }

  private removeTenant(key: RecordKey, { domain, field }: { readonly domain: DomainControl; readonly field: string }): void {
    const name: TenantName = { domain: domain.number, tenant: toByteString(key.name) };
    const entry = this.tenants.get(name);
    if (entry === undefined) return;
    this.tenants.delete(name);
    this.parents.remove(name);
    this.terms.release(entry.plan);
    domain.tenants -= 1;
    const expiry = this.tenantEnds.get(field);
    if (expiry === undefined) return;
    this.tenantEnds.delete(field);
    this.expiries.remove(expiry);
  }

  private tenantOf(key: RecordKey): StoredRecord | undefined {
    const domain = this.domains.get(toByteString(key.domain));
    const entry = domain && this.tenants.get({ domain: domain.number, tenant: toByteString(key.name) });
    if (entry === undefined) return undefined;
    const expiry = this.tenantEnds.get(fieldOf(key));
    if (this.isEnding(expiry)) return undefined;
    const until = expiry && { untilMs: expiry.until / US_PER_MS };
    const plan = toText(this.terms.planOf(entry.plan));
    const parent = this.parents.parentOf(domain?.number ?? 0, toByteString(key.name));
    const notes = this.terms.notesOf(entry.plan);
    const created = entry.createdAtMs === undefined ? undefined : { createdAtMs: entry.createdAtMs };
    const record: TenantRecord = {
      kind: 'tenant',
      domain: key.domain,
      tenant: key.name,
      ...(plan !== '' && { plan }),
      ...(parent !== undefined && { parent: toText(parent) }),
      ...until,
      ...notes,
      ...created,
    };
    return { record, version: entry.version };
  }

  /** Mostly the domain of the last decision. */
  private domainNamed(name: ByteString): DomainControl | undefined {
    const { last } = this;
    return last?.name === name ? last : (this.last = this.domains.get(name));
  }

  private domainOf(text: string): DomainControl {
    const name = toByteString(text);
    let domain = this.domains.get(name);
    if (domain === undefined) {
      domain = {
        name,
        number: this.domainNames.acquire(name),
        tenants: 0,
        plans: new Map(),
        selectors: new SelectorIndex(),
        stages: new Map(),
      };
      this.domains.set(name, domain);
    }
    return domain;
  }

  private expiryOf(record: ControlRecord): Expiry<RecordKey> | undefined {
    return record.untilMs === undefined ? undefined : this.expiries.add(record.untilMs * US_PER_MS, keyOf(record));
  }

  private versionOf(key: RecordKey): number {
    if (key.kind === 'tenant') return this.entryOf(key)?.version ?? 0;
    return this.held[key.kind].get(fieldOf(key))?.version ?? 0;
  }

  /** Undefined: the record does not exist. */
  private markOf(key: RecordKey): number | undefined {
    return key.kind === 'tenant' ? this.entryOf(key)?.mark : this.held[key.kind].get(fieldOf(key))?.mark;
  }

  private setMark(key: RecordKey, mark: number): void {
    const before = this.markOf(key) ?? 0;
    this.lostCount += Number((mark & LOST) !== 0) - Number((before & LOST) !== 0);
    this.unconfirmed += Number((mark & SNAPSHOTS) !== this.snapshot) - Number((before & SNAPSHOTS) !== this.snapshot);
    if (key.kind !== 'tenant') {
      const held = this.held[key.kind].get(fieldOf(key));
      if (held !== undefined) held.mark = mark;
      return;
    }
    const name = this.tenantNameOf(key);
    const entry = name && this.tenants.get(name);
    if (name !== undefined && entry !== undefined) this.tenants.set(name, { ...entry, mark });
  }

  private entryOf(key: RecordKey) {
    const name = this.tenantNameOf(key);
    return name && this.tenants.get(name);
  }

  private tenantNameOf(key: RecordKey): TenantName | undefined {
    const domain = this.domains.get(toByteString(key.domain));
    return domain && { domain: domain.number, tenant: toByteString(key.name) };
  }

  /** The keys of all records, and undefined where the caller may pause. */
  private *keysInSteps(): Generator<RecordKey | undefined> {
    for (const names of this.tenants.namesInParts()) {
      yield undefined;
      for (const { domain, tenant } of names) {
        yield { kind: 'tenant', domain: toText(this.domainNames.nameOf(domain)), name: toText(tenant) };
      }
    }
    for (const kind of CONTROL_KINDS) {
      if (kind === 'tenant') continue;
      for (const { record } of this.held[kind].values()) {
        yield undefined;
        yield keyOf(record);
      }
    }
  }

  /** Replaces texts by equal ones that are there already, so that a hundred thousand records do not repeat them. */
  private withSharedTexts<Kept extends HeldKinds>(record: Kept): Kept {
    const { domain, reason, author } = record;
    const own: { -readonly [Field in keyof HeldKinds]: Kept[Field] } = record;
    own.domain = this.shared(domain);
    if (reason !== undefined) own.reason = this.shared(reason);
    if (author !== undefined) own.author = this.shared(author);
    if (record.kind === 'override') (record as { limit: LimitValues }).limit = this.sharedLimit(record.limit);
    if ('entries' in record) for (const entry of record.entries) (entry as { key: string }).key = this.shared(entry.key);
    return record;
  }

  /** Records with equal values also share the limits that matching makes of them. */
  private sharedLimit(limit: LimitValues): LimitValues {
    const { name = '', requestsPerUnit, unit, unitMultiplier = '', burst = '' } = limit;
    const text = `${requestsPerUnit} ${unit} ${unitMultiplier} ${burst} ${name}`;
    const known = this.limits.get(text);
    if (known !== undefined) return known;
    if (this.limits.size >= SHARED_TEXTS_MAX) this.limits.clear();
    this.limits.set(text, limit);
    return limit;
  }

  private shared(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    if (this.texts.size >= SHARED_TEXTS_MAX) this.texts.clear();
    this.texts.set(text, text);
    return text;
  }
}

function fieldOfBytes(domain: ByteString, name: ByteString): string {
  return fieldOf({ domain: toText(domain), name: toText(name) });
}

function isSelector(held: Held): held is Selector {
  return 'rest' in held;
}
