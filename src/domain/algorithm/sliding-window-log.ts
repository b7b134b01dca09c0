/**
 * Sliding window log: never more than `requestsPerUnit` hits in any window of that length, wherever it begins. Twin of
 * `lua/include/sliding-window-log.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * It remembers when each hit was, so it is exact, and costs memory: one record for each microsecond in which hits were
 * taken, so at most as many as the limit is large (`LOG_LIMIT_MAX`). A record holds the sum of all hits up to it, not
 * its own hits: then what lies between two records is one subtraction, and every question is a binary search.
 */

import type { AlgorithmTraits } from './algorithm';
import type { Engine } from './engine';

export interface LogRecord {
  readonly atUs: number;
  /** All hits up to this record, modulo 2^32. */
  readonly total: number;
}

export interface SlidingWindowLogState {
  /** All hits before the first record, modulo 2^32. */
  readonly before: number;
  /** Oldest first, each at another time. */
  readonly records: readonly LogRecord[];
  /** When the state was last looked at. Not stored: a log's records carry their own times. */
  readonly nowUs: number;
}

/** The largest limit: a bucket remembers every hit, and a decision reads and writes them all. */
export const LOG_LIMIT_MAX = 10_000;

/** Sums wrap around here; what lies between two of them is far less. */
const TOTAL_MODULUS = 2 ** 32;

const engine: Engine<SlidingWindowLogState> = {
  fresh(_limit, nowUs) {
    return { before: 0, records: [], nowUs };
  },

  isAhead(state, _limit, nowUs) {
    const last = state.records.at(-1);
    return last !== undefined && last.atUs > nowUs;
  },

  advance(state, limit, nowUs) {
    const { records } = state;
    const last = records.at(-1);
    // A hit counts for exactly one window: at its end it is gone.
    const gone = firstWhere(records, (record) => record.atUs > nowUs - limit.windowUs);
    const before = gone === 0 ? state.before : (records[gone - 1]?.total ?? state.before);
    // Hits from after now were taken before the clock stepped back: they are hits of now.
    const ahead = firstWhere(records, (record) => record.atUs >= nowUs);
    if (last === undefined || last.atUs < nowUs) return { before, records: records.slice(gone), nowUs };
    return { before, records: [...records.slice(gone, ahead), { atUs: nowUs, total: last.total }], nowUs };
  },

  room(state, limit) {
    return limit.capacity - usedHits(state);
  },

  charge(state, hits) {
    const { before, records, nowUs } = state;
    const last = records.at(-1);
    const total = wrap((last?.total ?? before) + hits);
    const kept = last?.atUs === nowUs ? records.slice(0, -1) : records;
    return { before, records: [...kept, { atUs: nowUs, total }], nowUs };
  },

  refund(state, hits) {
    const { before, records, nowUs } = state;
    const left = usedHits(state) - hits;
    if (left <= 0) return { before, records: [], nowUs };
    // The newest hits go first; the record in which they end keeps the rest.
    const end = firstWhere(records, (record) => wrap(record.total - before) >= left);
    const cut = { atUs: records[end]?.atUs ?? nowUs, total: wrap(before + left) };
    return { before, records: [...records.slice(0, end), cut], nowUs };
  },

  giveBack(state, _limit, { hits, takenAtUs }) {
    const { before, records, nowUs } = state;
    const place = firstWhere(records, (record) => record.atUs >= takenAtUs);
    const record = records[place];
    if (record?.atUs !== takenAtUs) return { state, given: 0 };
    const ofRecord = wrap(record.total - (records[place - 1]?.total ?? before));
    const given = Math.min(hits, ofRecord);
    // A record without hits is none.
    const kept = records.slice(given === ofRecord ? place + 1 : place);
    const lowered = kept.map(({ atUs, total }) => ({ atUs, total: wrap(total - given) }));
    return { state: { before, records: [...records.slice(0, place), ...lowered], nowUs }, given };
  },

  retryAfterUs(state, limit, hits, nowUs) {
    const missing = hits - (limit.capacity - usedHits(state));
    if (missing <= 0) return 0;
    const { before, records } = state;
    const freed = records[firstWhere(records, (record) => wrap(record.total - before) >= missing)];
    return (freed?.atUs ?? nowUs) + limit.windowUs - nowUs;
  },

  resetAfterUs(state, limit, nowUs) {
    const last = state.records.at(-1);
    if (last !== undefined) return last.atUs + limit.windowUs - nowUs;
    // A limit of 0 is never free; one window is the only length that it names.
    return limit.requestsPerUnit === 0 ? limit.windowUs : 0;
  },

  isUnused(state) {
    return state.records.length === 0;
  },
};

export const slidingWindowLog: AlgorithmTraits<SlidingWindowLogState> = {
  keyLetters: 'sl',
  scriptCode: '4',
  restores: 'in-window',
  holds: 'hits',
  recordsMax: LOG_LIMIT_MAX,
  lighter: 'sliding_window_counter',
  isPlain: false,
  secondNumberMax: () => 0,
  engine,
};

function usedHits({ before, records }: SlidingWindowLogState): number {
  return wrap((records.at(-1)?.total ?? before) - before);
}

function wrap(total: number): number {
  return ((total % TOTAL_MODULUS) + TOTAL_MODULUS) % TOTAL_MODULUS;
}

/** The first index for which the test holds, given that it then holds for all that follow; their number if for none. */
function firstWhere(records: readonly LogRecord[], holds: (record: LogRecord) => boolean): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high - ((low + high) % 2)) / 2;
    const record = records[middle];
    if (record !== undefined && holds(record)) high = middle;
    else low = middle + 1;
  }
  return low;
}
