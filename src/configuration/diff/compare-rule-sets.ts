/** Compares two rule sets by meaning: rule by rule, whatever the order, the files and the form in which they are written. */

import { toText } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { Plan } from '../../domain/rule/plan';
import type { Admission } from '../../domain/descriptor/admission';
import { fairText } from '../../domain/rule/fair/fair';
import { reserveText } from '../../domain/rule/reserve/reserve';
import type { Rule } from '../../domain/rule/rule';
import type { Domain, RuleSet } from '../../domain/rule/rule-set';
import { ruleName, rulesOf } from '../../domain/rule/tree';
import { together, type Change, type ConfigurationDiff, type Direction, type RuleDiff } from './change';
import { compareLimitLists, limitText } from './compare-limits';

export function compareRuleSets(from: RuleSet, to: RuleSet): Omit<ConfigurationDiff, 'unreachable'> {
  const rules = [...new Set([...from.domains.keys(), ...to.domains.keys()])]
    .sort((one, other) => (one < other ? -1 : 1))
    .flatMap((name) => compareDomains(name, from.domains.get(name), to.domains.get(name)));
  return { direction: together(rules.map(({ direction }) => direction)), rules };
}

function compareDomains(name: ByteString, from: Domain | undefined, to: Domain | undefined): readonly RuleDiff[] {
  const domain = toText(name);
  const [before, after] = [placedRules(from), placedRules(to)];
  const terms = from === undefined || to === undefined ? [] : termsOfDomain(from, to);
  const rules: RuleDiff[] = terms.length === 0 ? [] : [diffOf({ domain, rule: '', status: 'changed', changes: terms })];
  for (const [id, rule] of before) {
    const next = after.get(id);
    const place = ruleName(name, rule.path);
    if (next === undefined) rules.push(diffOf({ domain, rule: place, status: 'gone', changes: goneChanges(rule, after) }));
    else {
      const changes = compareRules(rule, next);
      if (changes.length > 0) rules.push(diffOf({ domain, rule: place, status: 'changed', changes }));
    }
  }
  for (const [id, rule] of after) {
    if (before.has(id)) continue;
    const place = ruleName(name, rule.path);
    rules.push(diffOf({ domain, rule: place, status: 'new', changes: newChanges(rule, before) }));
  }
  rules.push(...comparePlans(domain, from?.plans, to?.plans));
  return rules;
}

function diffOf(diff: Omit<RuleDiff, 'direction'>): RuleDiff {
  return { ...diff, direction: together(diff.changes.map(({ direction }) => direction)) };
}

/** By what a request must have to match, which the path alone does not say. */
function placedRules(domain: Domain | undefined): ReadonlyMap<string, Rule> {
  const rules = new Map<string, Rule>();
  if (domain === undefined) return rules;
  for (const { rule, isExact } of rulesOf(domain.root)) {
    let id = JSON.stringify([rule.path, isExact]);
    // Two rules of one path are rare: `a_b` with a value `c`, and `a` with `b_c`.
    while (rules.has(id)) id += '+';
    rules.set(id, rule);
  }
  return rules;
}

function termsOfDomain(from: Domain, to: Domain): readonly Change[] {
  const changes: Change[] = [];
  if (from.hashTag !== to.hashTag)
    changes.push({ what: 'hash_tag', from: tagText(from), to: tagText(to), direction: 'none', startsEmpty: true });
  changes.push(...compareAdmission(from.admission, to.admission));
  return changes;
}

/** More required keys are stricter, fewer are looser. */
function compareAdmission(from: Admission = NO_ADMISSION, to: Admission = NO_ADMISSION): readonly Change[] {
  const changes: Change[] = [];
  const isMore = to.required.some((key) => !from.required.includes(key));
  const isLess = from.required.some((key) => !to.required.includes(key));
  if (isMore || isLess) {
    const direction = isMore && isLess ? 'both' : isMore ? 'stricter' : 'looser';
    changes.push({ what: 'require', from: keysText(from), to: keysText(to), direction, startsEmpty: false });
  }
  if (from.deniesUnmatched !== to.deniesUnmatched) {
    const textOf = ({ deniesUnmatched }: Admission) => (deniesUnmatched ? 'deny' : 'allow');
    const direction = to.deniesUnmatched ? 'stricter' : 'looser';
    changes.push({ what: 'unmatched', from: textOf(from), to: textOf(to), direction, startsEmpty: false });
  }
  return changes;
}

