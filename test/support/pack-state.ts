/** A bucket's state as Redis holds it: the other side of each Lua engine's `unpack`. */

import type { BucketState } from '../../src/engine/decide-group';

export function packState(state: BucketState): string {
  if ('rest' in state) return `${state.used} ${state.rest} ${state.atUs}`;
  return `${state.index} ${state.used}`;
}
