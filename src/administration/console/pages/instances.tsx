/** The serving processes: version, configuration, and what is degraded. */

import { call, type Reply } from '../api/client';
import { NONE, showAgo, showCount, showDuration, showRate, showTime } from '../api/show';
import { usePoll } from '../api/use-poll';
import { DataTable } from '../parts/data-table';
import { FailureNote } from '../parts/failure';
import { ShareBar } from '../parts/share-bar';
import { Sparkline } from '../parts/sparkline';
import { State } from '../parts/state';

const EVERY_MS = 5_000;

const HISTORY_MS = 30_000;

/** From here on a process has little left. */
const BUSY_SHARE = 0.8;

export function InstancesPage() {
  const { data, error } = usePoll((signal) => call('listInstances', {}, { signal }), { key: 'instances', everyMs: EVERY_MS });
  const history = usePoll((signal) => call('listInstanceHistory', {}, { signal }), { key: 'history', everyMs: HISTORY_MS });
  const times = (history.data?.at ?? []).map((at) => Date.parse(at) / 1_000);
  const loads = new Map((history.data?.items ?? []).map((item) => [item.id, item.decisions_per_s]));
  return (
    <>
      <h1>Instances</h1>
      <FailureNote error={error ?? history.error} />
      {data !== undefined && (
        <DataTable
          caption="Serving processes"
          hidesCaption
          rows={data.items}
          keyOf={({ id }) => id}
          empty="No process reports itself. Set CONTROL_DATA=true on all instances."
          columns={[
            { head: 'Host', isHead: true, cell: ({ host }) => host },
            { head: 'Process', isNumber: true, cell: ({ pid }) => pid },
            { head: 'Version', cell: ({ version }) => version },
            {
              head: 'State',
              cell: (instance) => <States instance={instance} />,
            },
            {
              head: 'Busy',
              cell: ({ load }) => (
                <ShareBar share={load?.event_loop_utilization} isBad={(load?.event_loop_utilization ?? 0) > BUSY_SHARE} />
              ),
            },
            { head: 'Decisions/s', isNumber: true, cell: ({ load }) => showRate(load?.decisions_per_s) },
            {
              head: 'Last hour',
              cell: ({ id }) => {
                const values = loads.get(id);
                if (values === undefined) return NONE;
                return <Sparkline times={times} lines={[{ name: 'decisions', kind: 'asked', values }]} show={showRate} per="in a second" />;
              },
            },
            { head: 'Store', cell: ({ engines }) => engineText(engines) },
            { head: 'Last Redis error', cell: ({ store_error: error }) => errorText(error) },
            { head: 'Control data', cell: ({ control }) => controlText(control) },
            { head: 'Generation', isNumber: true, cell: ({ generation }) => generation },
            { head: 'Domains', isNumber: true, cell: ({ domains }) => domains },
            { head: 'Started', cell: ({ started_at: at }) => <time dateTime={at}>{showTime(at)}</time> },
            { head: 'Reported', cell: ({ reported_at: at }) => showAgo(at) },
          ]}
        />
      )}
      <p class="muted">
        A generation counts from the start of its process, so equal configurations may have different ones. Busy is the part of the last 5 s
        in which the event loop worked: the process with the highest one is the bottleneck.
      </p>
    </>
  );
}

type Instance = Reply<'listInstances'>['items'][number];

function States({ instance: { degraded, config_refused: isRefused } }: { readonly instance: Instance }) {
  return (
    <ul class="states">
      {degraded.map((reason) => (
        <li key={reason}>
          <State kind="warn">{reason}</State>
        </li>
      ))}
      {isRefused && (
        <li>
          <State kind="bad">newest configuration rejected</State>
        </li>
      )}
      {degraded.length === 0 && !isRefused && (
        <li>
          <State kind="ok">serves</State>
        </li>
      )}
    </ul>
  );
}

type StoreError = Instance['store_error'];

function errorText(error: StoreError) {
  if (error === undefined) return NONE;
  return (
    <>
      {error.reason} <time dateTime={error.at}>{showAgo(error.at)}</time>
    </>
  );
}

/** An engine once, although both stores or several nodes show it. */
function engineText(engines: Instance['engines']) {
  if (engines === undefined) return NONE;
  const texts = new Set(engines.map(({ engine, version }) => `${engine} ${version}`.trim()));
  return texts.size === 0 ? NONE : [...texts].join(', ');
}

type Control = Instance['control'];

/** How the process follows the control data. */
function controlText(control: Control) {
  if (control === undefined) return <State kind="off">off</State>;
  const { state, lag_seconds: lag, lost_records: lost, entries_behind: behind = 0 } = control;
  if (state === 'following' && behind === 0) return <State kind="ok">follows</State>;
  const texts = [
    state,
    lag >= 1 ? `last read ${showDuration(lag * 1_000)} ago` : '',
    behind > 0 ? `${showCount(behind)} changes behind` : '',
    lost > 0 ? `${showCount(lost)} records lost by the store` : '',
  ];
  return <State kind={state === 'following' ? 'off' : 'warn'}>{texts.filter((text) => text !== '').join(', ')}</State>;
}
