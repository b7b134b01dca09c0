/** A table of audit entries: who changed what, when and why, with the record before and after. */

import type { ComponentChildren } from 'preact';
import type { AuditEntry } from '../../admin-client/operations';
import { NONE, showCount, showTime } from '../api/show';
import { AuditSubject, domainOf, hitsOf } from './audit-subject';
import { DataTable } from './data-table';

export function AuditTable({ entries, empty }: { readonly entries: readonly AuditEntry[]; readonly empty: ComponentChildren }) {
  return (
    <DataTable
      caption="Changes, the newest first"
      hidesCaption
      rows={entries}
      keyOf={({ id }) => id}
      empty={empty}
      columns={[
        { head: 'When', cell: ({ at }) => <time dateTime={at}>{showTime(at)}</time> },
        { head: 'Who', isHead: true, cell: ({ author }) => author },
        { head: 'What', cell: whatOf },
        { head: 'Whom', cell: (entry) => <AuditSubject entry={entry} /> },
        { head: 'Domain', cell: (entry) => domainOf(entry) ?? NONE },
        { head: 'Reason', cell: ({ reason = NONE }) => reason },
        { head: 'Details', cell: (entry) => <Details entry={entry} /> },
      ]}
    />
  );
}

function whatOf(entry: AuditEntry): string {
  const { action, kind } = entry;
  const hits = action === 'credit' ? hitsOf(entry) : undefined;
  return [action, kind, hits === undefined ? undefined : `of ${showCount(hits)} hits`].filter((part) => part !== undefined).join(' ');
}

function Details({ entry: { before, after, details } }: { readonly entry: AuditEntry }) {
  const parts = Object.entries({ before, after, details }).filter(([, value]) => value !== undefined);
  if (parts.length === 0) return <>{NONE}</>;
  return (
    <details>
      <summary>Show</summary>
      {parts.map(([name, value]) => (
        <div key={name}>
          <b>{name}</b>
          <pre>{JSON.stringify(value, undefined, 1)}</pre>
        </div>
      ))}
    </details>
  );
}
