/** The arrivals of a simulation: times at which clients ask, from options or from a text. */

import { US_PER_S } from '../../../lib/time-units';
import { UsageError } from '../usage-error';
import { readDurationUs, readInstantUs } from '../test/file/virtual-time';

/** The times and the picture of them are kept in memory. */
export const ARRIVALS_MAX = 1_000_000;

/** A text of arrivals: at most this many characters, which a million instants need. */
export const ARRIVALS_CHARS_MAX = 64 * 1024 * 1024;

export interface ArrivalOptions {
  /** `20/s`: evenly, the first one at `fromUs`. */
  readonly rate?: string | undefined;
  /** `20/s`: at random, independent of each other. */
  readonly poisson?: string | undefined;
  /** Length of `rate` and `poisson`. */
  readonly forUs: number;
  /** Their beginning. */
  readonly fromUs: number;
  readonly seed: number;
  /** Requests at once, at each of `atUs`. */
  readonly burst: number;
  readonly atUs: readonly number[];
  /** Lines of `--arrivals`; absent: there are none. */
  readonly text?: string | undefined;
  /** The beginning of the simulation, in microseconds since 1970: instants count from it. */
  readonly startUs: number;
  /** Default ARRIVALS_MAX. */
  readonly arrivalsMax?: number;
}

/**
 * All arrivals together, in order, in microseconds since the start.
 *
 * @throws UsageError for a rate or a line that is invalid, for more than `arrivalsMax` arrivals, and for none
 */
export function arrivalsOf(options: ArrivalOptions): readonly number[] {
  const { rate, poisson, forUs, fromUs, seed, burst, atUs, text, startUs, arrivalsMax = ARRIVALS_MAX } = options;
  const times: number[] = [];
  const add = (atUs: number): void => {
    if (times.length >= arrivalsMax)
      throw new UsageError(`weir simulate: there are more than ${arrivalsMax} arrivals; simulate a shorter time`);
    times.push(atUs);
  };
  if (rate !== undefined) addEvenly(readRate('--rate', rate), { fromUs, forUs, add });
  if (poisson !== undefined) addRandomly(readRate('--poisson', poisson), { fromUs, forUs, seed, add });
  for (const each of atUs) for (let i = 0; i < burst; i += 1) add(each);
  if (text !== undefined) for (const each of readTimes(text, startUs)) add(each);
  if (times.length === 0) throw new UsageError('weir simulate: there are no arrivals; give --rate, --poisson, --burst, --at or --arrivals');
  return times.sort((one, other) => one - other);
}

const RATE = /^(\d{1,9}(?:\.\d{1,6})?)\/(s|second|m|minute|h|hour|d|day)$/;

const UNIT_S: Readonly<Record<string, number>> = { s: 1, second: 1, m: 60, minute: 60, h: 3_600, hour: 3_600, d: 86_400, day: 86_400 };

/** Time between two arrivals, in microseconds. */
function readRate(option: string, text: string): number {
  const [, number, unit = ''] = RATE.exec(text) ?? [];
  const perUnit = Number(number);
  if (!(perUnit > 0))
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} is not accepted; write a number for each s, minute, hour or day, such as 20/s`,
    );
  return ((UNIT_S[unit] ?? 1) * US_PER_S) / perUnit;
}

interface AddInput {
  readonly fromUs: number;
  readonly forUs: number;
  readonly add: (atUs: number) => void;
}

/** Each time is computed from its number, so that rounding does not add up. */
function addEvenly(gapUs: number, { fromUs, forUs, add }: AddInput): void {
  for (let i = 0; i * gapUs < forUs; i += 1) add(fromUs + Math.round(i * gapUs));
}

function addRandomly(meanUs: number, { fromUs, forUs, seed, add }: AddInput & { readonly seed: number }): void {
  const random = randomFrom(seed);
  for (let atUs = -meanUs * Math.log(1 - random()); atUs < forUs; atUs -= meanUs * Math.log(1 - random())) add(fromUs + Math.round(atUs));
}

/** Mulberry32, of Tommy Ettinger: 32 bits of state, and the same numbers everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One time a line, in any order: `1.5s` after the start, an instant, or seconds since the start. Empty lines and comments are left out. */
function* readTimes(text: string, startUs: number): Generator<number> {
  let line = 0;
  for (const written of text.split('\n')) {
    line += 1;
    const word = written.trim();
    if (word === '' || word.startsWith('#')) continue;
    const instantUs = readInstantUs(word);
    const atUs = instantUs === undefined ? readOffsetUs(word) : instantUs - startUs;
    if (atUs === undefined)
      throw new UsageError(`--arrivals: line ${line} is not a time; write 1.5s, 90 (seconds) or 2026-11-23T09:00:00Z`);
    if (atUs < 0) throw new UsageError(`--arrivals: line ${line} is before the start; give --start an earlier instant`);
    yield atUs;
  }
}

function readOffsetUs(word: string): number | undefined {
  return readDurationUs(/^\d{1,10}(?:\.\d{1,6})?$/.test(word) ? `${word}s` : word);
}
