/** `weir audit`: who changed what, and why. */

import { readChoice } from '../usage-error';
import { action, type ControlCommand } from './control-command';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { textTable } from './values/text-table';
import { shortTime } from './values/until';

export const audit: ControlCommand = {
  name: 'audit',
  actions: [
    action({
      name: 'list',
      purpose: 'Lists the audit log.',
      options: { order: { type: 'string', form: 'newest|oldest', help: 'which entry comes first (default newest)' }, ...COUNT_OPTION },
      run: async ({ admin, values, print }) => {
        const order = readChoice('--order', values.order, ['newest', 'oldest']);
        const listed = await readPages(values.count, (page) => admin.call('listAudit', { query: { order, ...page } }));
        print({ items: listed.items }, () => {
          if (listed.items.length === 0) return 'There are none.';
          const rows = listed.items.map(({ at, author, action: what, kind, domain, name, details, reason }) => [
            shortTime(at),
            author,
            what,
            kind === undefined ? (details === undefined ? undefined : JSON.stringify(details)) : `${kind} ${domain ?? ''}/${name ?? ''}`,
            reason,
          ]);
          return withMore(textTable(['AT', 'AUTHOR', 'ACTION', 'OF', 'REASON'], rows), listed);
        });
      },
    }),
    action({
      name: 'export',
      purpose: 'Prints the whole audit log as lines of JSON, the oldest entry first.',
      options: { after: { type: 'string', form: 'ID', help: 'only entries after the one with this id' } },
      run: async ({ admin, values: { after }, printLine }) => {
        const query = { ...(after !== undefined && { after }) };
        for await (const line of admin.lines('exportAudit', { query })) if (line !== '') printLine(line, () => line);
      },
    }),
  ],
};
