/** Overview: what is degraded and why, decisions and denials live, latencies, and the rules that deny. */

import { Fragment } from 'preact';
import { useMemo } from 'preact/hooks';
import { call, type Reply } from '../api/client';
import { linkTo, place, replacePlace } from '../api/route';
import { NONE, showCount, showMs, showRate } from '../api/show';
import { usePoll } from '../api/use-poll';
import { Chart } from '../parts/chart';
import { Choice } from '../parts/choice';
import { DataTable } from '../parts/data-table';
import { FailureNote } from '../parts/failure';
import { StackedKeys } from '../parts/stacked-keys';
import { State } from '../parts/state';

const LIVE_MS = 5_000;

const STATE_MS = 10_000;

const KEYS_MS = 30_000;

/** Keys in the chart of denied keys. */
const KEYS = 6;

/** How far back the charts go, by what the address says. */
const RANGES = [
  ['10', '10 min'],
  ['60', '1 h'],
] as const;

type Live = Reply<'getLive'>;

export function OverviewPage() {
  const minutes = place.value.query.get('minutes') === '60' ? 60 : 10;
  const live = usePoll((signal) => call('getLive', { query: { rules: 20, ...(minutes === 60 && { minutes }) } }, { signal }), {
    key: `live ${minutes}`,
    everyMs: LIVE_MS,
  });
  return (
    <>
      <h1>Overview</h1>
      <Degraded />
      <FailureNote error={live.error} />
      {live.data !== undefined && <Figures live={live.data} minutes={minutes} />}
    </>
  );
}

/** Shows what is wrong on any instance. */
function Degraded() {
  const instances = usePoll((signal) => call('listInstances', {}, { signal }), { key: 'instances', everyMs: STATE_MS });
  const rules = usePoll((signal) => call('listRules', { query: { limit: 1 } }, { signal }), { key: 'rules', everyMs: STATE_MS });
  const items = instances.data?.items ?? [];
  const degraded = instances.data?.degraded ?? [];
  const refused = rules.data?.refused ?? [];
  const warnings = rules.data?.warnings.length ?? 0;
  const isUnknown = instances.data === undefined || rules.data === undefined;
  return (
    <section aria-labelledby="state">
      <h2 id="state">State</h2>
      <FailureNote error={instances.error ?? rules.error} />
      <ul class="states">
        {refused.length > 0 && <Refused problems={refused} />}
        {rules.data?.generation === 0 && (
          <li>
            <State kind="bad">There is no configuration yet, so nothing is decided.</State>
          </li>
        )}
        {degraded.map(({ reason, instances: count }) => (
          <li key={reason}>
            <State kind="warn">
              {reason}, on {count} of {items.length} {items.length === 1 ? 'process' : 'processes'}
            </State>{' '}
            <a href={linkTo('instances')}>Instances</a>
          </li>
        ))}
        {items.some(({ config_refused: isRefused }) => isRefused) && refused.length === 0 && (
          <li>
            <State kind="warn">Some processes rejected the newest configuration.</State> <a href={linkTo('instances')}>Instances</a>
          </li>
        )}
        {!isUnknown && refused.length === 0 && degraded.length === 0 && (
          <li>
            <State kind="ok">
              Nothing is degraded: {items.length} {items.length === 1 ? 'process serves' : 'processes serve'}, configuration generation{' '}
              {rules.data.generation} is in force.
            </State>
          </li>
        )}
        {warnings > 0 && (
          <li>
            <State kind="off">
              The configuration has {warnings} {warnings === 1 ? 'warning' : 'warnings'}.
            </State>{' '}
            <a href={linkTo('rules')}>Rules</a>
          </li>
        )}
      </ul>
    </section>
  );
}

function Refused({ problems }: { readonly problems: readonly string[] }) {
  return (
    <li>
      <State kind="bad">The newest configuration was rejected, and the last good one is in force.</State>
      <ul>
        {problems.slice(0, 5).map((problem) => (
          <li key={problem}>
            <code>{problem}</code>
          </li>
        ))}
      </ul>
    </li>
  );
}

/** Who was denied most in the last hour. */
function DeniedKeys() {
  const { data } = usePoll((signal) => call('listKeyHistory', { query: { question: 'denied', count: KEYS } }, { signal }), {
    key: 'denied',
    everyMs: KEYS_MS,
  });
  if (data === undefined) return null;
  return (
    <section aria-labelledby="denied-keys">
      <h2 id="denied-keys">
        Who is denied <a href={linkTo('limited')}>All keys</a>
      </h2>
      <StackedKeys title="Hits denied by minute" history={data} />
    </section>
  );
}

interface FiguresProps {
  readonly live: Live;
  readonly minutes: 10 | 60;
}

function Figures({ live, minutes }: FiguresProps) {
  return (
    <>
      <section aria-labelledby="now">
        <h2 id="now">
          Now <span class="muted">this instance, over the last {live.window_s === 0 ? 'readings' : `${live.window_s} s`}</span>
        </h2>
        <Now live={live} />
        <Charts live={live} minutes={minutes} />
      </section>
      <DeniedKeys />
      <RulesByDenied live={live} />
    </>
  );
}

