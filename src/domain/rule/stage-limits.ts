/** Chooses the limits of a descriptor under the stages of their candidates. */

import type { ByteString, Entry } from '../descriptor/descriptor';
import type { StagesView } from './control-view';
import type { Limit } from './limit';
import type { SharedEntry } from './shared-entry';
import { isInStage, type Stage, type StageInForce, type VersionedStage } from './stage';
import { stagedLimit } from './staged-limit';

export interface StageLimitsInput {
  readonly limits: readonly Limit[];
  readonly entries: readonly Entry[];
  /** `Rule.shareThreshold`. */
  readonly shared: readonly (SharedEntry | undefined)[];
  /** Absent: only the configuration decides. */
  readonly control: StagesView | undefined;
}

/** The limits under the stage of one of their candidates. */
export interface StagedLimits {
  readonly limits: readonly Limit[];
  readonly inForce: StageInForce;
}

/** Undefined: no candidate of the limits has a stage. All candidates of a rule that have one share it. */
export function stageLimits({ limits, entries, shared, control }: StageLimitsInput): StagedLimits | undefined {
  let inForce: StageInForce | undefined;
  let staged: readonly Limit[] = limits;
  for (const limit of limits) {
    const stage = limit.candidate?.stage;
    if (stage === undefined || inForce?.stage === stage) continue;
    const values = valuesOf(stage, control);
    const value = values.by === undefined ? undefined : valueOf(values.by, entries, shared);
    if (value === undefined) continue;
    const isIn = isInStage(stage, value, values.percent);
    // An override has a stage of its own, which is what operators watch.
    if (inForce === undefined || !stage.isConfigured) inForce = { stage, values, part: isIn ? 'candidate' : 'current' };
    if (isIn) staged = withStage(staged, stage);
  }
  return inForce && { limits: staged, inForce };
}

/** The values in force. */
export function valuesOf(stage: Stage, control: StagesView | undefined): VersionedStage {
  const record = stage.isConfigured ? control?.stageOf(stage.domain, stage.name) : undefined;
  if (record === undefined) return stage.values;
  const known = merged.get(record);
  if (known?.stage === stage) return known.values;
  const { by = stage.values.by, stopIf = stage.values.stopIf, percent, version } = record;
  const values = { percent, version, ...(by !== undefined && { by }), ...(stopIf && { stopIf }) };
  merged.set(record, { stage, values });
  return values;
}

/** By the values of a record, those of the stage with it. */
const merged = new WeakMap<VersionedStage, { readonly stage: Stage; readonly values: VersionedStage }>();

/** Undefined: there is no such entry, or all of its values share a bucket, which cannot be on both sides. With several, the last one counts. */
function valueOf(by: ByteString, entries: readonly Entry[], shared: StageLimitsInput['shared']): ByteString | undefined {
  for (let i = entries.length - 1; i >= 0; i -= 1) {
    const entry = entries[i];
    if (entry?.key === by) return shared[i] === undefined ? entry.value : undefined;
  }
  return undefined;
}

/** By the limits and the stage, the limits of the stage: the same list each time, because later steps know limits by their list. */
const withStages = new WeakMap<readonly Limit[], WeakMap<Stage, readonly Limit[]>>();

function withStage(limits: readonly Limit[], stage: Stage): readonly Limit[] {
  let ofLimits = withStages.get(limits);
  if (ofLimits === undefined) withStages.set(limits, (ofLimits = new WeakMap()));
  const known = ofLimits.get(stage);
  if (known !== undefined) return known;
  const made = limits.map((limit) => (limit.candidate?.stage === stage ? stagedLimit(limit, limit.candidate) : limit));
  ofLimits.set(stage, made);
  return made;
}
