/** Reserve: the last part of each limit of a rule, only for requests whose entry says so. */

import { multiplyDivide } from '../../algorithm/arithmetic';
import { percentText } from '../../../lib/value-texts';
import { toText } from '../../descriptor/byte-string';
import type { ByteString, Entry } from '../../descriptor/descriptor';
import { lastValue, type LastEntry } from '../../descriptor/last-entry';

/** A part of the whole limit, in millionths. */
export const RESERVE_PARTS = 1_000_000;

/** Its last entry has the class. */
export interface Reserve extends LastEntry {
  /**
   * By class, the last part of each limit that is only for it and for classes with a smaller part: in millionths, over 0 and less than
   * the whole.
   */
  readonly parts: ReadonlyMap<ByteString, number>;
  /** By class, the part that it may not use: the next smaller one. */
  readonly kept: ReadonlyMap<ByteString, number>;
  /** The same for requests without a class: the largest part. */
  readonly keptFromOthers: number;
}

export function makeReserve({ entry, level, parts }: Pick<Reserve, 'entry' | 'level' | 'parts'>): Reserve {
  const all = [...parts.values()];
  const kept = new Map(Array.from(parts, ([name, part]) => [name, Math.max(0, ...all.filter((other) => other < part))]));
  return { entry, level, parts, kept, keptFromOthers: Math.max(0, ...all) };
}

/** The configured class of the request; undefined: it has none. */
export function classOf(reserve: Reserve, entries: readonly Entry[]): ByteString | undefined {
  const value = lastValue(reserve, entries);
  return value !== undefined && reserve.parts.has(value) ? value : undefined;
}

/** The part of each limit that the request may not use. */
export function partKept(reserve: Reserve, entries: readonly Entry[]): number {
  const name = classOf(reserve, entries);
  return name === undefined ? reserve.keptFromOthers : (reserve.kept.get(name) ?? 0);
}

/** Rounded down: a limit of at least one hit is never reserved whole. */
export function reservedHits(capacity: number, part: number): number {
  return part === 0 ? 0 : multiplyDivide(part, capacity, RESERVE_PARTS).quotient;
}

/** `by priority: critical 20%`, as people read it. */
export function reserveText({ entry, parts }: Pick<Reserve, 'entry' | 'parts'>): string {
  const classes = Array.from(parts, ([name, part]) => `${toText(name)} ${percentText(part / RESERVE_PARTS)}`);
  return `by ${toText(entry)}: ${classes.sort().join(', ')}`;
}
