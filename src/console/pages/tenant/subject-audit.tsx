/** Entries of the audit log that concern a tenant, the newest first. */

import { call, type Reply } from '../../api/client';
import { usePoll } from '../../api/use-poll';
import { AuditTable } from '../../parts/audit-table';
import { FailureNote } from '../../parts/failure';
import type { Subject } from './subject';

type AuditEntry = Reply<'listAudit'>['items'][number];

/** Entries that are searched. */
const SEARCHED = 200;

export function SubjectAudit({
  subject,
  tenant,
  version,
}: {
  readonly subject: Subject;
  readonly tenant: string;
  readonly version: number;
}) {
  const { data, error } = usePoll((signal) => call('listAudit', { query: { limit: SEARCHED } }, { signal }), {
    key: `${JSON.stringify(subject)} ${version}`,
  });
  const concerning = (data?.items ?? []).filter((entry) => isAbout(entry, { subject, tenant }));
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">
        Audit <span class="muted">of the newest {SEARCHED} entries</span>
      </h2>
      <FailureNote error={error} />
      {data !== undefined && <AuditTable entries={concerning} empty="No change concerns this descriptor." />}
    </section>
  );
}

function isAbout(
  { domain, name, kind, before, after, details }: AuditEntry,
  about: { readonly subject: Subject; readonly tenant: string },
): boolean {
  const { subject, tenant } = about;
  const named = details as { readonly domain?: string; readonly entries?: unknown } | undefined;
  if ((domain ?? named?.domain) !== subject.domain) return false;
  if (kind === 'tenant') return name === tenant;
  const lists = [before, after, named].map((record) => (record as { readonly entries?: unknown } | undefined)?.entries);
  return lists.some((list) => Array.isArray(list) && isSelected(list as readonly SelectorEntry[], subject));
}

interface SelectorEntry {
  readonly key?: string;
  readonly value?: string;
}

function isSelected(selector: readonly SelectorEntry[], { entries }: Subject): boolean {
  return selector.every(({ key, value }) => entries.some((entry) => entry.key === key && (value === undefined || entry.value === value)));
}
