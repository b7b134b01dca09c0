/** The port of the counts of a rollout over all processes, and the form in which stores keep them. */

import { US_PER_S } from '../../lib/time-units';

/** Slots of time that a store keeps. */
export const SLOTS_MAX = 64;

/** Slots of the time that a guard measures. */
const SLOTS_OF_GUARD = 30;

/** Width of the slots of a rollout without a guard, in seconds. */
const WIDTH_S = 10;

/** How long counts stay without hits, in milliseconds: a week. */
export const COUNTS_TTL_MS = 604_800_000;

/** Hits of both parts, and those of them over the limit. */
export interface PartCounts {
  readonly candidate: HitCounts;
  readonly current: HitCounts;
}

export interface HitCounts {
  readonly hits: number;
  readonly over: number;
}

export interface RolloutName {
  /** As text. */
  readonly domain: string;
  /** As in `Stage.name`. */
  readonly rule: string;
}

export interface CountedHits extends RolloutName {
  /** The version of the record with the values of the stage; another one begins the counts again, and hits of an earlier one are dropped. */
  readonly version: number;
  /** As `widthOf` says. */
  readonly widthS: number;
  readonly counts: PartCounts;
}

/** The counts of a rollout since its stage began. */
export interface RolloutCounts {
  readonly version: number;
  /** The store's clock, in microseconds since 1970. */
  readonly nowUs: number;
  readonly sinceUs: number;
  readonly total: PartCounts;
  readonly slots: readonly CountedSlot[];
}

export interface CountedSlot {
  readonly startUs: number;
  readonly counts: PartCounts;
}

/** Rejects with a StoreError if the store cannot answer. */
export interface RolloutCounter {
  /** Resolves to all counts with the added ones. */
  add(hits: CountedHits): Promise<RolloutCounts | undefined>;
  /** Undefined: nothing was counted. */
  read(name: RolloutName): Promise<RolloutCounts | undefined>;
}

/** The width of slots that a guard over this time needs. */
export function widthOf(forS: number | undefined): number {
  return forS === undefined ? WIDTH_S : Math.max(1, Math.ceil(forS / SLOTS_OF_GUARD));
}

export const NO_COUNTS: PartCounts = { candidate: { hits: 0, over: 0 }, current: { hits: 0, over: 0 } };

export function addCounts(one: PartCounts, other: PartCounts): PartCounts {
  const add = (a: HitCounts, b: HitCounts): HitCounts => ({ hits: a.hits + b.hits, over: a.over + b.over });
  return { candidate: add(one.candidate, other.candidate), current: add(one.current, other.current) };
}

const HEAD = /^(\d+) (\d+) (\d+)$/;
const COUNTS = /^(?:(\d+) )?(\d+) (\d+) (\d+) (\d+)$/;

/** Reads the text of `lua/rollout.lua`; undefined: there is none, or another hand wrote it. */
export function readCounts(text: string, nowUs: number): RolloutCounts | undefined {
  const [head = '', total = '', ...slots] = text.split('\n');
  const [, version, width, since] = HEAD.exec(head) ?? [];
  if (version === undefined) return undefined;
  return {
    version: Number(version),
    nowUs,
    sinceUs: Number(since),
    total: countsIn(total).counts,
    slots: slots.map((line) => {
      const { number, counts } = countsIn(line);
      return { startUs: number * Number(width) * US_PER_S, counts };
    }),
  };
}

function countsIn(line: string): { readonly number: number; readonly counts: PartCounts } {
  const [, number = '0', ...values] = COUNTS.exec(line) ?? [];
  const [hits = 0, over = 0, currentHits = 0, currentOver = 0] = values.map(Number);
  return { number: Number(number), counts: { candidate: { hits, over }, current: { hits: currentHits, over: currentOver } } };
}
