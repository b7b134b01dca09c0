/** A bucket's state as Redis holds it, in latin1: the other side of each Lua engine's `unpack`. */

import type { BucketState } from '../../src/engine/engines';

export function packState(state: BucketState): string {
  if ('rest' in state) return `${state.used} ${state.rest} ${state.atUs}`;
  if ('used' in state) return `${state.index} ${state.used}`;
  if ('current' in state) return `${state.index} ${state.current} ${state.previous}`;
  const bytes = Buffer.alloc(4 + 11 * state.records.length);
  bytes.writeUInt32BE(state.before);
  state.records.forEach(({ atUs, total }, i) => {
    // Seven bytes of time: Node writes six at the most.
    bytes.writeUInt8(Math.floor(atUs / 2 ** 48), 4 + 11 * i);
    bytes.writeUIntBE(atUs % 2 ** 48, 5 + 11 * i, 6);
    bytes.writeUInt32BE(total, 11 + 11 * i);
  });
  return bytes.toString('latin1');
}
