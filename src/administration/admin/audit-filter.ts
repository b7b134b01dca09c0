/** Which entries of the audit log a list shows. */

import type { AuditEntry } from '../../state/control/control-store';
import type { ControlKind, ControlRecord, EntrySelector } from '../../state/control/control-record';

export interface AuditFilter {
  readonly author?: string;
  readonly kind?: ControlKind;
  readonly domain?: string;
  /** Its own record, and what names it as a value. */
  readonly tenant?: string;
  /** The records that select the descriptor, and the record of its tenant. */
  readonly descriptor?: readonly Required<EntrySelector>[];
  /** In milliseconds since 1970. */
  readonly sinceMs?: number;
}

export function isShown(entry: AuditEntry, { author, kind, domain, tenant, descriptor, sinceMs }: AuditFilter): boolean {
  if (author !== undefined && entry.author !== author) return false;
  if (kind !== undefined && entry.key?.kind !== kind && !isImportOf(entry, kind)) return false;
  if (sinceMs !== undefined && entry.atMs < sinceMs) return false;
  if (domain === undefined && tenant === undefined && descriptor === undefined) return true;
  const about = aboutOf(entry);
  if (domain !== undefined && about.domain !== domain) return false;
  if (
    tenant !== undefined &&
    !about.tenants.includes(tenant) &&
    !about.selectors.some((each) => each.some(({ value }) => value === tenant))
  )
    return false;
  return descriptor === undefined || concerns(about, descriptor);
}

interface About {
  readonly domain: string | undefined;
  /** The tenant of the record, or the tenants of an import. */
  readonly tenants: readonly string[];
  /** The selectors of the record before and after, or of an action that changed no record. */
  readonly selectors: readonly (readonly EntrySelector[])[];
}

function concerns({ tenants, selectors }: About, descriptor: readonly Required<EntrySelector>[]): boolean {
  if (tenants.length > 0) return descriptor.some(({ value }) => tenants.includes(value));
  return selectors.some((selector) =>
    selector.every(({ key, value }) => descriptor.some((entry) => entry.key === key && (value === undefined || entry.value === value))),
  );
}

function aboutOf({ key, before, after, details }: AuditEntry): About {
  const named = details === undefined ? {} : readDetails(details);
  const selectors = [...[before, after].flatMap(entriesOf), ...(named.entries === undefined ? [] : [named.entries])];
  return { domain: key?.domain ?? named.domain, tenants: key?.kind === 'tenant' ? [key.name] : (named.tenants ?? []), selectors };
}

function entriesOf(record: ControlRecord | undefined): readonly (readonly EntrySelector[])[] {
  return record !== undefined && 'entries' in record ? [record.entries] : [];
}

interface NamedDetails {
  readonly domain?: string;
  readonly kind?: string;
  readonly tenants?: readonly string[];
  readonly entries?: readonly EntrySelector[];
}

/** Such an entry is of many records. */
function isImportOf({ details }: AuditEntry, kind: ControlKind): boolean {
  return details !== undefined && readDetails(details).kind === kind;
}

/** Details are written by Weir, but a store may be changed by others. */
function readDetails(text: string): NamedDetails {
  try {
    const { domain, kind, tenants, entries } = (JSON.parse(text) ?? {}) as Readonly<Record<string, unknown>>;
    return {
      ...(typeof domain === 'string' && { domain }),
      ...(typeof kind === 'string' && { kind }),
      ...(Array.isArray(tenants) && { tenants: tenants.filter((name) => typeof name === 'string') }),
      ...(Array.isArray(entries) && { entries: entries.filter(isSelector) }),
    };
  } catch {
    return {};
  }
}

function isSelector(value: unknown): value is EntrySelector {
  return typeof value === 'object' && value !== null && typeof (value as Partial<EntrySelector>).key === 'string';
}
