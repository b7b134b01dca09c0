/** The waits for one key, in the order in which they came: any of them can leave, and the one whose time ends first is known. */

import { ExpiryQueue, type Expiry } from '../../../lib/expiry-queue';
import type { WireRequest } from '../../../server/transport/messages/wire';
import type { LimitResult } from '../limiter/limiter';

/** A wait, before it stands in a line. */
export interface Waiter {
  readonly wire: WireRequest;
  /** Its number in the order of all waits. */
  readonly number: number;
  /** The hits of its descriptors, as a text: waits with the same hits have their turn at the same time. */
  readonly hits: string;
  /** The deadline of a call. Undefined: that of the limiter. */
  readonly timeoutMs: number | undefined;
  /** When it has waited for as long as it may. */
  readonly endMs: number;
  readonly bytes: number;
  readonly answer: (result: LimitResult) => void;
  readonly fail: (reason: Error) => void;
}

/** Its place in a line. */
export interface Place extends Waiter {
  readonly line: WaitLine;
}

interface Linked extends Place {
  isIn: boolean;
  before: Linked | undefined;
  behind: Linked | undefined;
  /** Undefined while its request is on its way, whose deadline bounds the wait. */
  end: Expiry<Linked> | undefined;
}

export class WaitLine {
  /** Whether a request of the first wait is on its way. */
  isAsking = false;
  /** When the first wait asks again. */
  turnMs = Infinity;
  /** When the owner has to look at this line again. */
  event: Expiry<WaitLine> | undefined;
  private firstPlace: Linked | undefined;
  private lastPlace: Linked | undefined;
  private readonly ends = new ExpiryQueue<Linked>();

  /** `denial`: the last one. */
  constructor(
    readonly key: string,
    public denial: LimitResult,
  ) {}

  get first(): Place | undefined {
    return this.firstPlace;
  }

  /** The wait that ends first, of those whose request is not on its way. */
  get firstToEnd(): Place | undefined {
    return this.ends.first?.key;
  }

  /** Adds a wait behind those that came before it. It may have been asked while they joined, but never for long. */
  join(waiter: Waiter): Place {
    let before = this.lastPlace;
    while (before !== undefined && before.number > waiter.number) before = before.before;
    const behind = before === undefined ? this.firstPlace : before.behind;
    const place: Linked = { ...waiter, line: this, isIn: true, before, behind, end: undefined };
    place.end = this.ends.add(waiter.endMs, place);
    if (before === undefined) this.firstPlace = place;
    else before.behind = place;
    if (behind === undefined) this.lastPlace = place;
    else behind.before = place;
    return place;
  }

  /** Its request is on its way. */
  beginToAsk(asking: Place): void {
    const place = asking as Linked;
    if (place.end !== undefined) this.ends.remove(place.end);
    place.end = undefined;
  }

  /** It stays. */
  waitAgain(asking: Place): void {
    const place = asking as Linked;
    if (place.isIn && place.end === undefined) place.end = this.ends.add(place.endMs, place);
  }

  has(place: Place): boolean {
    return (place as Linked).isIn;
  }

  /** False: the wait has left already. */
  leave(leaving: Place): boolean {
    const place = leaving as Linked;
    if (!place.isIn) return false;
    place.isIn = false;
    if (place.end !== undefined) this.ends.remove(place.end);
    place.end = undefined;
    if (place.before === undefined) this.firstPlace = place.behind;
    else place.before.behind = place.behind;
    if (place.behind === undefined) this.lastPlace = place.before;
    else place.behind.before = place.before;
    return true;
  }
}
