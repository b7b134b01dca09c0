/** The effect of an override, a block or a pass. */

import { keyOf, type EntrySelector, type SelectorRecord } from '../../../state/control/control-record';
import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import { compileWildcard, matchesWildcard } from '../../../domain/descriptor/wildcard';
import { didYouMean } from '../../../lib/text/did-you-mean';
import type { SelectedRecord } from '../../../domain/rule/control-view';
import type { Limit } from '../../../domain/rule/limit';
import type { Match, MatchControl } from '../../../domain/rule/match';
import { changesBetween, matchProbe, pathOf, type MatchProbeInput } from './outcome';
import { overrideReason } from './override-reason';
import { keysOf, selectedProbes, type DeclaredDomain, type Probe } from './probes';
import type { Reason } from './warning';
import { US_PER_MS } from '../../../lib/time-units';

export interface Examined {
  /** Each descriptor that the record concerns, and why the record has no effect on it; undefined: it has. */
  readonly probes: readonly { readonly probe: Probe; readonly reason: Reason | undefined }[];
  /** Why it has none at all, whatever the probes are. */
  readonly reason?: Reason;
}

export interface ExamineInput<Kind> extends MatchProbeInput {
  readonly record: Kind;
  readonly declared: DeclaredDomain;
  /** The control data with the record, and without it. */
  readonly after: MatchControl;
  readonly without: MatchControl;
}

export function examineSelector(input: ExamineInput<SelectorRecord>): Examined {
  const { record, declared, modes } = input;
  if (record.kind === 'block' && modes.shadow)
    return { probes: [], reason: { code: 'shadow_mode', message: 'SHADOW_MODE is on, so the block denies nothing; turn it off' } };
  const { found, isComplete } = selectedProbes(declared, record.entries);
  if (found.length > 0) return { probes: found.map((probe) => ({ probe, reason: reasonOf(probe, input) })) };
  if (!isComplete) return { probes: [] };
  return { probes: [], reason: unmatched(record, declared) };
}

/** A block denies requests that no rule matches too, if Envoy sends such descriptors. */
function unmatched({ kind, entries }: SelectorRecord, declared: DeclaredDomain): Reason {
  const so = kind === 'block' ? 'so the block denies only requests that bring such a descriptor' : `so the ${kind} changes nothing`;
  const keys = keysOf(declared);
  const isKnown = (key: string) => [...keys].some((each) => matchesWildcard(compileWildcard(toByteString(each)), toByteString(key)));
  const unknown = entries.find(({ key }) => !keys.has(key) && !isKnown(key));
  if (unknown === undefined)
    return {
      code: 'no_rule',
      message: `no rule of the configuration matches a descriptor with ${shown(entries)}, ${so}; correct the entries`,
    };
  const guess = didYouMean(unknown.key, [...keys]);
  const advice = guess === undefined ? 'correct the key' : `did you mean ${JSON.stringify(guess)}?`;
  return {
    code: 'unknown_key',
    message: `no descriptor of the configuration has the key ${JSON.stringify(unknown.key)}, ${so}; ${advice}`,
  };
}

function shown(entries: readonly EntrySelector[]): string {
  return entries.map(({ key, value }) => (value === undefined ? `any ${key}` : `${key}=${value}`)).join(', ');
}

function reasonOf(probe: Probe, input: ExamineInput<SelectorRecord>): Reason | undefined {
  const { record } = input;
  const after = matchProbe(probe, input.after, input);
  const [decides] = after.control ?? [];
  const isOwn = decides?.kind === record.kind && decides.id === keyOf(record).name;
  const winner = hiding(decides, record.kind);
  if (!isOwn && winner !== undefined) return winner;
  if (record.kind === 'override') return ofOverride(probe, after, { ...input, record });
  if (!isOwn) return { code: 'no_change', message: `the ${record.kind} ${decides?.id ?? ''} selects the same requests, and ends later` };
  const without = matchProbe(probe, input.without, input);
  if (record.kind === 'pass' && without.unlimited && without.block === undefined && without.control === undefined)
    return { code: 'no_change', message: `the rule ${pathOf(probe)} is unlimited already` };
  return undefined;
}

/** The reason, if a block or a pass decides and wins over records of the kind. */
export function hiding(decides: SelectedRecord | undefined, kind: string): Reason | undefined {
  if (decides?.kind === 'block' && kind !== 'block')
    return {
      code: 'hidden_by_block',
      message: `the block ${decides.id} denies these requests${untilText(decides)}, and a block wins; end the block first`,
    };
  if (decides?.kind === 'pass' && kind !== 'pass')
    return {
      code: 'hidden_by_pass',
      message: `the pass ${decides.id} makes these descriptors unlimited${untilText(decides)}; end the pass first`,
    };
  return undefined;
}

function untilText({ untilUs }: SelectedRecord): string {
  return untilUs === undefined ? '' : ` until ${new Date(untilUs / US_PER_MS).toISOString().replace('.000Z', 'Z')}`;
}

function ofOverride(probe: Probe, after: Match, input: ExamineInput<Extract<SelectorRecord, { kind: 'override' }>>): Reason | undefined {
  const { record, without } = input;
  const base = matchProbe(probe, withoutSelectors(without), input);
  const overrides = input.after.select(toByteString(input.domain), probe.entries)?.overrides ?? [];
  const reason = overrideReason({ record, limits: replaceableBy(record, base, probe), overrides, owner: ownerOf(probe, base) });
  if (reason !== undefined) return reason;
  if (changesBetween(probe, matchProbe(probe, without, input), after).length > 0) return undefined;
  return { code: 'no_change', message: `${ownerOf(probe, base)} has this limit already` };
}

/** An override replaces own limits of a tenant, or by its name one of its own pool. */
function replaceableBy(
  { limit: { name }, candidate }: Extract<SelectorRecord, { kind: 'override' }>,
  { limits }: Match,
  { entries }: Probe,
): readonly Limit[] {
  const pool = limits.filter((each) => each.pool !== undefined && entries[each.pool.level]?.value === each.pool.tenant);
  const isOfPool = candidate !== true && name !== undefined && pool.some((each) => each.name === name);
  return isOfPool ? pool : limits.filter((each) => each.pool === undefined);
}

function withoutSelectors(control: MatchControl): MatchControl {
  return {
    select: () => undefined,
    planOf: (domain, tenant) => control.planOf(domain, tenant),
    parentOf: (domain, tenant) => control.parentOf(domain, tenant),
    planLimits: (domain, plan) => control.planLimits(domain, plan),
    stageOf: (domain, name) => control.stageOf(domain, name),
  };
}

/** `the rule merchant`, `the plan enterprise`. */
function ownerOf(probe: Probe, { plan }: Match): string {
  return plan === undefined ? `the rule ${pathOf(probe)}` : `the plan ${toText(plan.plan.name)}`;
}
