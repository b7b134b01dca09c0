/** A bucket's state as Redis holds it, in latin1: the other side of each Lua engine's `unpack`. */

import type { BucketState } from '../../src/engine/engines';
import type { Slot } from '../../src/engine/in-flight';

export function packState(state: BucketState): string {
  if ('rest' in state) return `${state.used} ${state.rest} ${state.atUs}`;
  if ('used' in state) return `${state.index} ${state.used}`;
  if ('current' in state) return `${state.index} ${state.current} ${state.previous}`;
  if ('slots' in state) return state.slots.map(packSlot).join('');
  const bytes = Buffer.alloc(4 + 11 * state.records.length);
  bytes.writeUInt32BE(state.before);
  state.records.forEach(({ atUs, total }, i) => {
    writeTime(bytes, { atUs, offset: 4 + 11 * i });
    bytes.writeUInt32BE(total, 11 + 11 * i);
  });
  return bytes.toString('latin1');
}

function packSlot({ takenAtUs, id }: Slot): string {
  const bytes = Buffer.alloc(15);
  writeTime(bytes, { atUs: takenAtUs, offset: 0 });
  bytes.write(id, 7, 'hex');
  return bytes.toString('latin1');
}

/** In seven bytes: Node writes six at the most. */
function writeTime(bytes: Buffer, { atUs, offset }: { readonly atUs: number; readonly offset: number }): void {
  bytes.writeUInt8(Math.floor(atUs / 2 ** 48), offset);
  bytes.writeUIntBE(atUs % 2 ** 48, offset + 1, 6);
}
