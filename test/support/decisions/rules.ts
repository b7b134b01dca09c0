/** Short ways to write rules, trees and requests in tests. */

import type { Descriptor, Entry, RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import { NO_CHILDREN, type DescriptorLevel, type DescriptorNode } from '../../../src/domain/rule/tree';
import { WildcardIndex } from '../../../src/domain/descriptor/wildcard-index';
import { isLimitProblem, makeLimit, type Limit, type LimitSpec } from '../../../src/domain/rule/limit';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import type { Rule } from '../../../src/domain/rule/rule';

export function limitOf(spec: Partial<LimitSpec> = {}): Limit {
  const made = makeLimit({ requestsPerUnit: 10, unit: 'second', algorithm: 'token_bucket', ...spec });
  if (isLimitProblem(made)) throw new Error(`${made.field}: ${made.message}`);
  return made;
}

export function ruleOf(parts: Partial<Rule> = {}): Rule {
  return {
    path: ['test'],
    limits: [limitOf()],
    unlimited: false,
    name: '',
    replaces: [],
    shadowMode: false,
    quotaMode: false,
    detailedMetric: false,
    valueToMetric: [],
    shareThreshold: [],
    ...parts,
  };
}

/** A level with one node per `key` or `key=value`, each with this rule. */
export function levelOf(rules: Readonly<Record<string, Rule | null>>): DescriptorLevel {
  const byValue = new Map<string, Map<string, DescriptorNode>>();
  const byKey = new Map<string, DescriptorNode>();
  for (const [name, rule] of Object.entries(rules)) {
    const node: DescriptorNode = rule === null ? { children: NO_CHILDREN } : { rule, children: NO_CHILDREN };
    const [key = '', value] = name.split('=');
    if (value === undefined) byKey.set(key, node);
    else byValue.set(key, (byValue.get(key) ?? new Map<string, DescriptorNode>()).set(value, node));
  }
  return { byValue, wildcards: new WildcardIndex(), byKey };
}

export function ruleSetOf(root: DescriptorLevel): RuleSet {
  const domains = new Map([['d', { name: 'd', defaultAlgorithm: 'token_bucket' as const, calendarMonth: false, root }]]);
  return { generation: 1, domains, warnings: [] };
}

/** Entries of `key=value` texts. */
export function entriesOf(...texts: readonly string[]): Entry[] {
  return texts.map((text) => {
    const [key = '', value = ''] = text.split('=');
    return { key, value };
  });
}

export function requestOf(descriptors: readonly Descriptor[], parts: Partial<RateLimitRequest> = {}): RateLimitRequest {
  return { domain: 'd', descriptors, hits: 1, ...parts };
}
