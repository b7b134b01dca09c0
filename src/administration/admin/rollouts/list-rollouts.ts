/** The rollouts in force: their values, and the hits of both parts over all instances. */

import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { Limit } from '../../../domain/rule/limit';
import type { VersionedStage } from '../../../domain/rule/stage/stage';
import { valuesOf } from '../../../domain/rule/stage-limits';
import { OVERRIDE_ROLLOUT, type ControlRecord, type OverrideRecord, type StoredRecord } from '../../../state/control/control-record';
import type { RolloutCounts } from '../../../state/rollout/rollout-counter';
import type { LimitValues } from '../../../domain/rule/control-view';
import type { AdminBackend } from '../backend';
import type { RuleSet, StagedLimits } from '../../../domain/rule/rule-set';

export const ROLLOUT_SOURCES = ['configuration', 'rollout', 'override'] as const;

/** A rollout, and where its values come from. */
export interface ListedRollout {
  readonly domain: string;
  /** As in `Stage.name`. */
  readonly rule: string;
  readonly values: VersionedStage;
  readonly source: (typeof ROLLOUT_SOURCES)[number];
  /** Absent: the configuration alone has it. */
  readonly stored?: StoredRecord;
  readonly limits: readonly TriedLimit[];
  /** The hits of this stage; absent: there are none yet. */
  readonly counts?: RolloutCounts;
}

/** A candidate beside its limit. */
export interface TriedLimit {
  /** Absent: an override tries it beside limits of several rules. */
  readonly current?: Limit;
  readonly candidate: Limit | LimitValues;
}

export interface RolloutQuery {
  readonly domain?: string;
  readonly rule?: string;
}

interface Listed extends Pick<AdminBackend, 'controlView' | 'rollouts'> {
  readonly ruleSet: RuleSet;
}

/** Most rollouts of one answer. */
export const ROLLOUTS_MAX = 500;

/** The rollouts that have a key or a record, by domain and rule. Rejects with StoreError if the store cannot answer. */
export async function listRollouts(query: RolloutQuery, backend: Listed): Promise<readonly ListedRollout[]> {
  const found = [...configured(query, backend), ...ofOverrides(query, backend)].slice(0, ROLLOUTS_MAX);
  return Promise.all(
    found.map(async (each) => {
      const counts = await backend.rollouts.read(each);
      return counts?.version === each.values.version ? { ...each, counts } : each;
    }),
  );
}

function* configured({ domain, rule }: RolloutQuery, { controlView, ruleSet }: Listed): Generator<ListedRollout> {
  for (const [name, { stages }] of ruleSet.domains) {
    const inDomain = toText(name);
    if (stages === undefined || (domain !== undefined && domain !== inDomain)) continue;
    for (const [ofRule, { stage, limits }] of stages) {
      const values = valuesOf(stage, controlView);
      if (rule !== undefined && rule !== ofRule) continue;
      const stored = controlView.get({ kind: 'rollout', domain: inDomain, name: ofRule });
      if (values.by === undefined && stored === undefined) continue;
      const source = stored === undefined ? 'configuration' : 'rollout';
      yield { domain: inDomain, rule: ofRule, values, source, ...(stored && { stored }), limits: triedOf({ limits }) };
    }
  }
}

function triedOf({ limits }: Pick<StagedLimits, 'limits'>): readonly TriedLimit[] {
  return limits.flatMap((current) => (current.candidate === undefined ? [] : [{ current, candidate: current.candidate }]));
}

function* ofOverrides({ domain, rule }: RolloutQuery, { controlView }: Listed): Generator<ListedRollout> {
  if (rule !== undefined && !rule.startsWith(OVERRIDE_ROLLOUT)) return;
  for (const stored of controlView.exceptions('override')) {
    const { record, version } = stored;
    if (!hasRollout(record) || (domain !== undefined && domain !== record.domain)) continue;
    const name = `${OVERRIDE_ROLLOUT}${record.id}`;
    if (rule !== undefined && rule !== name) continue;
    const { by, percent, stopIf } = record.rollout;
    const values = { percent, version, ...(by !== undefined && { by: toByteString(by) }), ...(stopIf && { stopIf }) };
    yield { domain: record.domain, rule: name, values, source: 'override', stored, limits: [{ candidate: record.limit }] };
  }
}

function hasRollout(record: ControlRecord): record is OverrideRecord & Required<Pick<OverrideRecord, 'rollout'>> {
  return record.kind === 'override' && record.rollout !== undefined;
}
