/** `weir instances`: the serving processes that share the store. */

import type { Operations } from '../../../administration/admin-client/operations';
import { action, type ControlCommand } from './control-command';
import { textTable } from './values/text-table';
import { showDuration } from './values/until';

export const instances: ControlCommand = {
  name: 'instances',
  actions: [
    action({
      name: '',
      purpose: 'Lists the serving processes that share the store: version, configuration, and what is degraded.',
      options: {},
      run: async ({ admin, nowMs, print }) => {
        const reply = await admin.call('listInstances', {});
        print(reply, () => {
          if (reply.items.length === 0) return 'There are none.';
          const age = (iso: string): string => showDuration(Math.max(0, nowMs - Date.parse(iso)));
          const rows = reply.items.map((each) => [
            each.host,
            each.pid,
            each.version,
            age(each.started_at),
            `${age(each.reported_at)} ago`,
            each.generation,
            each.domains,
            each.config_refused ? 'refused' : 'ok',
            each.control === undefined ? 'off' : controlText(each.control),
            each.load === undefined ? '' : `${Math.round(each.load.event_loop_utilization * 100)} %`,
            each.load?.decisions_per_s,
            each.store_error && `${each.store_error.reason}, ${age(each.store_error.at)} ago`,
            each.degraded.join(', '),
          ]);
          return textTable(
            [
              'HOST',
              'PID',
              'VERSION',
              'UP FOR',
              'REPORTED',
              'GENERATION',
              'DOMAINS',
              'NEWEST CONFIG',
              'CONTROL DATA',
              'BUSY',
              'DECISIONS/S',
              'REDIS ERROR',
              'DEGRADED',
            ],
            rows,
          );
        });
      },
    }),
  ],
};

type Control = NonNullable<Operations['listInstances']['reply']['items'][number]['control']>;

/** `following, 0.1 s`: the state, since when the store was not heard, and by how many changes the process was behind. */
function controlText({ state, lag_seconds: lag, entries_behind: behind }: Control): string {
  const changes = behind === undefined ? ', unknown changes behind' : behind === 0 ? '' : `, ${behind} behind`;
  return `${state}, ${lag.toFixed(1)} s${changes}`;
}
