/** `weir control`: what to do when the store has lost control data that instances keep in force. */

import { action, type ControlCommand } from './control-command';
import { checksOf } from './record-command';

const REASON = { reason: { type: 'string', form: 'TEXT', help: 'why; for the audit log' } } as const;

export const control: ControlCommand = {
  name: 'control',
  actions: [
    action({
      name: 'restore',
      purpose: 'Writes the records that the answering instance knows and the store has lost.',
      options: { ...REASON, 'dry-run': { type: 'boolean', help: 'only show how many would be written' } },
      run: async ({ admin, values, print }) => {
        const { reason } = values;
        const reply = await admin.call('restoreControl', { query: checksOf(values), body: reason === undefined ? {} : { reason } });
        print(reply, () => (reply.dry_run ? `Dry run: ${reply.restored} would be restored.` : `${reply.restored} restored.`));
      },
    }),
    action({
      name: 'discard-lost',
      purpose: 'Lets all instances drop the records that the store has lost.',
      options: REASON,
      run: async ({ admin, values: { reason }, print }) => {
        const reply = await admin.call('discardLostControl', { body: reason === undefined ? {} : { reason } });
        print(reply, () => 'All instances drop the lost records within a second.');
      },
    }),
  ],
};
