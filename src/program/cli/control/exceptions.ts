/** `weir exceptions`: everything that changes the configuration at run time, and what each does now. */

import type { Exception } from '../../../administration/admin-client/operations';
import { readChoice } from '../usage-error';
import { action, type ControlCommand } from './control-command';
import { showEntries } from './values/entries-text';
import { showLimit } from './values/limit-text';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { textTable } from './values/text-table';
import { showDuration } from './values/until';

const KINDS = ['override', 'candidate', 'block', 'penalty', 'pass', 'plan', 'tenant', 'rollout'] as const;

const STATES = ['in_force', 'partial', 'none'] as const;

const ORDERS = ['ends', 'newest'] as const;

export const exceptions: ControlCommand = {
  name: 'exceptions',
  actions: [
    action({
      name: '',
      purpose:
        'Lists what is in force beside the configuration: overrides, candidates, blocks, penalties, passes and plans, with what each does now.',
      options: {
        text: { type: 'string', form: 'TEXT', help: 'only those with this text in a name, an entry, the plan, the reason or the author' },
        kind: { type: 'string', form: KINDS.join('|'), help: 'only these' },
        domain: { type: 'string', form: 'DOMAIN', help: 'only those of this domain' },
        author: { type: 'string', form: 'NAME', help: 'only what this caller wrote' },
        state: { type: 'string', form: STATES.join('|'), help: 'only those with this effect' },
        order: { type: 'string', form: ORDERS.join('|'), help: 'what ends first, or what was written last (default ends)' },
        ...COUNT_OPTION,
      },
      run: async ({ admin, values, nowMs, print }) => {
        const { text, kind, domain, author, state } = values;
        const query = {
          order: readChoice('--order', values.order, ORDERS),
          ...(text !== undefined && { text }),
          ...(kind !== undefined && { kind: readChoice('--kind', kind, KINDS) }),
          ...(domain !== undefined && { domain }),
          ...(author !== undefined && { author }),
          ...(state !== undefined && { state: readChoice('--state', state, STATES) }),
        };
        const listed = await readPages(values.count, (page) => admin.call('listExceptions', { query: { ...query, ...page } }));
        print({ items: listed.items }, () => withMore(table(listed.items, nowMs), listed));
      },
    }),
  ],
};

function table(items: readonly Exception[], nowMs: number): string {
  if (items.length === 0) return 'There are none.';
  return textTable(
    ['KIND', 'DOMAIN', 'NAME', 'OF', 'GIVES', 'ENDS IN', 'AUTHOR', 'EFFECT', 'BECAUSE'],
    items.map((item) => [
      item.kind,
      item.domain,
      item.name,
      item.entries && showEntries(item.entries),
      givesText(item),
      endText(item.until, nowMs),
      item.author,
      item.effect,
      item.warnings[0]?.message ?? item.reason,
    ]),
  );
}

function givesText({ limit, limits, plan, percent }: Exception): string | undefined {
  if (percent !== undefined) return `${percent} %`;
  if (limits !== undefined) return limits.map(showLimit).join(' ');
  return limit === undefined ? plan : showLimit(limit);
}

function endText(until: string | undefined, nowMs: number): string {
  return until === undefined ? 'never' : showDuration(Math.max(0, Date.parse(until) - nowMs));
}
