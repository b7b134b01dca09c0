/** The outcome of a descriptor: its limits, or that it is denied or unlimited; and the difference between two outcomes. */

import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { Limit } from '../../../domain/rule/limit';
import { matchRequest, type GlobalModes, type Match, type MatchControl } from '../../../domain/rule/match';
import type { RuleSet } from '../../../domain/rule/rule-set';
import type { Probe } from './probes';

/** `candidate`: a limit that is only tried. `none`: nothing is limited. */
export const TERM_KINDS = ['limit', 'candidate', 'unlimited', 'denied', 'none'] as const;

export interface Terms {
  readonly kind: (typeof TERM_KINDS)[number];
  /** Only of limits and candidates. An empty name: it has none. */
  readonly name?: string;
  readonly requestsPerUnit?: number;
  readonly unit?: string;
  readonly unitMultiplier?: number;
}

/** A change for the descriptors of a rule. */
export interface TermChange {
  /** The path of the rule, joined with dots. */
  readonly rule: string;
  /** Only for tenants with this plan. */
  readonly plan?: string;
  readonly from: Terms;
  readonly to: Terms;
}

export interface MatchProbeInput {
  readonly ruleSet: RuleSet;
  readonly domain: string;
  readonly modes: GlobalModes;
}

/** Uses the code that decides, so that no answer can disagree with it. */
export function matchProbe({ entries, rule, plan }: Probe, control: MatchControl, { ruleSet, domain, modes }: MatchProbeInput): Match {
  const inDomain = toByteString(domain);
  const tenant = rule.tenant === undefined ? undefined : entries[rule.tenant.level]?.value;
  const assumed: MatchControl =
    plan === undefined
      ? control
      : {
          select: (of, selected) => control.select(of, selected),
          parentOf: (of, name) => control.parentOf(of, name),
          planLimits: (of, name) => control.planLimits(of, name),
          stageOf: (of, name) => control.stageOf(of, name),
          planOf: (of, name) => (of === inDomain && name === tenant ? plan.name : control.planOf(of, name)),
        };
  const request = { domain: inDomain, descriptors: [{ entries }], hits: 1 };
  const [match] = matchRequest({ ruleSet, request, modes, control: assumed, admitsAll: true }).matches;
  if (match === undefined) throw new Error('a descriptor without a match');
  return match;
}

export function pathOf({ rule }: Probe): string {
  return rule.path.join('.');
}

/** The differences, limit by limit. */
export function changesBetween(probe: Probe, before: Match, after: Match): readonly TermChange[] {
  const of = { rule: pathOf(probe), ...(probe.plan && { plan: toText(probe.plan.name) }) };
  const [old, now] = [termsOf(before), termsOf(after)];
  const changes: TermChange[] = [];
  for (let place = 0; place < Math.max(old.length, now.length); place += 1) {
    const [from = NOTHING, to = NOTHING] = [old[place]?.own, now[place]?.own];
    if (!isSame(from, to)) changes.push({ ...of, from, to });
    const [tried = NOTHING, tries = NOTHING] = [old[place]?.candidate, now[place]?.candidate];
    if (!isSame(tried, tries)) changes.push({ ...of, from: tried, to: tries });
  }
  return changes;
}

interface LimitTerms {
  readonly own: Terms;
  readonly candidate?: Terms;
}

const NOTHING: Terms = { kind: 'none' };

function termsOf({ block, unlimited, limits }: Match): readonly LimitTerms[] {
  if (block !== undefined) return [{ own: { kind: 'denied' } }];
  if (unlimited) return [{ own: { kind: 'unlimited' } }];
  return limits.map((limit) => ({
    own: limitTerms('limit', limit),
    ...(limit.candidate && { candidate: limitTerms('candidate', limit.candidate) }),
  }));
}

export function limitTerms(kind: 'limit' | 'candidate', { name, requestsPerUnit, unit, unitMultiplier }: Limit): Terms {
  return { kind, name, requestsPerUnit, unit, unitMultiplier };
}

function isSame(one: Terms, other: Terms): boolean {
  return (
    one.kind === other.kind &&
    one.name === other.name &&
    one.requestsPerUnit === other.requestsPerUnit &&
    one.unit === other.unit &&
    one.unitMultiplier === other.unitMultiplier
  );
}
