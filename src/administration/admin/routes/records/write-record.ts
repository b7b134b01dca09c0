/** Writes to records: their replies, their outcomes as problems, and their audit notes. */

import { Type, type TSchema } from '@sinclair/typebox';
import { keyOf, type ControlRecord } from '../../../../state/control/control-record';
import type { ControlChange, ControlWrite, WriteOutcome } from '../../../../state/control/control-store';
import { CHILDREN_MAX } from '../../../../state/control/tenants/tenant-tree';
import { TENANT_LEVELS_MAX } from '../../../../domain/rule/pool';
import type { AdminBackend, WithoutEffect } from '../../backend';
import type { RecordEffect } from '../../effect/record-effect';
import { AdminProblem } from '../../problem';
import type { AdminCall, AdminReply } from '../../route/route';
import { object, wasDryRun } from '../../route/schemas';
import { etagOf } from './conditions';
import { effectFields, showChanges, warnings as warningList } from './effect-schemas';
import { recordSchema, showRecord, showStored, writtenSchema, type RecordShape } from './record-schemas';

export function writeReplyOf(shape: RecordShape): TSchema {
  return object({
    dry_run: wasDryRun,
    changed: Type.Boolean({ description: 'False: the record was there already, or there was none to delete.' }),
    version: Type.Optional(Type.Integer({ minimum: 0, description: 'The version of this write; absent for a dry run.' })),
    before: Type.Optional(recordSchema(shape)),
    after: Type.Optional(writtenSchema(shape)),
    ...effectFields,
    warnings: warningList,
  });
}

interface WriteRecordInput {
  readonly backend: AdminBackend;
  readonly call: AdminCall;
  readonly change: ControlChange;
  readonly action: string;
  readonly reason: string | undefined;
  readonly isDryRun: boolean | undefined;
  readonly effect: WriteEffect;
}

/** Computed before the write. */
export type WriteEffect = Pick<RecordEffect, 'changes' | 'omitted' | 'warnings'>;

export async function writeRecord({
  backend,
  call,
  change,
  action,
  reason: why,
  isDryRun = false,
  effect: does,
}: WriteRecordInput): Promise<AdminReply> {
  const outcome = await backend.control.write({
    changes: [change],
    audit: noteOf(call.caller.name, action, why),
    ...(isDryRun && { dryRun: true }),
  });
  const { version, effects } = writtenOrRefuse(outcome);
  const [effect] = effects;
  const after: ControlRecord | undefined = effect?.after;
  const { warnings } = does;
  if (!isDryRun) reportWarnings(backend, { author: call.caller.name, subject: subjectOf(change), warnings });
  return {
    body: {
      dry_run: isDryRun,
      changed: effect?.isChanged ?? false,
      ...(!isDryRun && { version }),
      ...(effect?.before && { before: showStored(effect.before) }),
      ...(after && { after: showRecord(after) }),
      ...showChanges(does),
      warnings: [...warnings],
    },
    ...(!isDryRun && after !== undefined && { etag: etagOf(version) }),
  };
}

/** Operators who do not read the answer find the write in the log. */
export function reportWarnings({ onWithoutEffect }: AdminBackend, write: WithoutEffect): void {
  if (write.warnings.length > 0) onWithoutEffect(write);
}

function subjectOf(change: ControlChange): string {
  const { kind, domain, name } = 'put' in change ? keyOf(change.put) : change.delete;
  return `${kind} ${domain}/${name}`;
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
    case 'tree':
      throw new AdminProblem('conflict', treeProblemText(outcome));
    case 'moved':
      throw new AdminProblem('unavailable', 'the control data changed meanwhile; try again');
    case 'id_reused':
      throw new AdminProblem('idempotency-key-reused', 'another write has used this Idempotency-Key; use a new one');
  }
}

/** A sentence for people. */
export function treeProblemText({ problem, count }: Pick<Extract<WriteOutcome, { kind: 'tree' }>, 'problem' | 'count'>): string {
  switch (problem) {
    case 'cycle':
      return 'the parent is below the tenant; name another parent, or move that one first';
    case 'depth':
      return `the tree would have more than ${TENANT_LEVELS_MAX} levels; name a parent nearer to the top`;
    case 'crowd':
      return `the parent has ${CHILDREN_MAX} tenants directly below it, which is the most; use another parent`;
    case 'children':
      return `the tenant has ${count} tenant(s) directly below it; give them another parent, or delete them first`;
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
