/** Tenants with a record, page by page, and the way to any other one. */

import { useState } from 'preact/hooks';
import { call } from '../api/client';
import { readDescriptor, writeDescriptor } from '../api/descriptor-text';
import { linkTo } from '../api/route';
import { messageOf } from '../api/problem';
import { NONE, showTime } from '../api/show';
import { usePoll } from '../api/use-poll';
import { useDomains } from '../api/use-domains';
import { DataTable } from '../parts/data-table';
import { DomainField } from '../parts/filters/domain-field';
import { FailureNote } from '../parts/failure';
import { PageLinks } from '../parts/filters/page-links';
import { useListFilter } from '../parts/filters/use-list-filter';
import { State } from '../parts/state';
import { TextField } from '../parts/text-field';
import { Plans } from './tenants/plans';

const PAGE = 100;

export function TenantsPage() {
  const list = useListFilter('tenants', []);
  const { cursor } = list;
  const domains = useDomains();
  const { data, error } = usePoll(
    (signal) => call('listTenants', { query: { limit: PAGE, ...(cursor !== '' && { cursor }) } }, { signal }),
    { key: cursor },
  );
  const withTenants = new Set(domains.rules.filter(({ tenants }) => tenants).map(({ domain }) => domain));
  return (
    <>
      <h1>Tenants</h1>
      <Find domains={domains.names} withTenants={withTenants} />
      <section aria-labelledby="listed">
        <h2 id="listed">With a plan or parent of their own</h2>
        <FailureNote error={error} />
        {data !== undefined && (
          <DataTable
            caption="Tenants with a plan or parent of their own"
            hidesCaption
            rows={data.items}
            keyOf={({ domain, tenant }) => `${domain} ${tenant}`}
            empty={
              data.next === undefined ? 'There are none: every tenant has its default plan.' : 'This page has none; go to the next one.'
            }
            columns={[
              {
                head: 'Tenant',
                isHead: true,
                cell: ({ domain, tenant }) => <a href={linkTo('tenant', { domain, tenant })}>{tenant}</a>,
              },
              { head: 'Domain', cell: ({ domain }) => domain },
              { head: 'Plan', cell: ({ plan = NONE }) => plan },
              {
                head: 'Parent',
                cell: ({ domain, parent }) =>
                  parent === undefined ? NONE : <a href={linkTo('tenant', { domain, tenant: parent })}>{parent}</a>,
              },
              { head: 'Until', cell: ({ until }) => (until === undefined ? 'no end' : showTime(until)) },
              { head: 'By', cell: ({ author = NONE }) => author },
              { head: 'Reason', cell: ({ reason = NONE }) => reason },
            ]}
          />
        )}
        <PageLinks label="Pages of tenants" list={list} next={data?.next} />
      </section>
      <Plans />
    </>
  );
}

/** A tenant without a record is a tenant too, so any name leads to a page. */
function Find({ domains, withTenants }: { readonly domains: readonly string[]; readonly withTenants: ReadonlySet<string> }) {
  const [chosen, setDomain] = useState<string | undefined>(undefined);
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const domain = chosen ?? domains.find((each) => withTenants.has(each)) ?? domains[0] ?? '';
  const hasTenants = withTenants.has(domain);
  const go = (): void => {
    try {
      const isName = hasTenants && !text.includes('=');
      location.hash = linkTo(
        'tenant',
        isName ? { domain, tenant: text.trim() } : { domain, entries: writeDescriptor(readDescriptor(text)) },
      );
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <form
      class="filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <DomainField domains={domains} value={domain} onValue={setDomain} />
      <TextField
        label={hasTenants ? 'Tenant or descriptor' : 'Descriptor'}
        hint={hasTenants ? 'A name, or key=value,key=value.' : 'key=value,key=value'}
        isSearch
        required
        value={text}
        onValue={setText}
      />
      <button type="submit" class="main">
        Show
      </button>
      {problem !== '' && (
        <p role="alert">
          <State kind="bad">{problem}</State>
        </p>
      )}
    </form>
  );
}
