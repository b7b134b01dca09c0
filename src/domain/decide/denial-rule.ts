/**
 * The rule of modes: which takes deny a request. Twin of `times_allowed` in `lua/include/decide-group.lua`, which only answers
 * whether the request is denied.
 */

import type { Group, OpenVerdict, Verdict } from '../bucket/take';

/**
 * Marks the takes that deny the group, or would without `SHADOW_MODE`; true if there are any. An enforced take denies if it does
 * not fit. Quota takes that do not fit deny together: only if every quota descriptor has one.
 */
export function markDenials(group: Pick<Group, 'takes' | 'quotaAlwaysFits'>, verdicts: readonly OpenVerdict[]): boolean {
  const { takes } = group;
  let isDenied = false;
  let quotaDenies: boolean | undefined;
  for (let i = 0; i < takes.length; i += 1) {
    const verdict = verdicts[i];
    const mode = takes[i]?.mode;
    if (verdict === undefined || verdict.fits || mode === 'shadow') continue;
    if (mode === 'quota' && !(quotaDenies ??= isEveryQuotaOver(group, verdicts))) continue;
    verdict.denies = true;
    isDenied = true;
  }
  return isDenied;
}

function isEveryQuotaOver({ takes, quotaAlwaysFits }: Pick<Group, 'takes' | 'quotaAlwaysFits'>, verdicts: readonly Verdict[]): boolean {
  if (quotaAlwaysFits) return false;
  const descriptors = new Set<number>();
  const over = new Set<number>();
  for (const [i, { mode, descriptor }] of takes.entries()) {
    if (mode !== 'quota') continue;
    descriptors.add(descriptor);
    if (verdicts[i]?.fits === false) over.add(descriptor);
  }
  return over.size === descriptors.size;
}