const NO_ADMISSION: Admission = { required: [], deniesUnmatched: false };

function keysText({ required }: Admission): string {
  return required.length === 0 ? 'nothing' : required.map(toText).join(', ');
}

function tagText({ hashTag }: Domain): string {
  return hashTag === undefined ? 'none' : toText(hashTag);
}

/** Whether another rule may take over the requests of a rule, or lose them to it: one with the same keys, on every level. */
function mayMatchInstead(rule: Rule, others: ReadonlyMap<string, Rule>): boolean {
  for (const other of others.values()) if (other.path.length === rule.path.length && other !== rule && isAlike(other, rule)) return true;
  return false;
}

/** Paths are `key_value` or `key`: one of them begins with the other, or both may be patterns of one key. */
function isAlike({ path: one }: Rule, { path: other }: Rule): boolean {
  return one.every((name, level) => {
    const twin = other[level] ?? '';
    const [key, twinKey] = [keyOf(name), keyOf(twin)];
    return key === twinKey || name.startsWith(twin) || twin.startsWith(name) || name.includes('*') || twin.includes('*');
  });
}

function keyOf(name: string): string {
  return name.slice(0, !name.includes('_') ? undefined : name.indexOf('_'));
}

/** Without the rule its requests are not limited, unless another one takes them. */
function goneChanges(rule: Rule, after: ReadonlyMap<string, Rule>): readonly Change[] {
  const direction = directionOfLoss(rule, mayMatchInstead(rule, after));
  return textsOf(rule).map((from) => ({ what: rule.unlimited ? 'rule' : 'limit', from, direction, startsEmpty: false }));
}

function newChanges(rule: Rule, before: ReadonlyMap<string, Rule>): readonly Change[] {
  const lost = directionOfLoss(rule, mayMatchInstead(rule, before));
  const direction = lost === 'looser' ? 'stricter' : lost;
  return textsOf(rule).map((to) => ({ what: rule.unlimited ? 'rule' : 'limit', to, direction, startsEmpty: false }));
}

function directionOfLoss(rule: Rule, isTaken: boolean): Direction {
  if (isTaken) return 'both';
  return rule.unlimited || rule.shadowMode ? 'none' : 'looser';
}

function textsOf(rule: Limited): readonly string[] {
  return rule.unlimited ? ['unlimited'] : rule.limits.map(limitText);
}

interface Trait {
  readonly what: string;
  readonly of: (rule: Rule) => string;
  readonly direction: (to: Rule) => Direction;
  readonly startsEmpty?: boolean;
}

const TRAITS_OF_RULES: readonly Trait[] = [
  { what: 'shadow_mode', of: ({ shadowMode }) => String(shadowMode), direction: ({ shadowMode }) => (shadowMode ? 'looser' : 'stricter') },
  // A quota denies only together with all others of the request.
  { what: 'quota_mode', of: ({ quotaMode }) => String(quotaMode), direction: ({ quotaMode }) => (quotaMode ? 'looser' : 'stricter') },
  { what: 'replaces', of: ({ replaces }) => list([...replaces].sort()), direction: () => 'both' },
  {
    what: 'share_threshold',
    of: ({ shareThreshold }) => list(shareThreshold.map((shared) => shared?.text ?? '-')),
    direction: () => 'both',
    startsEmpty: true,
  },
  { what: 'in_flight id', of: ({ inFlight }) => inFlight?.id?.key ?? 'none', direction: () => 'both' },
  { what: 'reserve', of: ({ reserve }) => (reserve === undefined ? 'none' : reserveText(reserve)), direction: () => 'both' },
  { what: 'fair', of: ({ fair }) => (fair === undefined ? 'none' : fairText(fair)), direction: () => 'both' },
  {
    what: 'penalty',
    of: ({ penalty }) =>
      penalty === undefined ? 'none' : `${penalty.denials} denials within ${penalty.withinS} s block for ${penalty.blockS} s`,
    direction: () => 'both',
  },
  {
    what: 'tenant',
    of: ({ tenant }) => (tenant === undefined ? 'none' : `entry ${tenant.level + 1}, default plan ${toText(tenant.defaultPlan.name)}`),
    direction: () => 'both',
  },
  { what: 'detailed_metric', of: ({ detailedMetric }) => String(detailedMetric), direction: () => 'none' },
  { what: 'value_to_metric', of: ({ valueToMetric }) => list(valueToMetric.map(String)), direction: () => 'none' },
  { what: 'metadata', of: ({ metadata }) => (metadata === undefined ? 'none' : JSON.stringify(metadata)), direction: () => 'none' },
];

