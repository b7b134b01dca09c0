/** Records that name a tenant or select a descriptor, and have no effect on it: what somebody wrote, and wonders about. */

import { fieldOf, keyOf, type RecordKey, type StoredRecord } from '../../../state/control/control-record';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { Pace } from '../../../lib/slices';
import type { AdminBackend } from '../backend';
import { effectOfStored, type EffectInput, type EffectState } from '../effect/record-effect';
import type { Warning } from '../effect/warning';

export interface IdleRecord {
  readonly key: RecordKey;
  readonly stored: StoredRecord;
  readonly state: EffectState;
  readonly warnings: readonly Warning[];
}

/** Most records of one answer. */
export const IDLE_MAX = 20;

/** Most records that are examined for one answer. */
const EXAMINED_MAX = 200;

/** Looks at the clock once for this many records. */
const RECORDS_OF_A_LOOK = 64;

interface IdleInput {
  readonly controlView: Pick<AdminBackend['controlView'], 'exceptions' | 'selecting' | 'get'>;
  readonly effectInput: EffectInput;
}

/** The records that select a descriptor of the request, without those that `deciding` names. */
export function idleSelecting(
  { domain, descriptors }: RateLimitRequest,
  { deciding, controlView, effectInput }: IdleInput & { readonly deciding: readonly RecordKey[] },
): readonly IdleRecord[] {
  const isDeciding = new Set(deciding.map(nameOf));
  const found = new Map<string, StoredRecord>();
  for (const { entries } of descriptors) {
    for (const { record, version } of controlView.selecting(domain, entries)) {
      const name = nameOf(keyOf(record));
      if (!isDeciding.has(name) && found.size < EXAMINED_MAX) found.set(name, { record, version });
    }
  }
  return [...found.values()].flatMap((stored) => idleOf(stored, effectInput)).slice(0, IDLE_MAX);
}

/** The record of the tenant, and those with the tenant as a value of an entry, whatever its key. Read in slices. */
export async function idleNaming(
  { domain, tenant }: { readonly domain: string; readonly tenant: string },
  { controlView, effectInput }: IdleInput,
): Promise<readonly IdleRecord[]> {
  const pace = new Pace();
  const own = controlView.get({ kind: 'tenant', domain, name: tenant });
  const idle = own === undefined ? [] : [...idleOf(own, effectInput)];
  let [looked, examined] = [0, 0];
  for (const kind of ['override', 'block', 'pass'] as const) {
    for (const stored of controlView.exceptions(kind)) {
      looked += 1;
      if (looked % RECORDS_OF_A_LOOK === 0 && pace.isOver) await pace.nextSlice();
      const { record } = stored;
      if (record.domain !== domain || !('entries' in record) || !record.entries.some(({ value }) => value === tenant)) continue;
      idle.push(...idleOf(stored, effectInput));
      examined += 1;
      if (examined === EXAMINED_MAX || idle.length >= IDLE_MAX) return idle;
      if (pace.isOver) await pace.nextSlice();
    }
  }
  return idle;
}

function idleOf(stored: StoredRecord, effectInput: EffectInput): readonly IdleRecord[] {
  const { state, warnings } = effectOfStored(stored, effectInput);
  return state === 'in_force' ? [] : [{ key: keyOf(stored.record), stored, state, warnings }];
}

function nameOf(key: RecordKey): string {
  return `${key.kind} ${fieldOf(key)}`;
}
