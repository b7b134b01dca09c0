/** Events: those given up, those that wait for their delivery, and the latest delivered ones. */

import { call, type Reply } from '../api/client';
import { NONE, showAgo, showCount } from '../api/show';
import { usePoll } from '../api/use-poll';
import { DataTable } from '../parts/data-table';
import { FailureNote } from '../parts/failure';
import { State } from '../parts/state';

const EVERY_MS = 5_000;

type Item = Reply<'listEvents'>['items'][number];

const STATES = {
  waiting: { kind: 'warn', text: 'waiting' },
  delivered: { kind: 'ok', text: 'delivered' },
  undelivered: { kind: 'bad', text: 'given up' },
} as const;

export function EventsPage() {
  const { data, error } = usePoll((signal) => call('listEvents', {}, { signal }), { key: 'events', everyMs: EVERY_MS });
  return (
    <>
      <h1>Events</h1>
      <FailureNote error={error} />
      {data !== undefined && (
        <>
          <p>
            {showCount(data.waiting)} waiting, {showCount(data.delivered)} delivered, {showCount(data.undelivered)} given up.
          </p>
          <DataTable
            caption="Latest events"
            hidesCaption
            rows={data.items}
            keyOf={({ id }) => id}
            empty={
              data.enabled ? 'There are none yet. A limit with events sends them.' : 'Events are off. Set EVENTS_URL on all instances.'
            }
            columns={[
              { head: 'Subject', isHead: true, cell: ({ subject }) => subject },
              { head: 'Type', cell: ({ type }) => type },
              { head: 'State', cell: ({ state }) => <State kind={STATES[state].kind}>{STATES[state].text}</State> },
              { head: 'Used', isNumber: true, cell: usedText },
              { head: 'Happened', cell: ({ time }) => showAgo(time) },
              { head: 'Tries', isNumber: true, cell: ({ tries }) => tries },
            ]}
          />
        </>
      )}
      <p class="muted">An event that cannot be delivered is tried again with growing waits, until it is as old as EVENTS_RETRY_FOR.</p>
    </>
  );
}

function usedText({ data: { at_percent: percent } }: Item): string {
  return typeof percent === 'number' ? `${percent} %` : NONE;
}
