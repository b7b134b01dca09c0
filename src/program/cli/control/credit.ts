/** `weir credit`: gives hits back to the buckets of a descriptor. */

import { LIMIT_MAX } from '../../../domain/rule/limit';
import { readWhole } from '../usage-error';
import { action, type ControlCommand } from './control-command';
import { CHECK_OPTIONS, checksOf } from './record-command';
import { DESCRIPTOR_OPTIONS, WRITE_OPTIONS, readTarget } from './values/target';
import { textTable } from './values/text-table';

export const credit: ControlCommand = {
  name: 'credit',
  actions: [
    action({
      name: '',
      purpose: 'Gives hits back to the buckets of a descriptor now, never beyond full.',
      options: {
        ...DESCRIPTOR_OPTIONS,
        ...WRITE_OPTIONS,
        ...CHECK_OPTIONS,
        hits: { type: 'string', form: 'N', required: true, help: 'hits to give' },
        id: { type: 'string', form: 'ID', help: 'makes the credit safe to repeat: a second one with this id gives nothing' },
      },
      run: async ({ admin, values, print, warn }) => {
        const { id } = values;
        const hits = readWhole('--hits', values.hits, { min: 1, max: LIMIT_MAX, otherwise: 1 });
        const reply = await admin.call('giveCredit', {
          query: checksOf(values),
          body: { ...readTarget(values), hits, ...(id !== undefined && { id }) },
        });
        print(reply, () => {
          if (reply.repeated) return `A credit with the id ${id ?? ''} was given before; this one gave nothing.`;
          const table = textTable(
            ['BUCKET', 'GIVEN', 'LEFT'],
            reply.given.map(({ key, hits: given, remaining }) => [key, given, remaining]),
          );
          return reply.dry_run ? `Dry run: nothing was given.\n${table}` : table;
        });
        warn(reply.warnings);
      },
    }),
  ],
};
