/** The plans of the configuration with the place of each, and beside it its values at run time. */

import { call, type Reply } from '../../api/client';
import { NONE, showLimit, showTime } from '../../api/show';
import { usePoll } from '../../api/use-poll';
import { DataTable } from '../../parts/data-table';
import { FailureNote } from '../../parts/failure';
import { State } from '../../parts/state';

/** Most plans of the table; `weir plan list` has all. */
const PLANS_MAX = 100;

type PlanInForce = Reply<'listPlansInForce'>['items'][number];

export function Plans() {
  const { data, error } = usePoll((signal) => call('listPlansInForce', { query: { limit: PLANS_MAX } }, { signal }), { key: 'plans' });
  return (
    <section aria-labelledby="plans">
      <h2 id="plans">Plans</h2>
      <FailureNote error={error} />
      {data !== undefined && (
        <DataTable
          caption="Plans"
          hidesCaption
          rows={data.items}
          keyOf={({ domain, plan }) => `${domain} ${plan}`}
          empty="The configuration has no plans."
          columns={[
            { head: 'Plan', isHead: true, cell: ({ plan }) => plan },
            { head: 'Domain', cell: ({ domain }) => domain },
            { head: 'Limits', cell: limitsText },
            { head: 'Line', cell: (item) => <Place item={item} /> },
            { head: 'Values at run time', cell: (item) => <Values item={item} /> },
          ]}
        />
      )}
      {data?.next !== undefined && <p class="muted">There are more plans than these {PLANS_MAX}.</p>}
    </section>
  );
}

function limitsText({ configured, unlimited, limits }: PlanInForce): string {
  if (!configured) return NONE;
  return unlimited ? 'unlimited' : limits.map((limit) => `${limit.name} ${showLimit(limit)}`.trim()).join(', ');
}

function Place({ item: { configured, file, line } }: { readonly item: PlanInForce }) {
  if (!configured) return <State kind="warn">not in the configuration</State>;
  return <code class="place">{line === undefined ? file : `${file ?? ''}:${line}`}</code>;
}

function Values({ item: { values, effect, warnings } }: { readonly item: PlanInForce }) {
  if (values === undefined) return <>{NONE}</>;
  const { limits, until, author = NONE, reason } = values;
  return (
    <>
      {limits.map((limit) => `${limit.name ?? ''} ${showLimit(limit)}`.trim()).join(', ')}
      <span class="muted">
        {' '}
        by {author}
        {until !== undefined && ` until ${showTime(until)}`}
        {reason !== undefined && `: ${reason}`}
      </span>
      {effect !== 'in_force' && (
        <p>
          <State kind={effect === 'none' ? 'bad' : 'warn'}>{warnings[0]?.message ?? 'no effect'}</State>
        </p>
      )}
    </>
  );
}
