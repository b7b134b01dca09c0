/** The route that puts a candidate in force. */

import { Type } from '@sinclair/typebox';
import type { ControlChange } from '../../../../state/control/control-store';
import { AdminProblem } from '../../problem';
import { route } from '../../route/route';
import { domain, dryRun, object, reason } from '../../route/schemas';
import { effectOfWrite } from '../../effect/record-effect';
import { expectationOf } from './conditions';
import { effectInputOf, refuseIfStrict, strict } from './effect-schemas';
import { SHAPES, showRecord } from './record-schemas';
import { writeRecord, writeReplyOf } from './write-record';

const NO_EFFECT = { changes: [], changes_omitted: 0, warnings: [] };

export const promote = route({
  method: 'POST',
  path: '/v1/overrides/{domain}/{id}/promote',
  id: 'promoteOverride',
  tag: 'overrides',
  role: 'support',
  summary:
    'Puts the limit of a candidate in force: one write, which is refused if the override has changed meanwhile. Used hits of the limit stay.',
  params: object({ domain, id: SHAPES.override.name }),
  query: object({ dry_run: dryRun, strict }),
  body: object({ reason: Type.Optional(reason) }),
  condition: 'write',
  reply: writeReplyOf(SHAPES.override),
  problems: ['not-found', 'precondition-failed', 'without-effect'],
  handle: async (call, backend) => {
    const { domain: inDomain, id } = call.params as { readonly domain: string; readonly id: string };
    const key = { kind: 'override', domain: inDomain, name: id } as const;
    const [stored] = await backend.control.read([key]);
    if (stored?.record.kind !== 'override') throw new AdminProblem('not-found', 'there is no such override');
    const { candidate, rollout, reason: before, ...inForce } = stored.record;
    // A repeated promotion finds its result there already.
    if (candidate !== true && call.headers.ifMatch === undefined)
      return { body: { dry_run: call.query.dry_run ?? false, changed: false, after: showRecord(stored.record), ...NO_EFFECT } };
    const { reason: why = before } = call.body;
    const put = { ...inForce, author: call.caller.name, ...(why !== undefined && { reason: why }) };
    const effect = effectOfWrite(put, effectInputOf(backend));
    refuseIfStrict(effect.warnings, call.query.strict);
    const asked = expectationOf(call.headers);
    const change: ControlChange = { put, expect: asked === 'any' ? stored.version : asked };
    return writeRecord({ backend, call, change, action: 'promote', reason: why, isDryRun: call.query.dry_run, effect });
  },
});
