/**
 * Requests in flight: as many slots as the limit is large, each taken until it is released or `windowUs` is over (the `hold`). Twin of
 * `lua/include/in-flight.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * A slot is known by when it was taken and by an id, or by that time alone. When it lapses is not stored: the limit that reads it says
 * how long slots are held, so a changed `hold` is in force at once. A hit is one slot.
 */

import type { AlgorithmTraits } from './algorithm';
import type { Engine } from './engine';

export interface Slot {
  readonly takenAtUs: number;
  /** `ANONYMOUS`, or the id in 16 hexadecimal digits. */
  readonly id: string;
}

export interface InFlightState {
  /** Oldest first. */
  readonly slots: readonly Slot[];
  /** When the state was last looked at. Not stored: slots carry their own times. */
  readonly nowUs: number;
}

/** The largest `max`: a decision reads and writes every slot of its bucket. */
export const IN_FLIGHT_MAX = 10_000;

/** The id of slots without one. */
export const ANONYMOUS = '0000000000000000';

const engine: Engine<InFlightState> = {
  fresh(_limit, nowUs) {
    return { slots: [], nowUs };
  },

  isAhead({ slots }, _limit, nowUs) {
    const last = slots.at(-1);
    return last !== undefined && last.takenAtUs > nowUs;
  },

  advance({ slots }, limit, nowUs) {
    const first = firstAfter(slots, nowUs - limit.windowUs);
    const ahead = firstAfter(slots, nowUs);
    if (ahead === slots.length) return { slots: slots.slice(first), nowUs };
    // Slots from after now were taken before the clock stepped back: they are of now.
    const retimed = slots.slice(ahead).map(({ id }) => ({ takenAtUs: nowUs, id }));
    return { slots: [...slots.slice(first, ahead), ...retimed], nowUs };
  },

  room({ slots }, limit) {
    return limit.capacity - slots.length;
  },

  charge({ slots, nowUs }, hits, id = ANONYMOUS) {
    const taken = Array.from({ length: hits }, () => ({ takenAtUs: nowUs, id }));
    return { slots: [...slots, ...taken], nowUs };
  },

  /**
   * Releases the slot that has this id. If there is none, the request may have come while the store was away, so one slot charged
   * without an id is released. Without an id the oldest slots are released. The slots that stay are the latest takes, and no slot is older
   * than the request that it stands for: none lapses while that request runs within its hold. (If the youngest were released, old
   * slots would lapse under young requests, and each hold would let as many more run as there are slots.)
   */
  refund(state, hits, id) {
    const { slots, nowUs } = state;
    if (id === undefined) return { slots: slots.slice(hits), nowUs };
    const named = findSlot(slots, id);
    const place = named >= 0 ? named : findSlot(slots, ANONYMOUS);
    return place < 0 ? state : without(state, place);
  },

  holds({ slots }, id) {
    return findSlot(slots, id) >= 0;
  },

  giveBack(state, _limit, { hits, takenAtUs, slotId = ANONYMOUS }) {
    let after = state;
    let given = 0;
    let place = firstAfter(state.slots, takenAtUs - 1);
    for (let slot = after.slots[place]; given < hits && slot?.takenAtUs === takenAtUs; slot = after.slots[place]) {
      if (slot.id === slotId) {
        after = without(after, place);
        given += 1;
      } else {
        place += 1;
      }
    }
    return { state: after, given };
  },

  retryAfterUs({ slots }, limit, hits, nowUs) {
    const missing = hits - (limit.capacity - slots.length);
    const last = slots[missing - 1];
    return last === undefined ? 0 : last.takenAtUs + limit.windowUs - nowUs;
  },

  resetAfterUs({ slots }, limit, nowUs) {
    const last = slots.at(-1);
    if (last !== undefined) return last.takenAtUs + limit.windowUs - nowUs;
    // A limit of 0 is never free; the hold is the only length that it names.
    return limit.requestsPerUnit === 0 ? limit.windowUs : 0;
  },

  isUnused({ slots }) {
    return slots.length === 0;
  },
};

export const inFlight: AlgorithmTraits<InFlightState> = {
  keyLetters: 'if',
  scriptCode: '6',
  restores: 'in-window',
  holds: 'slots',
  recordsMax: IN_FLIGHT_MAX,
  isPlain: false,
  secondNumberMax: () => 0,
  engine,
};

function without({ slots, nowUs }: InFlightState, place: number): InFlightState {
  return { slots: [...slots.slice(0, place), ...slots.slice(place + 1)], nowUs };
}

/** The oldest slot of that id; -1 if there is none. */
function findSlot(slots: readonly Slot[], id: string): number {
  return slots.findIndex((slot) => slot.id === id);
}

/** The first slot that was taken after that time; their number if none was. */
function firstAfter(slots: readonly Slot[], atUs: number): number {
  let low = 0;
  let high = slots.length;
  while (low < high) {
    const middle = (low + high - ((low + high) % 2)) / 2;
    if ((slots[middle]?.takenAtUs ?? 0) > atUs) high = middle;
    else low = middle + 1;
  }
  return low;
}
