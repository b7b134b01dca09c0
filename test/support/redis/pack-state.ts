/** A bucket's state as Redis holds it, in latin1: the other side of each Lua engine's `unpack`. */

import type { BucketState } from '../../../src/domain/algorithm/algorithms';
import type { FixedWindowState } from '../../../src/domain/algorithm/fixed-window';
import type { Slot } from '../../../src/domain/algorithm/in-flight';
import type { TokenBucketState } from '../../../src/domain/algorithm/token-bucket';
import type { BucketLimit } from '../../../src/domain/bucket/take';

export function packState(state: BucketState, limit: Pick<BucketLimit, 'windowUs' | 'edgesUs'>): string {
  if ('rest' in state) return packTokenBucket(state, limit);
  if ('used' in state) return packFixedWindow(state, limit);
  if ('current' in state) return `${state.index} ${state.current} ${state.previous}`;
  if ('slots' in state) return state.slots.map(packSlot).join('');
  if ('spent' in state) return String(state.spent);
  const bytes = Buffer.alloc(4 + 11 * state.records.length);
  bytes.writeUInt32BE(state.before);
  state.records.forEach(({ atUs, total }, i) => {
    writeTime(bytes, { atUs, offset: 4 + 11 * i });
    bytes.writeUInt32BE(total, 11 + 11 * i);
  });
  return bytes.toString('latin1');
}

function packTokenBucket({ used, rest, atUs }: TokenBucketState, { windowUs }: Pick<BucketLimit, 'windowUs'>): string {
  const level = BigInt(used) * BigInt(windowUs) - BigInt(rest);
  if (used * windowUs > Number.MAX_SAFE_INTEGER) return `${used} ${rest} ${atUs}`;
  const digits = atUs.toString(16).padStart(14, '0') + level.toString(16).padStart(level < 2n ** 40n ? 10 : 14, '0');
  return Buffer.from(digits, 'hex').toString('latin1');
}

function packFixedWindow({ index, used }: FixedWindowState, { windowUs, edgesUs }: Pick<BucketLimit, 'windowUs' | 'edgesUs'>): string {
  const number = BigInt(index) * 2n * BigInt(windowUs) + BigInt(used);
  if (edgesUs !== undefined || used >= 2 * windowUs || number > Number.MAX_SAFE_INTEGER) return `${index} ${used}`;
  return String(number);
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
