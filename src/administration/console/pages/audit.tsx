/** The audit log, page by page and filtered: who changed what, when and why. */

import { call, urlOf, type Input } from '../api/client';
import { usePoll } from '../api/use-poll';
import { HOUR_MS } from '../api/show';
import { useDomains } from '../api/use-domains';
import { AuditTable } from '../parts/audit-table';
import { ALL, ChoiceField } from '../parts/filters/choice-field';
import { DomainField } from '../parts/filters/domain-field';
import { FailureNote } from '../parts/failure';
import { FilterForm } from '../parts/filters/filter-form';
import { PageLinks } from '../parts/filters/page-links';
import { changeFilter, useListFilter, type ListFilter } from '../parts/filters/use-list-filter';
import { TextField } from '../parts/text-field';

const PAGE = 100;

const KINDS = ['tenant', 'plan', 'override', 'block', 'pass', 'rollout'] as const;

/** By what the address says. */
const SPANS: Readonly<Record<string, { readonly words: string; readonly ms: number }>> = {
  hour: { words: 'last hour', ms: HOUR_MS },
  day: { words: 'last day', ms: 24 * HOUR_MS },
  week: { words: 'last 7 days', ms: 168 * HOUR_MS },
};

const FILTERS = ['domain', 'tenant', 'descriptor', 'kind', 'author', 'span'] as const;

export function AuditPage() {
  const list = useListFilter('audit', FILTERS);
  const { filter, given, cursor } = list;
  const { data, error } = usePoll(
    (signal) => call('listAudit', { query: { limit: PAGE, ...queryOf(filter), ...(cursor !== '' && { cursor }) } }, { signal }),
    { key: JSON.stringify([given, cursor]), ...(cursor === '' && { everyMs: 10_000 }) },
  );
  return (
    <>
      <h1>Audit</h1>
      <Filters list={list} />
      <p>
        <a href={urlOf('exportAudit', { query: {} })} download="weir-audit.ndjson">
          Export all as lines of JSON
        </a>
      </p>
      <FailureNote error={error} />
      {data !== undefined && (
        <AuditTable
          entries={data.items}
          empty={
            data.next !== undefined
              ? 'None of the entries that were searched; go on with the older ones.'
              : Object.keys(given).length > 0
                ? 'No change is like that.'
                : 'Nobody has changed anything yet.'
          }
        />
      )}
      <PageLinks label="Pages of the audit log" list={list} next={data?.next} first="Newest" following="Older" />
    </>
  );
}

type Name = (typeof FILTERS)[number];

function queryOf({ kind, span, ...texts }: Readonly<Record<Name, string>>): Input<'listAudit'>['query'] {
  const known = KINDS.find((each) => each === kind);
  const ms = SPANS[span]?.ms;
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(known && { kind: known }),
    ...(ms !== undefined && { since: new Date(Date.now() - ms).toISOString() }),
  };
}

function Filters({ list }: { readonly list: ListFilter<Name> }) {
  const { filter } = list;
  const domains = useDomains();
  const field = (name: Name) => ({
    value: filter[name],
    onValue: (value: string) => {
      changeFilter(list, { [name]: value.trim() });
    },
  });
  const text = { isSearch: true, placeholder: 'all', isWhole: true } as const;
  return (
    <FilterForm label="Which changes">
      <DomainField domains={domains.names} allowsAll {...field('domain')} />
      <TextField label="Tenant" {...text} {...field('tenant')} />
      <TextField label="Who" {...text} {...field('author')} />
      <ChoiceField label="What" choices={[ALL, ...KINDS.map((each) => [each, each] as const)]} {...field('kind')} />
      <ChoiceField
        label="When"
        choices={[ALL, ...Object.entries(SPANS).map(([each, { words }]) => [each, words] as const)]}
        {...field('span')}
      />
      {filter.descriptor !== '' && (
        <p class="count">
          <code>{filter.descriptor}</code>{' '}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              changeFilter(list, { descriptor: '' });
            }}
          >
            All descriptors
          </button>
        </p>
      )}
    </FilterForm>
  );
}
