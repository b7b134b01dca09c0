/** Which configured descriptor a request's entries find: by the text of the reference, and as Weir amends it. */

import type { AskedEntry, Configured, ConfiguredDomain } from './asked';

export interface Found {
  /** The descriptor that the last entry found; absent: none. */
  readonly configured?: Configured;
  /** By entry, what `share_threshold` puts in its place. */
  readonly shared: readonly (AskedEntry | undefined)[];
  /** By entry, what it found; empty: not every one found something. */
  readonly levels: readonly FoundLevel[];
  /** Whether a value was taken for the pattern that it spells. */
  readonly byPatternAsValue: boolean;
}

export interface FoundLevel {
  readonly entry: AskedEntry;
  readonly configured: Configured;
  readonly by: FoundBy;
  /** Key and value as configured, as one text. */
  readonly whole: string;
  /** What `share_threshold` puts in its place. */
  readonly shared?: AskedEntry | undefined;
}

/** Its value, a pattern, or its key alone. */
type FoundBy = 'exact' | 'pattern' | 'key';

/** What one entry finds among the descriptors of a level, and what shares its counter. */
interface FoundEntry {
  readonly configured: Configured;
  readonly by: FoundBy;
  readonly shared?: AskedEntry;
  readonly byPatternAsValue?: boolean;
}

type FindEntry = (level: readonly Configured[], entry: AskedEntry) => FoundEntry | undefined;

/** Keys and values are compared apart. */
export function findAmended(domain: ConfiguredDomain, entries: readonly AskedEntry[]): Found {
  return find(domain, entries, (level, { key, value }) => {
    const plain = level.filter((each) => !isStarred(each));
    const exact = plain.find((each) => each.key === key && valueOf(each) !== '' && valueOf(each) === value);
    if (exact !== undefined) return { configured: exact, by: 'exact' };
    const starred = level.find((each) => isStarred(each) && matches(each.key, key) && matches(starredValueOf(each), value));
    if (starred !== undefined) {
      const shared = { key: starred.key, value: starredValueOf(starred) };
      return { configured: starred, by: 'pattern', ...(starred.share_threshold === true && { shared }) };
    }
    const alone = plain.find((each) => each.key === key && valueOf(each) === '');
    return alone && { configured: alone, by: 'key' };
  });
}

/** Keys and values are one text, `key_value`. */
export function findAsReference(domain: ConfiguredDomain, entries: readonly AskedEntry[]): Found {
  return find(domain, entries, (level, { key, value }) => {
    const whole = `${key}_${value}`;
    const exact = level.find((each) => wholeOf(each) === whole);
    if (exact !== undefined) return { configured: exact, by: 'exact', byPatternAsValue: isStarred(exact) };
    const starred = level.find((each) => isStarred(each) && matches(wholeOf(each), whole));
    if (starred !== undefined) {
      const pattern = wholeOf(starred);
      const shared = { key, value: pattern.startsWith(`${key}_`) ? pattern.slice(key.length + 1) : pattern };
      return { configured: starred, by: 'pattern', ...(starred.share_threshold === true && { shared }) };
    }
    const alone = level.find((each) => wholeOf(each) === key);
    return alone && { configured: alone, by: 'key' };
  });
}

function find(domain: ConfiguredDomain, entries: readonly AskedEntry[], findEntry: FindEntry): Found {
  const levels: FoundLevel[] = [];
  let level = domain.descriptors;
  let configured: Configured | undefined;
  let byPatternAsValue = false;
  for (const entry of entries) {
    const found = findEntry(level, entry);
    if (found === undefined) return { shared: [], levels: [], byPatternAsValue };
    ({ configured } = found);
    byPatternAsValue ||= found.byPatternAsValue === true;
    levels.push({ entry, configured, by: found.by, whole: wholeOf(configured), shared: found.shared });
    level = configured.descriptors ?? [];
  }
  return { ...(configured && { configured }), shared: levels.map(({ shared }) => shared), levels, byPatternAsValue };
}

function valueOf({ value = '' }: Configured): string {
  return value;
}

/** A key with a star and no value takes every value. */
function starredValueOf(each: Configured): string {
  return valueOf(each) === '' ? '*' : valueOf(each);
}

function wholeOf(each: Configured): string {
  return valueOf(each) === '' ? each.key : `${each.key}_${valueOf(each)}`;
}

function isStarred(each: Configured): boolean {
  return wholeOf(each).includes('*');
}

/** Each star stands for any text, or none. */
export function matches(pattern: string, text: string): boolean {
  const literal = (part: string) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
  return new RegExp(`^${pattern.split('*').map(literal).join('[^]*')}$`).test(text);
}
