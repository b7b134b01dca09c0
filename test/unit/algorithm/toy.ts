/** A sixth algorithm for a test: hits in a window that begins with its first hit. */

import type { AlgorithmTraits } from '../../../src/domain/algorithm/algorithm';

interface ToyState {
  readonly firstUs: number;
  readonly spent: number;
}

export const toy: AlgorithmTraits<ToyState> = {
  keyLetters: 'ty',
  scriptCode: '9',
  restores: 'in-window',
  holds: 'hits',
  isPlain: false,
  secondNumberMax: () => 0,
  engine: {
    fresh: (_limit, nowUs) => ({ firstUs: nowUs, spent: 0 }),
    isAhead: ({ firstUs }, _limit, nowUs) => firstUs > nowUs,
    advance: (state, { windowUs }, nowUs) => (nowUs < state.firstUs + windowUs ? state : { firstUs: nowUs, spent: 0 }),
    room: ({ spent }, { capacity }) => capacity - spent,
    charge: ({ firstUs, spent }, hits) => ({ firstUs, spent: spent + hits }),
    refund: ({ firstUs, spent }, hits) => ({ firstUs, spent: Math.max(0, spent - hits) }),
    giveBack: (state) => ({ state, given: 0 }),
    retryAfterUs: ({ firstUs }, { windowUs }, _hits, nowUs) => firstUs + windowUs - nowUs,
    resetAfterUs: ({ firstUs }, { windowUs }, nowUs) => firstUs + windowUs - nowUs,
    isUnused: ({ spent }) => spent === 0,
  },
};
