/** Says what a record changes now or would change, and why it has no effect or only a part of it. */

import { keyOf, type ControlRecord, type StoredRecord } from '../../../state/control/control-record';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { GlobalModes, MatchControl } from '../../../domain/rule/match';
import type { RuleSet } from '../../../domain/rule/rule-set';
import { changesBetween, matchProbe, type TermChange } from './outcome';
import type { DeclaredDomain } from './probes';
import { examineRollout } from './rollout-effect';
import { examineSelector, type ExamineInput, type Examined } from './selector-effect';
import { examinePlan, examineTenant } from './tenant-effect';
import { WARNINGS_MAX, type Reason, type Warning, type WarningCode } from './warning';
import { withoutRecord, withRecord, type Replica } from './what-if';

export const EFFECT_STATES = ['in_force', 'partial', 'none'] as const;

export type EffectState = (typeof EFFECT_STATES)[number];

export interface RecordEffect {
  readonly state: EffectState;
  /** For each rule, what was decided before and what is then. At most `CHANGES_MAX`. */
  readonly changes: readonly TermChange[];
  readonly omitted: number;
  /** Empty: it has its whole effect. */
  readonly warnings: readonly Warning[];
}

/** Most changes of one answer. */
export const CHANGES_MAX = 10;

export interface EffectInput {
  /** Undefined: none are loaded yet, so nothing is known. */
  readonly rules: (Pick<DeclaredDomain, 'levels'> & { readonly ruleSet: RuleSet }) | undefined;
  readonly modes: GlobalModes;
  readonly control: Replica;
}

const UNKNOWN: RecordEffect = { state: 'in_force', changes: [], omitted: 0, warnings: [] };

/** Beside others that have an effect, these need nobody's attention: a record may concern some rules of those that it selects. */
const EXPECTED: readonly WarningCode[] = ['unknown_limit', 'nothing_to_replace', 'no_change'];

/** The effect of a record that is written now. One that is ahead of its domain is meant so. */
export function effectOfWrite(record: ControlRecord, input: EffectInput): RecordEffect {
  const { control, rules } = input;
  if (rules?.ruleSet.domains.has(toByteString(record.domain)) !== true) return UNKNOWN;
  return effectOf(record, { ...input, before: control, after: withRecord(control, { record }) });
}

/** The effect of a record of the replica. */
export function effectOfStored({ record, version }: StoredRecord, input: EffectInput): RecordEffect {
  const { control, rules } = input;
  const missing = missingPlan(record, rules);
  if (missing !== undefined) return withWarnings(UNKNOWN, [missing]);
  return effectOf(record, { ...input, before: withoutRecord(control, keyOf(record)), after: withRecord(control, { record, version }) });
}

/** One that was written ahead of its configuration has no effect yet. */
function missingPlan(record: ControlRecord, rules: EffectInput['rules']): Reason | undefined {
  if ((record.kind !== 'tenant' && record.kind !== 'plan') || record.plan === undefined) return undefined;
  const domain = rules?.ruleSet.domains.get(toByteString(record.domain));
  if (domain === undefined || domain.plans?.has(toByteString(record.plan)) === true) return undefined;
  const what = record.kind === 'tenant' ? 'the tenant has the default plan until it does' : 'no tenant has it';
  return { code: 'unknown_plan', message: `the configuration has no plan ${JSON.stringify(record.plan)}; ${what}` };
}

/** The changes that the end of a record makes. */
export function changesOfDelete(record: ControlRecord, input: EffectInput): Pick<RecordEffect, 'changes' | 'omitted'> {
  const { control } = input;
  const examined = examine(record, { ...input, after: control });
  if (examined === undefined) return UNKNOWN;
  return changesOf(examined, { before: control, after: withoutRecord(control, keyOf(record)) });
}

interface Views extends EffectInput {
  readonly before: MatchControl;
  readonly after: MatchControl;
}

function effectOf(record: ControlRecord, input: Views): RecordEffect {
  if (input.rules === undefined) return UNKNOWN;
  const examined = examine(record, input);
  if (examined === undefined)
    return withWarnings(UNKNOWN, [
      { code: 'unknown_domain', message: `the configuration in force has no domain ${JSON.stringify(record.domain)}` },
    ]);
  const shown = { ...UNKNOWN, ...changesOf(examined, input) };
  const { reason, probes } = examined;
  if (reason !== undefined) return withWarnings(shown, [reason], { isPartial: isPartOfBlock(record, reason) });
  const reasons = probes.flatMap((each) => each.reason ?? []);
  const isPartial = probes.some((each) => each.reason === undefined || each.reason.code === 'unknown_parent');
  const isMinor = ({ code }: Reason) => EXPECTED.includes(code);
  const isAttended = record.kind === 'plan' || (!isPartial && reasons.every(isMinor));
  const attended = isAttended ? reasons : reasons.filter((each) => !isMinor(each));
  const same = attended.filter(({ code }) => code === 'no_change');
  return withWarnings(shown, same.length > 0 && record.kind !== 'plan' ? same : attended, { isPartial });
}

/** A block denies requests that no rule matches. */
function isPartOfBlock({ kind }: ControlRecord, { code }: Reason): boolean {
  return kind === 'block' && code !== 'shadow_mode';
}

interface Context extends Examined {
  readonly input: Omit<ExamineInput<unknown>, 'record'>;
}

/** Undefined: the configuration has no domain of that name. */
function examine(record: ControlRecord, { rules, modes, control, after }: EffectInput & Pick<Views, 'after'>): Context | undefined {
  const domain = rules?.ruleSet.domains.get(toByteString(record.domain));
  if (rules === undefined || domain === undefined) return undefined;
  const input = {
    ruleSet: rules.ruleSet,
    domain: record.domain,
    modes,
    declared: { domain, levels: rules.levels },
    after,
    without: withoutRecord(control, keyOf(record)),
  };
  return { ...examinedOf(record, input), input };
}

function examinedOf(record: ControlRecord, input: Context['input']): Examined {
  if (record.kind === 'tenant') return examineTenant({ ...input, record });
  if (record.kind === 'plan') return examinePlan({ ...input, record });
  return record.kind === 'rollout' ? examineRollout({ ...input, record }) : examineSelector({ ...input, record });
}

function changesOf({ probes, input }: Context, { before, after }: Pick<Views, 'before' | 'after'>) {
  const seen = new Set<string>();
  const changes = probes
    .flatMap(({ probe }) => changesBetween(probe, matchProbe(probe, before, input), matchProbe(probe, after, input)))
    .filter((change) => {
      const text = JSON.stringify(change);
      return !seen.has(text) && seen.add(text);
    });
  return { changes: changes.slice(0, CHANGES_MAX), omitted: Math.max(0, changes.length - CHANGES_MAX) };
}

function withWarnings(
  effect: RecordEffect,
  reasons: readonly Reason[],
  { isPartial = false }: { readonly isPartial?: boolean } = {},
): RecordEffect {
  if (reasons.length === 0) return effect;
  const messages = new Map(reasons.map((reason) => [reason.message, reason]));
  const warnings = [...messages.values()]
    .slice(0, WARNINGS_MAX)
    .map(({ code, message }): Warning => ({ code, effect: isPartial ? 'partial' : 'none', message }));
  return { ...effect, state: isPartial ? 'partial' : 'none', warnings };
}
