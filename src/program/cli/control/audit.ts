/** `weir audit`: who changed what, and why. */

import { readChoice } from '../usage-error';
import { action, type ControlCommand } from './control-command';
import { selectorText } from './values/entries-text';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { textTable } from './values/text-table';
import { readSince, shortTime } from './values/until';

const KINDS = ['tenant', 'plan', 'override', 'block', 'pass', 'rollout'] as const;

const TRAILS = ['penalties'] as const;

export const audit: ControlCommand = {
  name: 'audit',
  actions: [
    action({
      name: 'list',
      purpose: 'Lists the audit log.',
      options: {
        author: { type: 'string', form: 'NAME', help: 'only what this caller did' },
        kind: { type: 'string', form: KINDS.join('|'), help: 'only changes of these records' },
        domain: { type: 'string', form: 'DOMAIN', help: 'only what concerns this domain' },
        tenant: { type: 'string', form: 'TENANT', help: 'only its own record, and what names it as a value' },
        descriptor: {
          type: 'string',
          form: 'KEY=VALUE,KEY=VALUE',
          help: 'only what selects this descriptor, and the record of its tenant',
        },
        since: { type: 'string', form: 'TIME|DURATION', help: 'only entries from this time on, or of the last `90m`, `12h`, `2d`' },
        trail: { type: 'string', form: TRAILS.join('|'), help: 'the blocks that penalties wrote, in place of what people did' },
        order: { type: 'string', form: 'newest|oldest', help: 'which entry comes first (default newest)' },
        ...COUNT_OPTION,
      },
      run: async ({ admin, values, nowMs, print }) => {
        const { author, domain, tenant, descriptor, since } = values;
        const query = {
          order: readChoice('--order', values.order, ['newest', 'oldest']),
          ...(values.trail !== undefined && { trail: readChoice('--trail', values.trail, TRAILS) }),
          ...(author !== undefined && { author }),
          ...(values.kind !== undefined && { kind: readChoice('--kind', values.kind, KINDS) }),
          ...(domain !== undefined && { domain }),
          ...(tenant !== undefined && { tenant }),
          ...(descriptor !== undefined && { descriptor: selectorText(descriptor) }),
          ...(since !== undefined && { since: readSince(since, nowMs) }),
        };
        const listed = await readPages(values.count, (page) => admin.call('listAudit', { query: { ...query, ...page } }));
        print({ items: listed.items }, () => {
          if (listed.items.length === 0) return 'There are none.';
          const rows = listed.items.map(({ at, author, action: what, kind, domain, name, details, reason }) => [
            shortTime(at),
            author,
            what,
            kind === undefined ? detailsText(details) : `${kind} ${domain ?? ''}/${name ?? ''}`,
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

/** An import has one entry for many tenants, which are too many for a line. */
function detailsText(details: unknown): string | undefined {
  if (details === undefined) return undefined;
  const { tenants, ...others } = details as { readonly tenants?: unknown };
  return JSON.stringify(tenants === undefined ? details : others);
}
