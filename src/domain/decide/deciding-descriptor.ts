/** Finds the descriptor that stands for the decision on its request: in logs, tests and reports. */

import type { DescriptorStatus } from './decision';

/** The index of the one that denies and makes the caller wait longest; else that with the least remaining; else 0. The first of several that are alike. */
export function decidingDescriptor(statuses: readonly DescriptorStatus[]): number {
  if (statuses.length === 1) return 0;
  let deciding = 0;
  let best: DescriptorStatus | undefined;
  for (let i = 0; i < statuses.length; i += 1) {
    const status = statuses[i];
    if (status?.currentLimit === undefined || (best !== undefined && !decidesMore(status, best))) continue;
    best = status;
    deciding = i;
  }
  return deciding;
}

function decidesMore(a: DescriptorStatus, b: DescriptorStatus): boolean {
  if (a.denies !== b.denies) return a.denies;
  return a.denies ? waitUs(a) > waitUs(b) : a.limitRemaining < b.limitRemaining;
}

function waitUs({ neverFits, durationUntilResetUs = 0 }: DescriptorStatus): number {
  return neverFits === true ? Infinity : durationUntilResetUs;
}
