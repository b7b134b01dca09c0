/** Shows how much of a limit is left, as a bar beside its number. */

import { showCount } from '../api/show';

export function LeftBar({ left, of }: { readonly left: number; readonly of: number }) {
  const share = of === 0 ? 0 : Math.min(1, left / of);
  return (
    <span class="left">
      <span class={share < 0.1 ? 'bar low' : 'bar'} aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span class="figure">
        {showCount(left)} <span class="muted">of {showCount(of)}</span>
      </span>
    </span>
  );
}
