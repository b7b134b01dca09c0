/** Compiles `fair` of a descriptor. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { Fair } from '../../domain/rule/fair/fair';
import { isDivided, shareLimit } from '../../domain/rule/share';
import { haveOwnBuckets, type Limit } from '../../domain/rule/limit';
import { joinPath } from '../../lib/quote';
import { lastEntryFault, type LastEntryPlace } from './last-entry-fault';
import type { DescriptorSpec } from './read/read-file';

export interface FairInput extends LastEntryPlace {
  readonly limits: readonly Limit[];
  readonly hasPlans: boolean;
}

/** Undefined: the descriptor has none, or a problem, which is reported. */
export function compileFair(spec: DescriptorSpec, input: FairInput): Fair | undefined {
  const { fair } = spec.fields;
  const { entry, weights } = fair?.value ?? {};
  if (fair === undefined || entry === undefined) return undefined;
  const path = joinPath(spec.path, 'fair');
  const fault = lastEntryFault(entry.value, input);
  if (fault !== undefined) spec.problems.report({ offset: entry.offset, path: joinPath(path, 'entry'), message: fault });
  const conflict = conflictOf(spec, input);
  if (conflict !== undefined) spec.problems.report({ offset: fair.offset, path, message: conflict });
  const byMember = Array.from(weights?.value ?? [], ([name, weight]) => [toByteString(name), weight] as const);
  return { entry: toByteString(entry.value), level: input.levels.length, weights: new Map(byMember) };
}

function conflictOf({ fields }: DescriptorSpec, { limits, hasPlans }: FairInput): string | undefined {
  if (fields.penalty !== undefined)
    return 'conflicts with penalty, whose blocks would deny the requests of all members; remove one of them';
  if (fields.reserve !== undefined) return 'conflicts with reserve, whose entry would be the same one; remove one of them';
  if (hasPlans) return 'conflicts with tenant: true, which gives each tenant a limit of its own; remove one of them';
  if (!limits.some(isDivided))
    return 'needs a limit with a window of at most an hour, since shares follow what was asked for in the window before';
  if (!haveOwnBuckets(limits.filter(isDivided).map((limit) => shareLimit(limit, 1, undefined))))
    return 'needs limits that count members apart: two have one window, and algorithms whose shares are counted alike; change one of them';
  return undefined;
}
