/** The tree of a tenant: those above it and a page of those below, each with what is left. */

import { useState } from 'preact/hooks';
import { call, type Reply } from '../../api/client';
import { linkTo } from '../../api/route';
import { NONE, showCount, showLimit } from '../../api/show';
import { usePoll } from '../../api/use-poll';
import { DataTable } from '../../parts/data-table';
import { FailureNote } from '../../parts/failure';
import { LeftBar } from '../../parts/left-bar';
import { State } from '../../parts/state';

const LIVE_MS = 5_000;
const PAGE = 20;

type Level = Reply<'getTenantTree'>['levels'][number];

interface TreeProps {
  readonly domain: string;
  readonly tenant: string;
}

export function Tree({ domain, tenant }: TreeProps) {
  const [cursor, setCursor] = useState('');
  const { data, error } = usePoll(
    (signal) => call('getTenantTree', { params: { domain, tenant }, query: { limit: PAGE, ...(cursor !== '' && { cursor }) } }, { signal }),
    { key: `${domain} ${tenant} ${cursor}`, everyMs: LIVE_MS },
  );
  if (data === undefined) return <FailureNote error={error} />;
  const { levels, children, next } = data;
  // A tenant of its own has no tree to show.
  if (levels.length < 2 && children.length === 0 && cursor === '') return <FailureNote error={error} />;
  const rows = [...levels.map((level, depth) => ({ level, depth })), ...children.map((level) => ({ level, depth: levels.length }))];
  return (
    <section aria-labelledby="tree">
      <h2 id="tree">Tenants above and below</h2>
      <FailureNote error={error} />
      <DataTable
        caption="Tenants above and below"
        hidesCaption
        rows={rows}
        keyOf={({ level }) => level.tenant}
        empty="There are none."
        columns={[
          { head: 'Tenant', isHead: true, cell: ({ level, depth }) => <Name level={level} depth={depth} domain={domain} own={tenant} /> },
          { head: 'Plan', cell: ({ level }) => planText(level) },
          { head: 'Below', isNumber: true, cell: ({ level }) => showCount(level.children) },
          { head: 'Left', cell: ({ level }) => <Left level={level} /> },
        ]}
      />
      <div class="buttons">
        {cursor !== '' && (
          <button
            type="button"
            onClick={() => {
              setCursor('');
            }}
          >
            First tenants below
          </button>
        )}
        {next !== undefined && (
          <button
            type="button"
            onClick={() => {
              setCursor(next);
            }}
          >
            Next tenants below
          </button>
        )}
      </div>
    </section>
  );
}

interface NameProps {
  readonly level: Level;
  readonly depth: number;
  readonly domain: string;
  readonly own: string;
}

function Name({ level: { tenant, blocked }, depth, domain, own }: NameProps) {
  return (
    <span style={{ paddingInlineStart: `${depth * 1.25}rem` }}>
      {tenant === own ? <b>{tenant}</b> : <a href={linkTo('tenant', { domain, tenant })}>{tenant}</a>}{' '}
      {blocked && <State kind="bad">blocked</State>}
    </span>
  );
}

function Left({ level: { limits, unlimited } }: { readonly level: Level }) {
  if (limits.length === 0) return <>{unlimited ? 'unlimited' : NONE}</>;
  return (
    <>
      {limits.map((limit) => (
        <div key={`${limit.pool ? 'pool' : 'own'} ${limit.name} ${limit.unit} ${limit.unit_multiplier}`}>
          <span class="muted">
            {limit.pool ? 'pool ' : ''}
            {limit.name} {showLimit(limit)}
          </span>{' '}
          <LeftBar left={limit.remaining} of={limit.capacity} form={limit.show} />
        </div>
      ))}
    </>
  );
}

function planText({ plan, is_default: isDefault, members_of: membersOf, has_record: hasRecord }: Level): string {
  if (plan === undefined) return NONE;
  const why = membersOf === undefined ? (isDefault === true ? ' (default)' : '') : ` (of ${membersOf})`;
  return `${plan}${why}${hasRecord ? '' : ', without a record'}`;
}
