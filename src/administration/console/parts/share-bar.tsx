/** A share as a bar beside its number. */

import { NONE, showShare } from '../api/show';

interface ShareBarProps {
  /** From 0 to 1; undefined: not known. */
  readonly share: number | undefined;
  readonly isBad?: boolean;
}

export function ShareBar({ share, isBad = false }: ShareBarProps) {
  if (share === undefined) return <>{NONE}</>;
  return (
    <span class="left">
      <span class={isBad ? 'bar small low' : 'bar small'} aria-hidden="true">
        <span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} />
      </span>
      <span class="figure">{showShare(share)}</span>
    </span>
  );
}
