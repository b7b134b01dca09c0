/** Input of the rules in `lint/`: the descriptors of one level as written, with the compiled nodes. */

import type { DescriptorLevel, DescriptorNode } from '../../../domain/rule/tree';
import { isRateLimit, type Limit, type RateLimit } from '../../../domain/rule/limit';
import type { LimitedSpec } from '../read/read-limits';
import type { DescriptorSpec } from '../read/read-file';

export interface Declared {
  readonly spec: DescriptorSpec;
  readonly node: DescriptorNode;
}

export interface DeclaredLevel {
  readonly level: DescriptorLevel;
  /** In the order of declaration. Without `onLevel`, only those that may be unreachable or hide another one. */
  readonly declared: readonly Declared[];
  /** The parents of these descriptors, from the root down. */
  readonly above: readonly DescriptorSpec[];
}

/** A limit as written, and as compiled. */
export interface DeclaredLimit {
  readonly spec: LimitedSpec;
  readonly limit: RateLimit;
}

/** The limits of a descriptor or a plan; empty if one is invalid, which is an error of its own. */
export function limitsOf(spec: Pick<DescriptorSpec, 'limits'>, compiled: readonly Limit[]): DeclaredLimit[] {
  const specs = spec.limits.filter((each) => each.kind === 'limited');
  const limits = compiled.filter(isRateLimit);
  if (specs.length !== limits.length) return [];
  return limits.flatMap((limit, index) => {
    const written = specs[index];
    return written === undefined ? [] : [{ spec: written, limit }];
  });
}
