/** `weir block`: denies every request with a descriptor that it selects. */

import { recordCommand } from './record-command';
import { ENTRIES_OPTION, readSelector, showEntries } from './values/entries-text';

export const block = recordCommand({
  name: 'block',
  plural: 'blocks',
  operand: 'ID',
  effect: 'denies every request with a descriptor that it selects',
  options: ENTRIES_OPTION,
  list: (admin, query) => admin.call('listBlocks', { query }),
  show: (admin, { domain, name }) => admin.call('getBlock', { params: { domain, id: name } }),
  put: (admin, { domain, name, query, common, conditions }, { entries }) =>
    admin.call('putBlock', { params: { domain, id: name }, query, body: { entries: readSelector(entries), ...common } }, conditions),
  remove: (admin, { domain, name, query, conditions }) => admin.call('deleteBlock', { params: { domain, id: name }, query }, conditions),
  fields: (record) => ({ id: record.id, entries: showEntries(record.entries) }),
});