function Now({ live }: Pick<FiguresProps, 'live'>) {
  return (
    <dl class="figures">
      <Figure name="Hits asked" value={showRate(live.asked_per_s)} unit="/s" />
      <Figure name="Hits denied" value={showRate(live.denied_per_s)} unit="/s" note={shareOf(live)} />
      <Figure name="Decisions" value={showRate(live.decisions_per_s)} unit="/s" />
      <Figure name="Decision p50" value={showMs(live.decision_p50_ms)} />
      <Figure name="Decision p99" value={showMs(live.decision_p99_ms)} />
      {live.stores.map(({ store, p50_ms: p50, p99_ms: p99, errors_per_s: errors }) => (
        <Fragment key={store}>
          <Figure name={`${STORES[store] ?? store} p50`} value={showMs(p50)} />
          <Figure
            name={`${STORES[store] ?? store} p99`}
            value={showMs(p99)}
            note={errors > 0 ? `${showRate(errors)} errors/s` : undefined}
          />
        </Fragment>
      ))}
      <Figure name="Decided without Redis" value={showRate(live.fallback_per_s)} unit="/s" />
      <Figure name="Errors" value={showRate(live.errors_per_s)} unit="/s" />
      <Figure name="Unmatched descriptors" value={showRate(live.unmatched_per_s)} unit="/s" />
    </dl>
  );
}

function Charts({ live, minutes }: FiguresProps) {
  const { history } = live;
  const times = useMemo(() => history.map(({ at }) => Date.parse(at) / 1_000), [history]);
  const hits = useMemo(
    () => [
      { name: 'asked', colour: '--accent', values: history.map((point) => point.asked_per_s) },
      { name: 'denied', colour: '--bad', dash: [6, 3], values: history.map((point) => point.denied_per_s) },
    ],
    [history],
  );
  const latencies = useMemo(
    () => [
      { name: 'decision p99', colour: '--accent', values: history.map((point) => point.decision_p99_ms) },
      { name: 'store p99', colour: '--muted', dash: [6, 3], values: history.map((point) => point.store_p99_ms) },
    ],
    [history],
  );
  return (
    <>
      <Choice
        legend="Charts of the last"
        name="range"
        choices={RANGES}
        value={minutes === 60 ? '60' : '10'}
        onValue={(value) => {
          replacePlace(linkTo('', value === '60' ? { minutes: value } : {}));
        }}
      />
      <div class="charts">
        <Chart title="Hits per second" times={times} lines={hits} show={showRate} spanS={60 * minutes} />
        <Chart title="Latency" times={times} lines={latencies} show={showMs} spanS={60 * minutes} />
      </div>
    </>
  );
}

function RulesByDenied({ live }: Pick<FiguresProps, 'live'>) {
  return (
    <section aria-labelledby="by-rule">
      <h2 id="by-rule">By rule</h2>
      <DataTable
        caption="Rules by denied hits"
        hidesCaption
        rows={live.rules}
        keyOf={({ domain, rule }) => `${domain} ${rule}`}
        empty="No rule has counted a hit since this process started."
        columns={[
          { head: 'Rule', isHead: true, cell: ({ rule }) => <code>{rule}</code> },
          { head: 'Domain', cell: ({ domain }) => domain },
          { head: 'Asked/s', isNumber: true, cell: (row) => showRate(row.asked_per_s) },
          { head: 'Denied/s', isNumber: true, cell: (row) => showRate(row.denied_per_s) },
          { head: 'Denied since start', isNumber: true, cell: (row) => showCount(row.denied) },
          { head: 'Would deny', isNumber: true, cell: (row) => showCount(row.would_deny) },
          {
            head: 'Who',
            cell: ({ domain, rule }) => (
              <a href={linkTo('limited', { domain, rule })} aria-label={`Who is limited by ${rule}`}>
                Who
              </a>
            ),
          },
        ]}
      />
      {live.rules_omitted > 0 && (
        <p class="muted">
          {showCount(live.rules_omitted)} more rules have hits. <a href={linkTo('rules')}>Rules</a>
        </p>
      )}
    </section>
  );
}

const STORES: Readonly<Record<string, string>> = { redis: 'Redis', redis_per_second: 'Redis per second', memory: 'Store' };

function shareOf({ asked_per_s: asked, denied_per_s: denied }: Live): string {
  return asked === 0 ? NONE : `${showRate((100 * denied) / asked)} % of asked`;
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly unit?: string;
  readonly note?: string | undefined;
}

function Figure({ name, value, unit = '', note }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class="value">
          {value}
          {unit !== '' && <span class="unit">{unit}</span>}
        </span>
        {note !== undefined && <span class="note">{note}</span>}
      </dd>
    </div>
  );
}
