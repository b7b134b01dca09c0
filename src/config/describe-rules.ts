/** Every rule of a rule set as a line of text, for `/rlconfig`, and why what came after it is not in force. */

import { toText } from '../descriptor/byte-string';
import type { DescriptorLevel, DescriptorNode } from '../descriptor/tree';
import { overdraftMaxOf, type Limit } from '../rule/limit';
import type { Domain, RuleSet } from '../rule/rule-set';
import type { Rule } from '../rule/rule';
import { formatProblems } from './config-error';
import type { RulesInForce } from './rules-in-force';

/** The rules in force; then, if something else was to be, comments that say why it is not. */
export function describeConfig({ ruleSet, error }: Pick<RulesInForce, 'ruleSet' | 'error'>): string[] {
  const lines = ruleSet === undefined ? [] : describeRules(ruleSet);
  if (error === undefined) return ruleSet === undefined ? ['# config: none yet'] : lines;
  const what = ruleSet === undefined ? 'none yet' : `last good, generation ${ruleSet.generation}`;
  const problems = formatProblems(error.problems, error.omitted);
  return [...lines, `# config: ${what}; what was loaded last is refused:`, ...problems.map((problem) => `# ${problem}`)];
}

/**
 * Sorted lines: the reference's fields first, then Weir's own, as
 * `dom.key_value.key2: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false, algorithm: fixed_window`.
 */
export function describeRules(ruleSet: RuleSet): string[] {
  const lines: string[] = [];
  for (const domain of ruleSet.domains.values()) {
    for (const rule of rulesOf(domain.root)) lines.push(...describeRule(domain, rule));
  }
  // A line break in a key or a value is none here: each limit is one line, and what begins with # is said by Weir.
  return lines.map((line) => line.replace(/\p{Cc}/gu, '?')).sort();
}

function* rulesOf(level: DescriptorLevel): Generator<Rule> {
  for (const node of nodesOf(level)) {
    if (node.rule !== undefined) yield node.rule;
    yield* rulesOf(node.children);
  }
}

function* nodesOf(level: DescriptorLevel): Generator<DescriptorNode> {
  for (const values of level.byValue.values()) yield* values.values();
  for (const { node } of level.wildcards.nodes) yield node;
  yield* level.byKey.values();
}

function describeRule({ name, hashTag }: Domain, rule: Rule): string[] {
  const place = [toText(name), ...rule.path].join('.');
  const modes = `shadow_mode: ${rule.shadowMode}, quota_mode: ${rule.quotaMode}`;
  if (rule.unlimited) return [`${place}: unlimited, ${modes}`];
  const spread = hashTag === undefined ? '' : `, hash_tag: ${toText(hashTag)}`;
  const shared = rule.shareThreshold.length === 0 ? '' : ', share_threshold: true';
  const id = rule.inFlight?.id === undefined ? '' : `, id: ${rule.inFlight.id.key}`;
  return rule.limits.map((limit) => `${place}: ${describeLimit(limit)}, ${modes}, ${describeCounting(limit)}${limit === rule.inFlight?.limit ? id : ''}${spread}${shared}`);
}

function describeLimit({ unit, requestsPerUnit }: Limit): string {
  return `unit=${unit.toUpperCase()} requests_per_unit=${requestsPerUnit}`;
}

function describeCounting(limit: Limit): string {
  const { algorithm, capacity, requestsPerUnit, unitMultiplier, calendar, failureMode, responseHeaders, reservations, name } = limit;
  const overdraftMax = overdraftMaxOf(limit);
  const parts = [`algorithm: ${algorithm}`];
  if (capacity !== requestsPerUnit) parts.push(`capacity: ${capacity}`);
  if (unitMultiplier !== 1) parts.push(`unit_multiplier: ${unitMultiplier}`);
  if (calendar !== undefined) parts.push(`calendar: ${calendar.timeZone}`);
  if (failureMode !== undefined) parts.push(`failure_mode: ${failureMode}`);
  if (responseHeaders !== undefined) parts.push(`response_headers: ${responseHeaders}`);
  if (overdraftMax !== undefined) parts.push(`overdraft_max: ${overdraftMax}`);
  if (reservations !== undefined) parts.push(`reservations: max_share ${reservations.maxShare} on_lapse ${reservations.onLapse}`);
  if (name !== '') parts.push(`name: ${name}`);
  return parts.join(', ');
}
