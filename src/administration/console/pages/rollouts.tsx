/** Rollouts: both parts side by side, the keys that candidates deny, and a click to step one or to take it back. */

import { useState } from 'preact/hooks';
import type { RolloutPart, RolloutStatus } from '../../admin-client/operations';
import { call } from '../api/client';
import { mayAdministrate } from '../api/session';
import { NONE, showAgo, showCount, showLimit, showShare } from '../api/show';
import { usePoll } from '../api/use-poll';
import { DataTable } from '../parts/data-table';
import { FailureNote } from '../parts/failure';
import { ShareBar } from '../parts/share-bar';
import { State } from '../parts/state';

const EVERY_MS = 5_000;

/** Keys of the second table. */
const KEYS = 20;

/** The shares that a click goes through, in percent. */
const STEPS = [1, 5, 10, 25, 50, 100] as const;

const OVERRIDE = 'override/';

export function RolloutsPage() {
  const { data, error, again } = usePoll((signal) => call('listRolloutStatus', { query: {} }, { signal }), {
    key: 'rollouts',
    everyMs: EVERY_MS,
  });
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const onStep = async (item: RolloutStatus, percent: number | 'stop'): Promise<void> => {
    setFailure(undefined);
    await write(item, percent).catch((reason: unknown) => {
      setFailure(reason instanceof Error ? reason : new Error(String(reason)));
    });
    again();
  };
  return (
    <>
      <h1>Rollouts</h1>
      <FailureNote error={failure ?? error} />
      {data !== undefined && (
        <DataTable
          caption="Candidates in force for a part"
          hidesCaption
          rows={data.items}
          keyOf={({ domain, rule }) => `${domain} ${rule}`}
          empty="There are none. A candidate with a rollout, or weir rollout start, begins one."
          columns={[
            { head: 'Rule', isHead: true, cell: ({ rule }) => rule },
            { head: 'Domain', cell: ({ domain }) => domain },
            { head: 'Limit', cell: (item) => <Limits item={item} /> },
            { head: 'Stage', cell: (item) => <Stage item={item} /> },
            { head: 'Denied by the candidate', cell: ({ candidate }) => <Part part={candidate} /> },
            { head: 'Denied by the limit', cell: ({ current }) => <Part part={current} /> },
            {
              head: 'Guard',
              cell: ({ stop_if: stopIf }) => (stopIf === undefined ? NONE : `above ${stopIf.denied_above} for ${stopIf.for}`),
            },
            { head: 'Changed', cell: changeText },
            ...(mayAdministrate.value ? [{ head: 'Step', cell: (item: RolloutStatus) => <Steps item={item} onStep={onStep} /> }] : []),
          ]}
        />
      )}
      <DeniedKeys />
      <p class="muted">
        Denied shares count all instances since the last change. The range holds the true share in 95 of 100 cases, if hits are independent.
      </p>
    </>
  );
}

function DeniedKeys() {
  const keys = usePoll((signal) => call('listTopKeys', { query: { question: 'candidate_denied', minutes: 10, count: KEYS } }, { signal }), {
    key: 'candidate-keys',
    everyMs: EVERY_MS,
  });
  return (
    <>
      <h2>Denied by candidates</h2>
      <FailureNote error={keys.error} />
      {keys.data !== undefined && (
        <DataTable
          caption="Keys that candidates denied, or would have, in the last 10 minutes"
          rows={keys.data.items}
          keyOf={({ domain, rule, entries }) => `${domain} ${rule} ${entries}`}
          empty="Candidates denied nobody."
          columns={[
            { head: 'Key', isHead: true, cell: ({ entries }) => <code>{entries}</code> },
            { head: 'Rule', cell: ({ rule }) => rule },
            { head: 'Domain', cell: ({ domain }) => domain },
            { head: 'Hits', isNumber: true, cell: ({ count }) => showCount(count) },
          ]}
        />
      )}
    </>
  );
}

function Limits({ item: { limits } }: { readonly item: RolloutStatus }) {
  return (
    <>
      {limits
        .map(({ current, candidate }) => `${current === undefined ? '' : `${showLimit(current)} → `}${showLimit(candidate)}`)
        .join(', ')}
    </>
  );
}

function Stage({ item: { percent, by, stopped } }: { readonly item: RolloutStatus }) {
  const text = `${percent} % of ${by}`;
  if (stopped) return <State kind="bad">taken back</State>;
  return percent === 0 ? <State kind="off">only counted</State> : <State kind="ok">{text}</State>;
}

function Part({ part: { hits, share, low, high } }: { readonly part: RolloutPart }) {
  if (hits === 0) return <span class="muted">no hits</span>;
  return (
    <>
      <ShareBar share={share} isBad={share > 0} />
      <span class="muted">
        {showShare(low)} to {showShare(high)} of {showCount(hits)}
      </span>
    </>
  );
}

function changeText({ author, reason, changed_at: at }: RolloutStatus): string {
  if (at === undefined) return 'as configured';
  return `${author ?? NONE}, ${showAgo(at)}${reason === undefined ? '' : `: ${reason}`}`;
}

interface StepsProps {
  readonly item: RolloutStatus;
  readonly onStep: (item: RolloutStatus, percent: number | 'stop') => Promise<void>;
}

function Steps({ item, onStep }: StepsProps) {
  const [isBusy, setIsBusy] = useState(false);
  const go = (percent: number | 'stop'): void => {
    setIsBusy(true);
    void onStep(item, percent).then(() => {
      setIsBusy(false);
    });
  };
  const next = STEPS.find((percent) => percent > item.percent);
  return (
    <>
      {next !== undefined && (
        <button
          type="button"
          disabled={isBusy}
          aria-label={`Step ${item.rule} to ${next} %`}
          onClick={() => {
            go(next);
          }}
        >
          {next} %
        </button>
      )}{' '}
      {item.percent > 0 && (
        <button
          type="button"
          disabled={isBusy}
          aria-label={`Stop ${item.rule}`}
          onClick={() => {
            go('stop');
          }}
        >
          Stop
        </button>
      )}
    </>
  );
}

/** At the version that the page shows, so that a change meanwhile is refused. */
async function write(item: RolloutStatus, percent: number | 'stop'): Promise<void> {
  const { domain, rule, source, version } = item;
  const next = percent === 'stop' ? { percent: 0, stopped: true } : { percent };
  const unchanged = { headers: version === 0 ? { 'if-none-match': '*' } : { 'if-match': `"${version}"` } };
  const note = { reason: 'by the console' };
  if (rule.startsWith(OVERRIDE)) {
    const params = { domain, id: rule.slice(OVERRIDE.length) };
    const { entries, limit, candidate = true, until, rollout } = await call('getOverride', { params });
    const values = { by: item.by, ...(rollout?.stop_if && { stop_if: rollout.stop_if }), ...next };
    const body = { entries, limit, candidate, rollout: values, ...(until !== undefined && { until }), ...note };
    await call('putOverride', { params, query: {}, body }, unchanged);
    return;
  }
  const params = { domain, rule };
  const { by, stop_if: stopIf } = source === 'rollout' ? await call('getRollout', { params }) : {};
  const body = { ...(by !== undefined && { by }), ...(stopIf && { stop_if: stopIf }), ...next, ...note };
  await call('putRollout', { params, query: {}, body }, unchanged);
}
