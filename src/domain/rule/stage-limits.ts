/** Chooses the limits of a descriptor under the stages of their candidates, and makes those that decide in a stage. */

import type { ByteString, Entry } from '../descriptor/descriptor';
import type { StagesView } from './control-view';
import { windowName, type Limit } from './limit';
import type { SharedEntry } from './shared-entry';
import { isInStage, type Stage, type StageInForce, type VersionedStage } from './stage/stage';

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

/** Undefined: the descriptor lacks such an entry, or all of its values share a bucket, which cannot be on both sides. The last of several counts. */
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

/** By the limit: the same object each time, because a store folds takes whose limits are the same object. */
const stagedLimits = new WeakMap<Limit, Limit>();

/** The limit of each limit that was made. */
const bases = new WeakMap<Limit, Limit>();

/**
 * With the algorithm and the window of its limit it counts in the same bucket, so that used hits stay for everyone who moves. Otherwise it
 * counts in the bucket of the candidate, which has counted the same requests before.
 */
function stagedLimit(limit: Limit, candidate: Limit): Limit {
  const known = stagedLimits.get(limit);
  if (known !== undefined) return known;
  const { name, failureMode, responseHeaders, responseBody, leases, reservations, soft, show, events } = limit;
  const { requestsPerUnit, unit, unitMultiplier, algorithm, windowUs, capacity, calendar, overdraft } = candidate;
  const staged: Limit = {
    requestsPerUnit,
    unit,
    unitMultiplier,
    name,
    algorithm,
    windowUs,
    capacity,
    ...(calendar && { calendar }),
    ...(overdraft && { overdraft }),
    ...(!keepsBucket(limit, candidate) && { role: 'candidate' as const }),
    ...(failureMode && { failureMode }),
    ...(responseHeaders && { responseHeaders }),
    ...(responseBody && { responseBody }),
    ...(leases && { leases }),
    ...(reservations && { reservations }),
    ...(soft && { soft }),
    ...(show && { show }),
    ...(events && { events }),
  };
  stagedLimits.set(limit, staged);
  bases.set(staged, limit);
  return staged;
}

/** Whether a request that moves between a limit and its candidate stays in its bucket. */
export function keepsBucket(limit: Limit, candidate: Limit): boolean {
  return limit.algorithm === candidate.algorithm && windowName(limit) === windowName(candidate);
}

/** The limit in whose place a limit decides in a stage; outside a stage the limit itself. */
export function beforeStage(limit: Limit): Limit {
  return bases.get(limit) ?? limit;
}
