/** `weir override`: other limits for the descriptors that it selects, in force or tried beside those of the rule. */

import { action, type ControlAction } from './control-command';
import { changeOptions, readChange, recordCommand, writtenText, type RecordFields } from './record-command';
import { ENTRIES_OPTION, readSelector, showEntries } from './values/entries-text';
import { LIMIT_FORM, readLimit, showLimit } from './values/limit-text';
import type { WrittenOverride } from '../../../administration/admin-client/operations';

const fields: RecordFields<WrittenOverride> = (record) => ({
  id: record.id,
  entries: showEntries(record.entries),
  limit: showLimit(record.limit),
  candidate: record.candidate === true ? 'yes' : undefined,
});

const records = recordCommand({
  name: 'override',
  plural: 'overrides',
  operand: 'ID',
  effect: 'replaces a limit of the rule for the descriptors that it selects',
  options: {
    ...ENTRIES_OPTION,
    limit: { type: 'string', form: LIMIT_FORM, required: true, help: 'values of a limit, instead of those of the configuration' },
    candidate: { type: 'boolean', help: 'only try the limit beside that of the rule: count it, and never deny' },
  },
  list: (admin, query) => admin.call('listOverrides', { query }),
  show: (admin, { domain, name }) => admin.call('getOverride', { params: { domain, id: name } }),
  put: (admin, { domain, name, query, common, conditions }, { entries, limit, candidate }) => {
    const body = { entries: readSelector(entries), limit: readLimit(limit), ...(candidate === true && { candidate }), ...common };
    return admin.call('putOverride', { params: { domain, id: name }, query, body }, conditions);
  },
  remove: (admin, { domain, name, query, conditions }) => admin.call('deleteOverride', { params: { domain, id: name }, query }, conditions),
  fields,
});

const promote: ControlAction = action({
  name: 'promote',
  purpose: 'Puts the limit of a candidate in force, unless the override has changed meanwhile.',
  operand: { form: 'ID' },
  options: changeOptions,
  run: async ({ admin, values, operand: id, nowMs, print, warn }) => {
    const { domain, query, reason, conditions } = readChange(values);
    const body = reason === undefined ? {} : { reason };
    const reply = await admin.call('promoteOverride', { params: { domain, id }, query, body }, conditions);
    print(reply, () => writtenText(reply, { name: 'override', fields, of: { domain, name: id }, nowMs }));
    warn(reply.warnings);
  },
});

export const override = { ...records, actions: [...records.actions, promote] };
