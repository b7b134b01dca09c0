/** Whom an entry of the audit log is about, with the way there. */

import type { AuditEntry, Entry, SelectorEntry } from '../../admin-client/operations';
import { showDescriptor, writeDescriptor } from '../api/descriptor-text';
import { linkTo } from '../api/route';
import { NONE } from '../api/show';

/** The fields of a record, or of the details of a credit or reset. */
interface About {
  readonly domain?: unknown;
  readonly entries?: unknown;
}

export function AuditSubject({ entry }: { readonly entry: AuditEntry }) {
  const { kind, name } = entry;
  const domain = domainOf(entry) ?? '';
  const entries = entriesOf(entry);
  if (kind === 'tenant' && name !== undefined) return <a href={linkTo('tenant', { domain, tenant: name })}>{name}</a>;
  if (kind === 'plan' && name !== undefined) return <a href={linkTo('rules', { find: domain })}>{name}</a>;
  if (entries === undefined) return name === undefined ? <>{sourceOf(entry) ?? NONE}</> : <code>{name}</code>;
  return (
    <>
      {isDescriptor(entries) ? (
        <a href={linkTo('tenant', { domain, entries: writeDescriptor(entries) })}>{showDescriptor(entries)}</a>
      ) : (
        entries.map(({ key, value }) => `${key}=${value ?? 'any'}`).join(', ')
      )}
      {name !== undefined && <code class="id">{name}</code>}
    </>
  );
}

/** An entry without a record has it in its details. */
export function domainOf({ domain, details }: AuditEntry): string | undefined {
  const { domain: inDetails } = (details ?? {}) as About;
  return domain ?? (typeof inDetails === 'string' ? inDetails : undefined);
}

/** The hits of a credit. */
export function hitsOf({ details }: AuditEntry): number | undefined {
  const { hits } = (details ?? {}) as { readonly hits?: unknown };
  return typeof hits === 'number' ? hits : undefined;
}

/** The file of an import. */
function sourceOf({ details }: AuditEntry): string | undefined {
  const { source } = (details ?? {}) as { readonly source?: unknown };
  return typeof source === 'string' ? source : undefined;
}

function entriesOf({ before, after, details }: AuditEntry): readonly SelectorEntry[] | undefined {
  const { entries } = (after ?? before ?? details ?? {}) as About;
  return Array.isArray(entries) && entries.every(isSelector) ? entries : undefined;
}

function isSelector(value: unknown): value is SelectorEntry {
  return typeof value === 'object' && value !== null && typeof (value as Partial<SelectorEntry>).key === 'string';
}

/** Without a value for each key it names no descriptor. */
function isDescriptor(entries: readonly SelectorEntry[]): entries is readonly Entry[] {
  return entries.length > 0 && entries.every(({ value }) => typeof value === 'string');
}
