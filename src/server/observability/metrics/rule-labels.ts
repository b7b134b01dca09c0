/** The labels of a rule in metrics: its domain, and its levels as envoyproxy/ratelimit names them. */

import { toText } from '../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import { STAT_CHARS_MAX, statisticName } from './statistic-name';

/** Levels of a rule with a label of their own; deeper levels share the last label. */
const KEY_LABELS = ['key1', 'key2', 'key3', 'key4', 'key5', 'key6', 'key7', 'key8'] as const;

export type RuleLabel = 'domain' | (typeof KEY_LABELS)[number];

export const RULE_LABELS: readonly RuleLabel[] = ['domain', ...KEY_LABELS];

export type RuleLabels = Partial<Record<RuleLabel, string>>;

export interface PathInDomain {
  readonly domain: ByteString;
  /** `Rule.path`, or the path with request values. */
  readonly path: readonly string[];
}

/** `dots`: replace all dots in keys and values, not only those of IPv4 addresses. */
export function ruleLabels({ domain, path }: PathInDomain, { dots }: { readonly dots: boolean }): RuleLabels {
  const labels: RuleLabels = { domain: domainLabel(domain) };
  KEY_LABELS.forEach((label, level) => {
    if (level >= path.length) return;
    const isLast = level === KEY_LABELS.length - 1;
    const parts = isLast ? path.slice(level) : path.slice(level, level + 1);
    labels[label] = parts
      .map((part) => statisticName(part, { dots }))
      .join('.')
      .slice(0, STAT_CHARS_MAX);
  });
  return labels;
}

/** The label with the name of a domain, or of a plan. */
export function domainLabel(name: ByteString): string {
  return statisticName(toText(name.slice(0, STAT_CHARS_MAX)), { dots: false });
}
