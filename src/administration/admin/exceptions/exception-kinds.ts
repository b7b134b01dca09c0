/** The kinds of exceptions: records that change what the configuration says, and which of them a list reads. */

import { CONTROL_KINDS, isPenalty, keyOf, type ControlRecord, type StoredRecord } from '../../../state/control/control-record';
import type { AdminBackend } from '../backend';

/** `candidate`: an override that is only tried. `penalty`: a block that a penalty wrote. `tenant`: a plan that ends. */
export const EXCEPTION_KINDS = ['override', 'candidate', 'block', 'penalty', 'pass', 'plan', 'tenant', 'rollout'] as const;

export type ExceptionKind = (typeof EXCEPTION_KINDS)[number];

export function kindOf(record: ControlRecord): ExceptionKind {
  if (record.kind === 'override') return record.candidate === true ? 'candidate' : 'override';
  return record.kind === 'block' && isPenalty(keyOf(record)) ? 'penalty' : record.kind;
}

const RECORD_KINDS = { candidate: 'override', penalty: 'block' } as const;

/** All exceptions of a kind; without one, those of all kinds. In no order. */
export function* exceptionsIn(
  view: Pick<AdminBackend['controlView'], 'exceptions'>,
  kind: ExceptionKind | undefined,
): Generator<StoredRecord> {
  const kinds = kind === undefined ? CONTROL_KINDS : [kind === 'candidate' || kind === 'penalty' ? RECORD_KINDS[kind] : kind];
  for (const each of kinds) {
    for (const stored of view.exceptions(each)) if (kind === undefined || kindOf(stored.record) === kind) yield stored;
  }
}
