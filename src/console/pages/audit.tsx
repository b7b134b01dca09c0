/** The audit log, page by page: who changed what, when and why. */

import { call, urlOf } from '../api/client';
import { linkTo, place } from '../api/route';
import { usePoll } from '../api/use-poll';
import { AuditTable } from '../parts/audit-table';
import { FailureNote } from '../parts/failure';

const PAGE = 100;

export function AuditPage() {
  const cursor = place.value.query.get('cursor') ?? '';
  const { data, error } = usePoll((signal) => call('listAudit', { query: { limit: PAGE, ...(cursor !== '' && { cursor }) } }, { signal }), {
    key: cursor,
    ...(cursor === '' && { everyMs: 10_000 }),
  });
  return (
    <>
      <h1>Audit</h1>
      <p>
        <a href={urlOf('exportAudit', { query: {} })} download="weir-audit.ndjson">
          Export all as lines of JSON
        </a>
      </p>
      <FailureNote error={error} />
      {data !== undefined && <AuditTable entries={data.items} empty="Nobody has changed anything yet." />}
      <nav class="pager" aria-label="Pages of the audit log">
        {cursor !== '' && <a href={linkTo('audit')}>Newest</a>}
        {data?.next !== undefined && <a href={linkTo('audit', { cursor: data.next })}>Older</a>}
      </nav>
    </>
  );
}
