/** Shows how much of a limit is left, as a bar beside its number. */

import { showHits, type AmountForm } from '../api/show';

interface LeftBarInput {
  readonly left: number;
  readonly of: number;
  readonly form: AmountForm | undefined;
}

export function LeftBar({ left, of, form }: LeftBarInput) {
  const share = of === 0 ? 0 : Math.min(1, left / of);
  return (
    <span class="left">
      <span class={share < 0.1 ? 'bar low' : 'bar'} aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span class="figure">
        {showHits(left, form)} <span class="muted">of {showHits(of, form)}</span>
      </span>
    </span>
  );
}
