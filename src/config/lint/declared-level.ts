/** What the rules of `lint/` look at: the descriptors of one level as they are written, beside what was made of them. */

import type { DescriptorLevel, DescriptorNode } from '../../descriptor/tree';
import { isRateLimit, type RateLimit } from '../../rule/limit';
import type { LimitedSpec } from '../limit-schema';
import type { DescriptorSpec } from '../schema';

export interface Declared {
  readonly spec: DescriptorSpec;
  readonly node: DescriptorNode;
}

export interface DeclaredLevel {
  readonly level: DescriptorLevel;
  /** In the order in which they are declared. */
  readonly declared: readonly Declared[];
  /** The descriptors that these are nested in, from the root down. */
  readonly above: readonly DescriptorSpec[];
}

/** A limit as it is written, and what was made of it. */
export interface DeclaredLimit {
  readonly spec: LimitedSpec;
  readonly limit: RateLimit;
}

/** Those of a descriptor; none if one of them is wrong, which is told as an error. */
export function limitsOf({ spec, node }: Declared): DeclaredLimit[] {
  const specs = spec.limits.filter((each) => each.kind === 'limited');
  const limits = node.rule?.limits.filter(isRateLimit) ?? [];
  if (specs.length !== limits.length) return [];
  return limits.flatMap((limit, index) => {
    const written = specs[index];
    return written === undefined ? [] : [{ spec: written, limit }];
  });
}
