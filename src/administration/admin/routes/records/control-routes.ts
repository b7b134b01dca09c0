/** The routes of what was lost: restore records, or let them go. */

import { Type } from '@sinclair/typebox';
import { route, type AdminRoute } from '../../route/route';
import { dryRun, object, reason, wasDryRun } from '../../route/schemas';
import { noteOf } from './write-record';

const restore = route({
  method: 'POST',
  path: '/v1/control/restore',
  id: 'restoreControl',
  tag: 'control',
  role: 'admin',
  summary: 'Writes the records that this instance knows and the store has lost.',
  query: object({ dry_run: dryRun }),
  body: object({ reason: Type.Optional(reason) }),
  reply: object({ dry_run: wasDryRun, restored: Type.Integer({ minimum: 0, description: 'Records that were, or would be, written.' }) }),
  problems: ['unavailable'],
  handle: async ({ query, body, caller }, { control }) => {
    const isDryRun = query.dry_run ?? false;
    const restored = await control.restore(noteOf(caller.name, 'restore', body.reason), { dryRun: isDryRun });
    return { body: { dry_run: isDryRun, restored } };
  },
});

const discard = route({
  method: 'POST',
  path: '/v1/control/discard-lost',
  id: 'discardLostControl',
  tag: 'control',
  role: 'admin',
  summary: 'Lets all instances drop the records that the store has lost.',
  body: object({ reason: Type.Optional(reason) }),
  reply: object({ discarded: Type.Boolean() }),
  problems: ['unavailable'],
  handle: async ({ body, caller }, { control }) => {
    await control.discardLost(noteOf(caller.name, 'discard_lost', body.reason));
    return { body: { discarded: true } };
  },
});

export const CONTROL_ROUTES: readonly AdminRoute[] = [restore, discard];
