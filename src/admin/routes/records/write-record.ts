/** Writes to records: their replies, their outcomes as problems, and their audit notes. */

import { Type, type TSchema } from '@sinclair/typebox';
import type { ControlRecord } from '../../../control/control-record';
import type { ControlChange, ControlWrite, WriteOutcome } from '../../../control/control-store';
import type { AdminBackend } from '../../backend';
import { AdminProblem } from '../../problem';
import type { AdminCall, AdminReply } from '../../route/route';
import { object, wasDryRun } from '../../route/schemas';
import { etagOf } from './conditions';
import { recordSchema, showRecord, showStored, writtenSchema, type RecordShape } from './record-schemas';

export function writeReplyOf(shape: RecordShape): TSchema {
  return object({
    dry_run: wasDryRun,
    changed: Type.Boolean({ description: 'False: the record was there already, or there was none to delete.' }),
    version: Type.Optional(Type.Integer({ minimum: 0, description: 'The version of this write; absent for a dry run.' })),
    before: Type.Optional(recordSchema(shape)),
    after: Type.Optional(writtenSchema(shape)),
  });
}

interface WriteRecordInput {
  readonly backend: AdminBackend;
  readonly call: AdminCall;
  readonly change: ControlChange;
  readonly action: string;
  readonly reason: string | undefined;
  readonly isDryRun: boolean | undefined;
}

export async function writeRecord({ backend, call, change, action, reason: why, isDryRun = false }: WriteRecordInput): Promise<AdminReply> {
  const outcome = await backend.control.write({
    changes: [change],
    audit: noteOf(call.caller.name, action, why),
    ...(isDryRun && { dryRun: true }),
  });
  const { version, effects } = writtenOrRefuse(outcome);
  const [effect] = effects;
  const after: ControlRecord | undefined = effect?.after;
  return {
    body: {
      dry_run: isDryRun,
      changed: effect?.isChanged ?? false,
      ...(!isDryRun && { version }),
      ...(effect?.before && { before: showStored(effect.before) }),
      ...(after && { after: showRecord(after) }),
    },
    ...(!isDryRun && after !== undefined && { etag: etagOf(version) }),
  };
}

/** @throws AdminProblem unless it is written */
export function writtenOrRefuse(outcome: WriteOutcome): Extract<WriteOutcome, { kind: 'written' }> {
  switch (outcome.kind) {
    case 'written':
      return outcome;
    case 'conflict': {
      const current = outcome.current === undefined ? 'it does not exist' : `its ETag is ${etagOf(outcome.current.version)}`;
      throw new AdminProblem('precondition-failed', `the item is not as the request expects: ${current}; read it again`);
    }
    case 'full':
      throw new AdminProblem(
        'conflict',
        `the store has ${outcome.max} records of the kind ${outcome.of}, which is the most; delete some first`,
      );
    case 'moved':
      throw new AdminProblem('unavailable', 'the control data changed meanwhile; try again');
    case 'id_reused':
      throw new AdminProblem('idempotency-key-reused', 'another write has used this Idempotency-Key; use a new one');
  }
}

/** Writes an audit entry for an action that changes no record; `id` makes it unique. Resolves to whether it is new. */
export async function auditAction(
  { control }: AdminBackend,
  { id, ...audit }: ControlWrite['audit'] & { readonly id?: string },
): Promise<boolean> {
  const outcome = await control.write({ changes: [], audit, ...(id !== undefined && { id }) });
  return !writtenOrRefuse(outcome).isRepeated;
}

export function noteOf(author: string, action: string, why: string | undefined) {
  return { author, action, ...(why !== undefined && { reason: why }) };
}
