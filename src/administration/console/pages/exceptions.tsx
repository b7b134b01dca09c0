/** Everything that is in force beside the configuration: searched, with its effect and its end, and ended here. */

import { useState } from 'preact/hooks';
import { call, type Input, type Reply } from '../api/client';
import { writeDescriptor } from '../api/descriptor-text';
import { linkTo } from '../api/route';
import { mayAdministrate, mayChange } from '../api/session';
import { NONE, showDuration, showLimit } from '../api/show';
import { useDomains } from '../api/use-domains';
import { usePoll } from '../api/use-poll';
import { ALL, ChoiceField } from '../parts/filters/choice-field';
import { DataTable } from '../parts/data-table';
import { DomainField } from '../parts/filters/domain-field';
import { FailureNote } from '../parts/failure';
import { FilterForm } from '../parts/filters/filter-form';
import { PageLinks } from '../parts/filters/page-links';
import { changeFilter, useListFilter, type ListFilter } from '../parts/filters/use-list-filter';
import { State, type StateKind } from '../parts/state';
import { TextField } from '../parts/text-field';

const PAGE = 100;

const LIVE_MS = 10_000;

type Exception = Reply<'listExceptions'>['items'][number];

type Kind = Exception['kind'];

const KINDS: Readonly<Record<Kind, string>> = {
  override: 'override',
  candidate: 'candidate',
  block: 'block',
  penalty: 'penalty',
  pass: 'pass',
  plan: 'values of a plan',
  tenant: 'plan that ends',
  rollout: 'rollout',
};

const EFFECTS: Readonly<Record<Exception['effect'], readonly [kind: StateKind, words: string]>> = {
  in_force: ['ok', 'in force'],
  partial: ['warn', 'in part'],
  none: ['bad', 'no effect'],
};

const FILTERS = ['text', 'domain', 'kind', 'state'] as const;

type Name = (typeof FILTERS)[number];

export function ExceptionsPage() {
  const list = useListFilter('exceptions', FILTERS);
  const { filter, given, cursor } = list;
  const [said, setSaid] = useState('');
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const { data, error, again } = usePoll(
    (signal) => call('listExceptions', { query: { limit: PAGE, ...queryOf(filter), ...(cursor !== '' && { cursor }) } }, { signal }),
    { key: JSON.stringify([given, cursor]), everyMs: LIVE_MS },
  );
  const end = async (item: Exception): Promise<void> => {
    setFailure(undefined);
    try {
      await deleteOf(item);
      setSaid(`The ${KINDS[item.kind]} ${item.name} has ended, on all instances within a second.`);
    } catch (problem) {
      setFailure(problem instanceof Error ? problem : new Error(String(problem)));
    }
    again();
  };
  return (
    <>
      <h1>Exceptions</h1>
      <Filters list={list} />
      <p role="status">{said}</p>
      <FailureNote error={failure ?? error} />
      {data !== undefined && (
        <Exceptions items={data.items} isLast={data.next === undefined} isFiltered={Object.keys(given).length > 0} onEnd={end} />
      )}
      <PageLinks label="Pages of exceptions" list={list} next={data?.next} />
    </>
  );
}

interface ExceptionsProps {
  readonly items: readonly Exception[];
  readonly isLast: boolean;
  readonly isFiltered: boolean;
  readonly onEnd: (item: Exception) => Promise<void>;
}

function Exceptions({ items, isLast, isFiltered, onEnd }: ExceptionsProps) {
  const nothing = isFiltered ? 'No exception is like that.' : 'There are none: the configuration alone decides.';
  return (
    <DataTable
      caption="Exceptions in force, what ends first at the top"
      hidesCaption
      rows={items}
      keyOf={({ kind, domain, name }) => `${kind} ${domain} ${name}`}
      empty={isLast ? nothing : 'This page has none; go to the next one.'}
      columns={[
        { head: 'Name', isHead: true, cell: ({ name }) => name },
        { head: 'Kind', cell: ({ kind }) => KINDS[kind] },
        { head: 'For', cell: (item) => <Target item={item} /> },
        { head: 'Gives', cell: givesText },
        { head: 'Ends in', cell: ({ until }) => (until === undefined ? 'no end' : showDuration(Date.parse(until) - Date.now())) },
        { head: 'Effect now', cell: (item) => <EffectNow item={item} /> },
        { head: 'By', cell: ({ author = NONE }) => author },
        { head: 'Reason', cell: ({ reason = NONE }) => reason },
        ...(mayChange.value ? [{ head: 'End', cell: (item: Exception) => <End item={item} onEnd={onEnd} /> }] : []),
      ]}
    />
  );
}

function givesText({ kind, limit, limits, plan, percent }: Exception): string {
  if (percent !== undefined) return `${percent} % under the candidate`;
  if (limits !== undefined) return limits.map((each) => showLimit(each)).join(', ');
  if (limit !== undefined) return showLimit(limit);
  if (kind === 'pass') return 'no limit';
  return kind === 'tenant' ? (plan ?? NONE) : 'denied';
}

