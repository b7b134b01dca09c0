/** `weir override`: other limits for the descriptors that it selects. */

import { recordCommand } from './record-command';
import { ENTRIES_OPTION, readSelector, showEntries } from './values/entries-text';
import { LIMIT_FORM, readLimit, showLimit } from './values/limit-text';

export const override = recordCommand({
  name: 'override',
  plural: 'overrides',
  operand: 'ID',
  effect: 'replaces a limit of the rule for the descriptors that it selects',
  options: {
    ...ENTRIES_OPTION,
    limit: { type: 'string', form: LIMIT_FORM, required: true, help: 'values of a limit, instead of those of the configuration' },
  },
  list: (admin, query) => admin.call('listOverrides', { query }),
  show: (admin, { domain, name }) => admin.call('getOverride', { params: { domain, id: name } }),
  put: (admin, { domain, name, query, common, conditions }, { entries, limit }) => {
    const body = { entries: readSelector(entries), limit: readLimit(limit), ...common };
    return admin.call('putOverride', { params: { domain, id: name }, query, body }, conditions);
  },
  remove: (admin, { domain, name, query, conditions }) => admin.call('deleteOverride', { params: { domain, id: name }, query }, conditions),
  fields: (record) => ({ id: record.id, entries: showEntries(record.entries), limit: showLimit(record.limit) }),
});
