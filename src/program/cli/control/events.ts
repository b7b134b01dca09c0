/** `weir events`: the events that wait for their delivery, and the latest that were delivered or given up. */

import { action, type ControlCommand } from './control-command';
import { textTable } from './values/text-table';
import { showDuration } from './values/until';

export const events: ControlCommand = {
  name: 'events',
  actions: [
    action({
      name: '',
      purpose: 'Lists events: those given up, those that wait for their delivery, and the latest delivered ones.',
      options: {},
      run: async ({ admin, nowMs, print }) => {
        const reply = await admin.call('listEvents', {});
        print(reply, () => {
          if (!reply.enabled) return 'There are none: EVENTS_URL is not set.';
          const counts = `${reply.waiting} waiting, ${reply.delivered} delivered, ${reply.undelivered} given up.`;
          if (reply.items.length === 0) return counts;
          const rows = reply.items.map(({ state, type, subject, time, tries, data }) => [
            state === 'undelivered' ? 'given up' : state,
            `${showDuration(Math.max(0, nowMs - Date.parse(time)))} ago`,
            type,
            subject,
            typeof data.at_percent === 'number' ? `${data.at_percent} %` : '',
            tries,
          ]);
          return `${counts}\n${textTable(['STATE', 'HAPPENED', 'TYPE', 'SUBJECT', 'AT', 'TRIES'], rows)}`;
        });
      },
    }),
  ],
};