/** The tenant or descriptor, and the rules that are changed for it. */
function Target({ item: { domain, kind, name, entries, rules } }: { readonly item: Exception }) {
  const link = entries === undefined ? undefined : targetLink(domain, entries);
  return (
    <>
      {kind === 'tenant' && <a href={linkTo('tenant', { domain, tenant: name })}>{name}</a>}
      {entries !== undefined && (link === undefined ? <code>{selectorText(entries)}</code> : <a href={link}>{selectorText(entries)}</a>)}
      {kind === 'plan' && 'its tenants'}
      {kind === 'rollout' && <code>{name}</code>} <span class="muted">in {domain}</span>
      {rules.map((rule) => (
        <span key={rule} class="muted">
          , <a href={linkTo('rules', { find: rule })}>{rule}</a>
        </span>
      ))}
    </>
  );
}

type Selector = NonNullable<Exception['entries']>;

function selectorText(entries: Selector): string {
  return entries.map(({ key, value }) => (value === undefined ? `any ${key}` : `${key}=${value}`)).join(', ');
}

/** Undefined: it selects more than one descriptor. */
function targetLink(domain: string, entries: Selector): string | undefined {
  const named = entries.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }]));
  return named.length < entries.length ? undefined : linkTo('tenant', { domain, entries: writeDescriptor(named) });
}

function EffectNow({ item: { effect, warnings } }: { readonly item: Exception }) {
  const [kind, words] = EFFECTS[effect];
  return (
    <>
      <State kind={kind}>{words}</State>
      {warnings.map(({ message }) => (
        <p key={message} class="muted">
          {message}
        </p>
      ))}
    </>
  );
}

/** The first click asks, the second ends it. */
function End({ item, onEnd }: { readonly item: Exception; readonly onEnd: ExceptionsProps['onEnd'] }) {
  const [step, setStep] = useState<'idle' | 'asked' | 'busy'>('idle');
  const what = `${KINDS[item.kind]} ${item.name}`;
  if ((item.kind === 'plan' || item.kind === 'rollout') && !mayAdministrate.value) return <span class="muted">role admin</span>;
  if (step === 'idle')
    return (
      <button
        type="button"
        aria-label={`End the ${what}`}
        onClick={() => {
          setStep('asked');
        }}
      >
        End…
      </button>
    );
  return (
    <>
      <button
        type="button"
        class="main"
        disabled={step === 'busy'}
        aria-label={`End the ${what} now`}
        onClick={() => {
          setStep('busy');
          void onEnd(item).then(() => {
            setStep('idle');
          });
        }}
      >
        End now
      </button>{' '}
      <button
        type="button"
        class="quiet"
        disabled={step === 'busy'}
        onClick={() => {
          setStep('idle');
        }}
      >
        Keep
      </button>
    </>
  );
}

async function deleteOf({ kind, domain, name, version }: Exception): Promise<void> {
  const query = {};
  const unchanged = { headers: { 'if-match': `"${version}"` } };
  const byId = { params: { domain, id: name }, query };
  if (kind === 'override' || kind === 'candidate') await call('deleteOverride', byId, unchanged);
  else if (kind === 'block' || kind === 'penalty') await call('deleteBlock', byId, unchanged);
  else if (kind === 'pass') await call('deletePass', byId, unchanged);
  else if (kind === 'rollout') await call('deleteRollout', { params: { domain, rule: name }, query }, unchanged);
  else if (kind === 'plan') await call('deletePlan', { params: { domain, plan: name }, query }, unchanged);
  else await call('deleteTenant', { params: { domain, tenant: name }, query }, unchanged);
}

function queryOf({ text, domain, kind, state }: Readonly<Record<Name, string>>): Input<'listExceptions'>['query'] {
  const ofKind = keysOf(KINDS).find((each) => each === kind);
  const ofState = keysOf(EFFECTS).find((each) => each === state);
  return {
    ...(text !== '' && { text }),
    ...(domain !== '' && { domain }),
    ...(ofKind && { kind: ofKind }),
    ...(ofState && { state: ofState }),
  };
}

function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] {
  return Object.keys(table) as Key[];
}

function Filters({ list }: { readonly list: ListFilter<Name> }) {
  const domains = useDomains();
  const field = (name: Name) => ({
    value: list.filter[name],
    onValue: (value: string) => {
      changeFilter(list, { [name]: value.trim() });
    },
  });
  const effects = Object.entries(EFFECTS).map(([each, [, words]]) => [each, words] as const);
  return (
    <FilterForm label="Which exceptions">
      <TextField label="Search" hint="A name, key=value, plan, reason or author." isSearch placeholder="all" isWhole {...field('text')} />
      <DomainField domains={domains.names} allowsAll {...field('domain')} />
      <ChoiceField label="Kind" choices={[ALL, ...Object.entries(KINDS)]} {...field('kind')} />
      <ChoiceField label="Effect" choices={[ALL, ...effects]} {...field('state')} />
    </FilterForm>
  );
}
