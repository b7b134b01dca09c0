/** Hits of a descriptor over the last hour, from the top keys, or over a day, from Prometheus. */

import { useMemo, useState } from 'preact/hooks';
import { call, type Reply } from '../../api/client';
import { showCount } from '../../api/show';
import { usePoll } from '../../api/use-poll';
import { Chart } from '../../parts/chart';
import { Choice } from '../../parts/choice';
import { FailureNote } from '../../parts/failure';
import type { Subject } from './subject';

const HOUR_EVERY_MS = 30_000;
const DAY_EVERY_MS = 60_000;

const RANGES = [
  ['hour', '1 h'],
  ['day', '1 day'],
] as const;

type Range = (typeof RANGES)[number][0];

interface UsageProps {
  readonly subject: Subject;
  readonly text: string;
}

export function Usage(props: UsageProps) {
  const [range, setRange] = useState<Range>('hour');
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Usage</h2>
      <Choice legend="The last" name="usage-range" choices={RANGES} value={range} onValue={setRange} />
      {range === 'hour' ? <Hour {...props} /> : <Day {...props} />}
    </section>
  );
}

interface Read {
  readonly times: readonly number[];
  readonly asked: readonly number[];
  readonly denied: readonly number[];
}

function Hour({ subject: { domain }, text }: UsageProps) {
  const { data, error } = usePoll(
    async (signal) => {
      const of = (question: 'asked' | 'denied') => call('listKeyHistory', { query: { question, domain, entries: text } }, { signal });
      const [asked, denied] = await Promise.all([of('asked'), of('denied')]);
      return { asked, denied };
    },
    { key: `${domain} ${text}`, everyMs: HOUR_EVERY_MS },
  );
  const read = useMemo(() => data && hourOf(data), [data]);
  return (
    <>
      <FailureNote error={error} />
      {read !== undefined && <UsageChart read={read} title="Hits a minute" spanS={3_600} />}
      {read !== undefined && Math.max(0, ...read.asked) === 0 && <p class="muted">In this hour it was not among the keys that ask most.</p>}
    </>
  );
}

function Day({ subject: { domain }, text }: UsageProps) {
  const { data, error } = usePoll((signal) => call('showDayOfKey', { query: { domain, entries: text } }, { signal }), {
    key: `${domain} ${text}`,
    everyMs: DAY_EVERY_MS,
  });
  const read = useMemo(() => data && dayOf(data), [data]);
  return (
    <>
      <FailureNote error={error} />
      {data?.source === 'none' && (
        <p class="muted">
          Weir keeps an hour. A day comes from Prometheus: set <code>ADMIN_PROMETHEUS_URL</code> and <code>METRIC_TOP_KEYS</code>.
        </p>
      )}
      {data?.source === 'prometheus' && read !== undefined && (
        <>
          <UsageChart read={read} title="Hits in ten minutes" spanS={86_400} />
          {data.items.length === 0 && <p class="muted">On this day it was not among the first keys, METRIC_TOP_KEYS of each process.</p>}
        </>
      )}
    </>
  );
}

interface UsageChartProps {
  readonly read: Read;
  readonly title: string;
  readonly spanS: number;
}

function UsageChart({ read: { times, asked, denied }, title, spanS }: UsageChartProps) {
  const lines = useMemo(
    () => [
      { name: 'asked', colour: '--accent', values: asked },
      { name: 'denied', colour: '--bad', dash: [6, 3], values: denied },
    ],
    [asked, denied],
  );
  return <Chart title={title} times={times} lines={lines} show={showCount} spanS={spanS} />;
}

/** A minute may end between the two answers, so they are paired from the end. */
function hourOf({ asked, denied }: { readonly asked: Reply<'listKeyHistory'>; readonly denied: Reply<'listKeyHistory'> }): Read {
  const length = Math.min(asked.at.length, denied.at.length);
  const sums = ({ at, items }: Reply<'listKeyHistory'>) =>
    at.map((_, minute) => items.reduce((sum, { hits }) => sum + (hits[minute] ?? 0), 0)).slice(at.length - length);
  return { times: asked.at.slice(asked.at.length - length).map(toSeconds), asked: sums(asked), denied: sums(denied) };
}

function dayOf({ items }: Reply<'showDayOfKey'>): Read {
  return {
    times: items.map(({ at }) => toSeconds(at)),
    asked: items.map(({ asked }) => asked),
    denied: items.map(({ denied }) => denied),
  };
}

function toSeconds(at: string): number {
  return Date.parse(at) / 1_000;
}
