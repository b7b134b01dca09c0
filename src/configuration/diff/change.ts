/** The difference between two configurations: what changes for requests, and in which direction. */

/**
 * `looser`: requests that were denied may be admitted, and no other way round. `stricter`: the reverse. `both`: either is possible.
 * `none`: the same requests are admitted while the store is there.
 */
export type Direction = 'none' | 'looser' | 'stricter' | 'both';

export interface Change {
  /** The field, limit or term that differs, such as `limit` or `shadow_mode`. */
  readonly what: string;
  /** Absent: it is new. */
  readonly from?: string;
  /** Absent: it is gone. */
  readonly to?: string;
  readonly direction: Direction;
  /** Its buckets start empty: what was used is forgotten once. */
  readonly startsEmpty: boolean;
}

/** The changes of one rule, or of the terms of a domain or a plan. */
export interface RuleDiff {
  readonly domain: string;
  /** As `domain.path`; for a plan `plan NAME`; empty for the domain itself. */
  readonly rule: string;
  readonly status: 'changed' | 'new' | 'gone';
  readonly direction: Direction;
  readonly changes: readonly Change[];
}

export interface ConfigurationDiff {
  readonly direction: Direction;
  readonly rules: readonly RuleDiff[];
  /** Warnings of rules that no request reaches, which only the new configuration has. */
  readonly unreachable: readonly string[];
}

export function together(directions: readonly Direction[]): Direction {
  const isLooser = directions.some((each) => each === 'looser' || each === 'both');
  const isStricter = directions.some((each) => each === 'stricter' || each === 'both');
  if (isLooser && isStricter) return 'both';
  return isLooser ? 'looser' : isStricter ? 'stricter' : 'none';
}
