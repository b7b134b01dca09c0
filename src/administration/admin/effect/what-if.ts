/** The control data as they would be with another record, or without one: what a decision would read then. */

import type { ControlData } from '../../../state/control/control-data';
import { fieldOf, isSelector, keyOf, type ControlRecord, type RecordKey, type SelectorRecord } from '../../../state/control/control-record';
import { SelectorIndex } from '../../../state/control/selector-index';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { MatchControl } from '../../../domain/rule/match';

/** The parts that the effect of a record is computed with. */
export type Replica = MatchControl & Pick<ControlData, 'selecting'>;

/** Later than any version of a store. */
const NEWEST = Number.MAX_SAFE_INTEGER;

interface Put {
  readonly record: ControlRecord;
  /** Absent: it is being written, so it is newer than all others. */
  readonly version?: number;
}

/** The control data in which the record replaces the one with its key. */
export function withRecord(control: Replica, { record, version = NEWEST }: Put): MatchControl {
  return changed(control, { key: keyOf(record), put: { record, version } });
}

/** Without the record of this key. */
export function withoutRecord(control: Replica, key: RecordKey): MatchControl {
  return changed(control, { key, put: undefined });
}

function changed(control: Replica, { key, put }: { readonly key: RecordKey; readonly put: Required<Put> | undefined }): MatchControl {
  const [inDomain, name] = [toByteString(key.domain), toByteString(key.name)];
  const isMeant = (domain: string, of: string) => domain === inDomain && of === name;
  const record = put?.record;
  return {
    planOf: (domain, tenant) => {
      if (key.kind !== 'tenant' || !isMeant(domain, tenant)) return control.planOf(domain, tenant);
      return record?.kind === 'tenant' && record.plan !== undefined ? toByteString(record.plan) : undefined;
    },
    parentOf: (domain, tenant) => {
      if (key.kind !== 'tenant' || !isMeant(domain, tenant)) return control.parentOf(domain, tenant);
      return record?.kind === 'tenant' && record.parent !== undefined ? toByteString(record.parent) : undefined;
    },
    planLimits: (domain, plan) => {
      if (key.kind !== 'plan' || !isMeant(domain, plan)) return control.planLimits(domain, plan);
      return record?.kind === 'plan' ? record.limits : undefined;
    },
    stageOf: (domain, of) => control.stageOf(domain, of),
    select: (domain, entries) => {
      if (key.kind === 'tenant' || key.kind === 'plan' || key.kind === 'rollout' || domain !== inDomain)
        return control.select(domain, entries);
      const index = new SelectorIndex();
      const add = (added: SelectorRecord, version: number) => index.add({ record: added, version, mark: 0, expiry: undefined });
      for (const { record: other, version } of control.selecting(domain, entries)) if (!isSame(other, key)) add(other, version);
      if (put !== undefined && record !== undefined && isSelector(record)) add(record, put.version);
      return index.select(entries);
    },
  };
}

function isSame(record: SelectorRecord, key: RecordKey): boolean {
  return record.kind === key.kind && fieldOf(keyOf(record)) === fieldOf(key);
}
