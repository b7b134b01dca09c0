/** Describes every rule of a rule set as a line of text, for `/rlconfig`, and why a newer configuration was rejected. */

import { toText } from '../../domain/descriptor/byte-string';
import { ruleWith } from '../../domain/rule/choose-plan';
import { rulesOf } from '../../domain/rule/tree';
import { atOnce, runInSlices, Pace, SHORT_SLICE_MS } from '../../lib/slices';
import type { Field } from '../compile/field-types/field';
import { DESCRIPTOR } from '../compile/fields/descriptor';
import { FILE } from '../compile/fields/file';
import { IN_FLIGHT } from '../compile/fields/in-flight';
import { RATE_LIMIT } from '../compile/fields/rate-limit';
import type { InFlight } from '../../domain/rule/in-flight';
import type { Limit } from '../../domain/rule/limit';
import type { Domain, RuleSet } from '../../domain/rule/rule-set';
import type { Rule } from '../../domain/rule/rule';
import { sortInSteps } from '../../lib/sort-in-steps';
import { formatProblems } from '../problems/config-error';
import type { RulesInForce } from './rules-in-force';

/** Lines between two checks of the clock. */
const LINES_AT_ONCE = 32;

/** The rules in force, followed by comments with the reason why the last configuration was rejected, if it was. Runs in slices. */
export function describeConfig(rules: Pick<RulesInForce, 'ruleSet' | 'error'>): Promise<string[]> {
  return runInSlices(describeConfigInSteps(rules), new Pace(SHORT_SLICE_MS));
}

function* describeConfigInSteps({ ruleSet, error }: Pick<RulesInForce, 'ruleSet' | 'error'>): Generator<undefined, string[]> {
  const lines = ruleSet === undefined ? [] : yield* describeInSteps(ruleSet);
  if (error === undefined) return ruleSet === undefined ? ['# config: none yet'] : lines;
  const what = ruleSet === undefined ? 'none yet' : `last good, generation ${ruleSet.generation}`;
  lines.push(`# config: ${what}; the last configuration loaded was rejected:`);
  for (const problem of formatProblems(error.problems, error.omitted)) lines.push(`# ${problem}`);
  return lines;
}

/**
 * Sorted lines: the reference's fields first, then Weir's own, as
 * `dom.key_value.key2: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false, algorithm: fixed_window`.
 */
export function describeRules(ruleSet: RuleSet): string[] {
  return atOnce(describeInSteps(ruleSet));
}

function* describeInSteps(ruleSet: RuleSet): Generator<undefined, string[]> {
  const lines: string[] = [];
  let rules = 0;
  for (const domain of ruleSet.domains.values()) {
    const name = toText(domain.name);
    const shown = shownOfDomain(domain);
    for (const { rule } of rulesOf(domain.root)) {
      // Control characters are replaced, so that each limit is one line, and only Weir writes lines that begin with #.
      for (const line of describePlans(rule, { name, shown })) lines.push(line.replace(/\p{Cc}/gu, '?'));
      rules += 1;
      if (rules % LINES_AT_ONCE === 0) yield;
    }
  }
  return yield* sortInSteps(lines, (one, other) => one < other);
}

const { shadowMode: SHADOW, quotaMode: QUOTA } = DESCRIPTOR.fields;
const { unlimited: UNLIMITED, requestsPerUnit: REQUESTS, unit: UNIT, algorithm: ALGORITHM, name: NAME } = RATE_LIMIT.fields;

const shownOfDomain = shownBy<Domain>(FILE.fields);
const shownOfRule = shownBy<Rule>(DESCRIPTOR.fields);
const shownOfLimit = shownBy<Limit>(RATE_LIMIT.fields);
const shownOfInFlight = shownBy<InFlight>(IN_FLIGHT.fields);

/** The values of the fields of a level, in the order of its table. */
function shownBy<Made>(fields: Readonly<Record<string, Field<unknown, Made>>>): (made: Made) => string[] {
  const shown = Object.values(fields).filter((field) => field.shown !== undefined);
  return (made) => {
    const parts: string[] = [];
    for (const field of shown) {
      const part = field.shown?.(made);
      if (part !== undefined) parts.push(part);
    }
    return parts;
  };
}

interface DescribedDomain {
  readonly name: string;
  readonly shown: readonly string[];
}

/** The rule of tenants has lines for each plan. */
function describePlans(rule: Rule, domain: DescribedDomain): string[] {
  if (rule.tenant === undefined) return describeRule(rule, domain);
  const place = [domain.name, ...rule.path].join('.');
  return Array.from(rule.tenant.plans.values()).flatMap((plan) => {
    const shown = [`plan: ${toText(plan.name)}`, ...domain.shown];
    const pool = (plan.pool ?? []).map((limit) =>
      [`${place}: ${describeLimit(limit)}`, 'pool: true', ...describeCounting(limit), ...shown].join(', '),
    );
    return [...describeRule(ruleWith(rule, plan), { name: domain.name, shown }), ...pool];
  });
}

/** `domain`: its name, and its fields. */
function describeRule(rule: Rule, domain: DescribedDomain): string[] {
  const place = [domain.name, ...rule.path].join('.');
  const modes = [`${SHADOW.name}: ${rule.shadowMode}`, `${QUOTA.name}: ${rule.quotaMode}`];
  if (rule.unlimited) return [`${place}: ${[UNLIMITED.name, ...modes, ...(rule.tenant ? domain.shown : [])].join(', ')}`];
  const shared = [...domain.shown, ...shownOfRule(rule)];
  return rule.limits.map((limit) => {
    const own = limit === rule.inFlight?.limit ? shownOfInFlight(rule.inFlight) : [];
    return `${place}: ${[describeLimit(limit), ...modes, ...describeCounting(limit), ...own, ...shared].join(', ')}`;
  });
}

function describeLimit({ unit, requestsPerUnit }: Limit): string {
  return `${UNIT.name}=${unit.toUpperCase()} ${REQUESTS.name}=${requestsPerUnit}`;
}

/** The name is last, because it may be any text. The capacity follows from several fields. */
function describeCounting(limit: Limit): string[] {
  const { algorithm, capacity, requestsPerUnit, name } = limit;
  const parts = [`${ALGORITHM.name}: ${algorithm}`];
  if (capacity !== requestsPerUnit) parts.push(`capacity: ${capacity}`);
  parts.push(...shownOfLimit(limit));
  if (name !== '') parts.push(`${NAME.name}: ${name}`);
  return parts;
}