function list(items: readonly string[]): string {
  return items.length === 0 ? 'none' : items.join(', ');
}

function compareRules(from: Rule, to: Rule): readonly Change[] {
  const changes: Change[] = [];
  // The limits of a rule of tenants are those of its plans, which have lines of their own.
  if (from.tenant === undefined || to.tenant === undefined) changes.push(...compareLimited(from, to));
  for (const { what, of, direction, startsEmpty = false } of TRAITS_OF_RULES) {
    const [before, after] = [of(from), of(to)];
    if (before !== after) changes.push({ what, from: before, to: after, direction: direction(to), startsEmpty });
  }
  // Nothing of a rule that only counts, before and after, is denied.
  return from.shadowMode && to.shadowMode ? changes.map((change) => ({ ...change, direction: 'none' })) : changes;
}

type Limited = Pick<Rule, 'limits' | 'unlimited'>;

function compareLimited(from: Limited, to: Limited): readonly Change[] {
  if (from.unlimited !== to.unlimited) {
    const text = ({ limits, unlimited }: Limited) => (unlimited ? 'unlimited' : limits.map(limitText).join('; '));
    return [{ what: 'limit', from: text(from), to: text(to), direction: to.unlimited ? 'looser' : 'stricter', startsEmpty: false }];
  }
  return compareLimitLists(from.limits, to.limits);
}

type Plans = ReadonlyMap<ByteString, Plan> | undefined;

/** A tenant of a plan that is gone gets the default plan. */
function comparePlans(domain: string, from: Plans = new Map(), to: Plans = new Map()): readonly RuleDiff[] {
  const names = [...new Set([...from.keys(), ...to.keys()])].sort((one, other) => (one < other ? -1 : 1));
  return names.flatMap((name) => {
    const [before, after] = [from.get(name), to.get(name)];
    const rule = `plan ${toText(name)}`;
    if (before === undefined || after === undefined) {
      const plan = before ?? after;
      const texts = plan === undefined ? [] : [...textsOf(plan), ...poolTexts(plan)];
      const changes = texts.map((text): Change => ({
        what: 'limit',
        ...(before === undefined ? { to: text } : { from: text }),
        // A new plan changes nothing until a tenant has it.
        direction: before === undefined ? 'none' : 'both',
        startsEmpty: false,
      }));
      return [diffOf({ domain, rule, status: before === undefined ? 'new' : 'gone', changes })];
    }
    const changes: Change[] = [...compareLimited(before, after)];
    const [replaced, replaces] = [list([...before.replaces].sort()), list([...after.replaces].sort())];
    if (replaced !== replaces) changes.push({ what: 'replaces', from: replaced, to: replaces, direction: 'both', startsEmpty: false });
    changes.push(...compareLimitLists(before.pool ?? [], after.pool ?? []).map((change) => ({ ...change, what: `pool ${change.what}` })));
    const [members, now] = [membersText(before), membersText(after)];
    if (members !== now) changes.push({ what: 'members', from: members, to: now, direction: 'both', startsEmpty: false });
    return changes.length === 0 ? [] : [diffOf({ domain, rule, status: 'changed', changes })];
  });
}

function poolTexts({ pool = [] }: Plan): readonly string[] {
  return pool.map((limit) => `pool ${limitText(limit)}`);
}

function membersText({ members }: Plan): string {
  return members === undefined ? 'none' : `plan ${toText(members)}`;
}
