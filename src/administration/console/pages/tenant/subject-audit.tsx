/** Entries of the audit log that concern a tenant, the newest first. */

import { call } from '../../api/client';
import { linkTo } from '../../api/route';
import { usePoll } from '../../api/use-poll';
import { AuditTable } from '../../parts/audit-table';
import { FailureNote } from '../../parts/failure';
import type { Subject } from './subject';

const COUNT = 50;

export function SubjectAudit({ subject, version }: { readonly subject: Subject; readonly version: number }) {
  const { domain } = subject;
  const descriptor = selectorText(subject);
  const { data, error } = usePoll((signal) => call('listAudit', { query: { domain, descriptor, limit: COUNT } }, { signal }), {
    key: `${domain} ${descriptor} ${version}`,
  });
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">Audit</h2>
      <FailureNote error={error} />
      {data !== undefined && <AuditTable entries={data.items} empty="No change concerns this descriptor." />}
      {data?.next !== undefined && (
        <p>
          <a href={linkTo('audit', { domain, descriptor, cursor: data.next })}>Older</a>
        </p>
      )}
    </section>
  );
}

/** As the filter of the audit log reads it: `key=value,key=value`, with percent signs for special characters. */
function selectorText({ entries }: Subject): string {
  return entries.map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join(',');
}
