/** The audit log, page by page and filtered: who changed what, when and why. */

import { call, urlOf, type Input } from '../api/client';
import { linkTo, place, replacePlace } from '../api/route';
import { usePoll } from '../api/use-poll';
import { useDomains } from '../api/use-domains';
import { AuditTable } from '../parts/audit-table';
import { ALL, ChoiceField } from '../parts/choice-field';
import { DomainField } from '../parts/domain-field';
import { FailureNote } from '../parts/failure';
import { Field } from '../parts/field';

const PAGE = 100;

const HOUR_MS = 3_600_000;

const KINDS = ['tenant', 'plan', 'override', 'block', 'pass'] as const;

/** By what the address says. */
const SPANS: Readonly<Record<string, { readonly words: string; readonly ms: number }>> = {
  hour: { words: 'last hour', ms: HOUR_MS },
  day: { words: 'last day', ms: 24 * HOUR_MS },
  week: { words: 'last 7 days', ms: 168 * HOUR_MS },
};

const FILTERS = ['domain', 'tenant', 'descriptor', 'kind', 'author', 'span'] as const;

export function AuditPage() {
  const { query } = place.value;
  const cursor = query.get('cursor') ?? '';
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ''])) as Filter;
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
  const key = JSON.stringify([given, cursor]);
  const { data, error } = usePoll(
    (signal) => call('listAudit', { query: { limit: PAGE, ...queryOf(filter), ...(cursor !== '' && { cursor }) } }, { signal }),
    { key, ...(cursor === '' && { everyMs: 10_000 }) },
  );
  return (
    <>
      <h1>Audit</h1>
      <Filters
        filter={filter}
        onFilter={(change) => {
          const next = Object.entries({ ...given, ...change }).filter(([, value]) => value !== '');
          replacePlace(linkTo('audit', Object.fromEntries(next)));
        }}
      />
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
      <nav class="pager" aria-label="Pages of the audit log">
        {cursor !== '' && <a href={linkTo('audit', given)}>Newest</a>}
        {data?.next !== undefined && <a href={linkTo('audit', { ...given, cursor: data.next })}>Older</a>}
      </nav>
    </>
  );
}

type Filter = Readonly<Record<(typeof FILTERS)[number], string>>;

function queryOf({ domain, tenant, descriptor, kind, author, span }: Filter): Input<'listAudit'>['query'] {
  const known = KINDS.find((each) => each === kind);
  const ms = SPANS[span]?.ms;
  return {
    ...(domain !== '' && { domain }),
    ...(tenant !== '' && { tenant }),
    ...(descriptor !== '' && { descriptor }),
    ...(known && { kind: known }),
    ...(author !== '' && { author }),
    ...(ms !== undefined && { since: new Date(Date.now() - ms).toISOString() }),
  };
}

interface FiltersProps {
  readonly filter: Filter;
  readonly onFilter: (change: Partial<Filter>) => void;
}

function Filters({ filter, onFilter }: FiltersProps) {
  const domains = useDomains();
  return (
    <form
      class="filters"
      role="search"
      aria-label="Which changes"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <DomainField
        domains={domains.names}
        value={filter.domain}
        allowsAll
        onValue={(domain) => {
          onFilter({ domain });
        }}
      />
      <TextFilter label="Tenant" name="tenant" filter={filter} onFilter={onFilter} />
      <TextFilter label="Who" name="author" filter={filter} onFilter={onFilter} />
      <ChoiceFilter label="What" name="kind" choices={KINDS.map((each) => [each, each])} filter={filter} onFilter={onFilter} />
      <ChoiceFilter
        label="When"
        name="span"
        choices={Object.entries(SPANS).map(([each, { words }]) => [each, words])}
        filter={filter}
        onFilter={onFilter}
      />
      {filter.descriptor !== '' && (
        <p class="count">
          <code>{filter.descriptor}</code>{' '}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              onFilter({ descriptor: '' });
            }}
          >
            All descriptors
          </button>
        </p>
      )}
    </form>
  );
}

interface OneFilterProps extends FiltersProps {
  readonly label: string;
  readonly name: keyof Filter;
}

function TextFilter({ label, name, filter, onFilter }: OneFilterProps) {
  return (
    <Field
      label={label}
      control={(ids) => (
        <input
          {...ids}
          type="search"
          placeholder="all"
          value={filter[name]}
          onChange={({ currentTarget: { value } }) => {
            onFilter({ [name]: value.trim() });
          }}
        />
      )}
    />
  );
}

function ChoiceFilter({
  label,
  name,
  choices,
  filter,
  onFilter,
}: OneFilterProps & { readonly choices: readonly (readonly [string, string])[] }) {
  return (
    <ChoiceField
      label={label}
      choices={[ALL, ...choices]}
      value={filter[name]}
      onValue={(value) => {
        onFilter({ [name]: value });
      }}
    />
  );
}
