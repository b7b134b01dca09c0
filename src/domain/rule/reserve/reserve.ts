/** Reserve: the last part of each limit of a rule, only for requests whose entry says so. */

import { multiplyDivide } from '../../algorithm/arithmetic';
import { percentText } from '../../../lib/value-texts';
import { toText } from '../../descriptor/byte-string';
import type { ByteString, Entry } from '../../descriptor/descriptor';

/** A part of the whole limit, in millionths. */
export const RESERVE_PARTS = 1_000_000;

export interface Reserve {
  /** Key of the entry with the class. It follows the entries of the rule, or is missing. */
  readonly entry: ByteString;
  /** How many entries the rule has. */
  readonly level: number;
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

/** Whether the entries from that place on only say the class. Several contradict each other, so none of them counts. */
export function areClasses({ entry }: Reserve, entries: readonly Entry[], from: number): boolean {
  for (let i = from; i < entries.length; i += 1) if (entries[i]?.key !== entry) return false;
  return true;
}

/** The configured class of the request; undefined: it has none. */
export function classOf({ level, parts }: Reserve, entries: readonly Entry[]): ByteString | undefined {
  const value = entries.length === level + 1 ? entries[level]?.value : undefined;
  return value !== undefined && parts.has(value) ? value : undefined;
}

/** The part of each limit that the request may not use. */
export function partKept(reserve: Reserve, entries: readonly Entry[]): number {
  const name = classOf(reserve, entries);
  return name === undefined ? reserve.keptFromOthers : (reserve.kept.get(name) ?? 0);
}

/** The entries that name the bucket: all classes share it. */
export function countedEntries(entries: readonly Entry[], reserve: Pick<Reserve, 'level'> | undefined): readonly Entry[] {
  return reserve === undefined || entries.length <= reserve.level ? entries : entries.slice(0, reserve.level);
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
