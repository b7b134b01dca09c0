/** States that have no place in a record, since a log has no fixed size: kept aside, by numbers that are used again. */

import type { BucketState } from '../../engine/engines';

export class AsideStates {
  private readonly states: (BucketState | undefined)[] = [];
  private readonly freeNumbers: number[] = [];

  get size(): number {
    return this.states.length - this.freeNumbers.length;
  }

  get(number: number | undefined): BucketState | undefined {
    return number === undefined ? undefined : this.states[number];
  }

  /** Keeps a state, in the place of the one with this number if there is one; its number. */
  keep(state: BucketState, number = this.freeNumbers.pop() ?? this.states.length): number {
    this.states[number] = state;
    return number;
  }

  drop(number: number | undefined): void {
    if (number === undefined) return;
    this.states[number] = undefined;
    this.freeNumbers.push(number);
  }
}
