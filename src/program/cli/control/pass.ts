/** `weir pass`: makes the descriptors that it selects unlimited. */

import { recordCommand } from './record-command';
import { ENTRIES_OPTION, readSelector, showEntries } from './values/entries-text';

export const pass = recordCommand({
  name: 'pass',
  plural: 'passes',
  operand: 'ID',
  effect: 'makes the descriptors that it selects unlimited',
  options: ENTRIES_OPTION,
  list: (admin, query) => admin.call('listPasses', { query }),
  show: (admin, { domain, name }) => admin.call('getPass', { params: { domain, id: name } }),
  put: (admin, { domain, name, query, common, conditions }, { entries }) =>
    admin.call('putPass', { params: { domain, id: name }, query, body: { entries: readSelector(entries), ...common } }, conditions),
  remove: (admin, { domain, name, query, conditions }) => admin.call('deletePass', { params: { domain, id: name }, query }, conditions),
  fields: (record) => ({ id: record.id, entries: showEntries(record.entries) }),
});
