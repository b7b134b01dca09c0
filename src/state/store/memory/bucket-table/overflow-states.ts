/** States that do not fit into records because they have no fixed size (logs), under numbers that are reused. */

import type { BucketState } from '../../../../domain/algorithm/algorithms';

export class OverflowStates {
  private readonly states: (BucketState | undefined)[] = [];
  private readonly freeNumbers: number[] = [];

  get size(): number {
    return this.states.length - this.freeNumbers.length;
  }

  get(number: number | undefined): BucketState | undefined {
    return number === undefined ? undefined : this.states[number];
  }

  /** Stores a state under the number, or a free one, and returns the number. */
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
