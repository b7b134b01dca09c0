/** The turns in which a thread reads the connections of all its HTTP ports, and a bound for the bytes that wait for one. */

import { monotonicNowMs } from '../clock';
import { ReadTurns } from '../read-turns';
import type { PacedSocket, WaitingBytes } from './paced-socket';

/** A thousand full reads. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/** Less than for gRPC, whose callers wait for no longer than some milliseconds. */
const ARRIVED_MS_MAX = 3;
const WAITED_MS_MAX = 1;

/** There is one loop for each thread, whatever the number of its servers. */
export const WIRE_TURNS = new ReadTurns<PacedSocket>({
  nowMs: monotonicNowMs,
  arrivedMsMax: ARRIVED_MS_MAX,
  waitedMsMax: WAITED_MS_MAX,
  read: (socket, chunk, share) => {
    socket.readNew(chunk, share);
  },
  schedule: (act) => {
    setImmediate(act);
  },
});

class BoundedBytes implements WaitingBytes {
  private held = 0;

  hold(bytes: number): boolean {
    this.held += bytes;
    return this.held <= WAITING_BYTES_MAX;
  }

  giveBack(bytes: number): void {
    this.held -= bytes;
  }
}

export const WAITING_BYTES: WaitingBytes = new BoundedBytes();
