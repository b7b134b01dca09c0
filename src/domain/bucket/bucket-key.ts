/** The bucket key: a printable string, equal for all takes that share a bucket. */

import { createHash } from 'node:crypto';
import { TRAITS } from '../algorithm/algorithms';
import type { ByteString, Entry } from '../descriptor/descriptor';
import { windowName, type Limit, type LimitRole } from '../rule/limit';
import type { SharedEntry } from '../rule/shared-entry';

/** Version of the state's format. A release with another format uses other keys, so it never misreads old states. */
const STATE_VERSION = 1;

/** Before the algorithm in the keys of buckets that are not those of limits in force. No algorithm has a dot in its letters. */
const MARKS: Readonly<Record<LimitRole, string>> = { candidate: 'c.', penalty: 'p.', pool: 'o.', share: 's.' };

/** Longest domain, key or value in clear text; a longer one is replaced by its SHA-256. */
const PART_LENGTH_MAX = 256;

/**
 * Longest key in clear text. A longer one has the SHA-256 of its entries in their place. Callers choose entries, and stores, caches and
 * ledgers keep keys by number, so this bounds their bytes.
 */
const KEY_LENGTH_MAX = 512;

// Bytes that are not printable ASCII, the characters with a meaning in keys, and the colon of "weir:", the prefix of
// keys that are not buckets.
const ESCAPED = /[^!-~]|[%|={}~]|(?<=weir):/g;

/** By byte: 1 if it is never escaped. */
const PLAIN_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[!-~]/.test(String.fromCharCode(byte)) && !/[%|={}~:]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/**
 * `<prefix>1{domain}tb60|key=value|key=value`: state version, hash tag (it selects the slot in a Redis Cluster: domain,
 * or `domain|value` with the value of the entry that `hash_tag` names), algorithm, window (seconds, or
 * `1month@Europe/Berlin`), entries. Requests in flight have no window, so a changed `hold` keeps their slots. Two buckets never share a key,
 * because separators are escaped everywhere else. The entries of a key over KEY_LENGTH_MAX are their SHA-256. The size of a limit is not included, so a changed limit keeps its used hits.
 */
export function bucketKey(input: BucketKeyInput): string {
  const key = fullKey(input);
  return key.length - input.prefix.length > KEY_LENGTH_MAX ? shortKey(key, input.prefix) : key;
}

/** The key with the digest of its entries. No entry is written without `=`, so no other key equals it. */
function shortKey(key: string, prefix: string): string {
  // The tag has no brace of its own, because braces are escaped.
  const end = key.indexOf('|', key.indexOf('}', prefix.length));
  return end < 0 ? key : `${key.slice(0, end)}|~${createHash('sha256').update(key.slice(end), 'latin1').digest('hex')}`;
}

function fullKey({ prefix, domain, hashTag, entries, limit, shared, heads }: BucketKeyInput): string {
  if (shared !== undefined && shared.length > 0) return sharedBucketKey({ prefix, domain, hashTag, entries, limit, shared });
  const spreadBy = hashTag === undefined ? undefined : entries.find((entry) => entry.key === hashTag)?.value;
  const [first] = entries;
  const head = { prefix, domain, limit, firstKey: first?.key, spreadBy };
  let key = spreadBy === undefined && heads !== undefined ? heads.of(head) : keyHead(head);
  if (first !== undefined) key += escapePart(first.value);
  for (let i = 1; i < entries.length; i += 1) {
    const entry = entries[i];
    if (entry !== undefined) key += `|${escapePart(entry.key)}=${escapePart(entry.value)}`;
  }
  return key;
}

/** The hash tag of keys without a spreading value. */
export function domainTag(domain: ByteString): string {
  return escapePart(domain);
}

/** How every bucket key of the domain begins; `}` or, with a spreading value, `|` follows. */
export function domainKeyStart(prefix: string, domain: ByteString): string {
  return `${prefix}${STATE_VERSION}{${escapePart(domain)}`;
}

/** The key up to its first value. */
function keyHead({ prefix, domain, spreadBy, limit, firstKey }: KeyHeadInput): string {
  const tag = spreadBy === undefined ? escapePart(domain) : `${escapePart(domain)}|${escapePart(spreadBy)}`;
  const head = `${prefix}${STATE_VERSION}{${tag}}${kindOf(limit)}`;
  return firstKey === undefined ? head : `${head}|${escapePart(firstKey)}=`;
}

interface KeyHeadInput extends Pick<BucketKeyInput, 'prefix' | 'domain' | 'limit'> {
  readonly spreadBy: ByteString | undefined;
  readonly firstKey: ByteString | undefined;
}

interface KnownHead {
  readonly domain: ByteString;
  readonly firstKey: ByteString | undefined;
  readonly head: string;
}

/** Caches the keys of configured limits up to their first value, under one prefix: the same for nearly every request without a spreading value. */
export class KeyHeads {
  private readonly known = new WeakMap<Limit, KnownHead>();

  /** The head of a key without a spreading value. Built again if the first key differs from the last time, which only happens for keys with a star. */
  of(input: KeyHeadInput): string {
    const { domain, limit, firstKey } = input;
    const known = this.known.get(limit);
    if (known?.domain === domain && known.firstKey === firstKey) return known.head;
    const head = keyHead(input);
    this.known.set(limit, { domain, firstKey, head });
    return head;
  }
}

interface BucketKeyInput {
  /** `CACHE_KEY_PREFIX`. */
  readonly prefix: string;
  readonly domain: ByteString;
  /** `hash_tag`: key of the entry whose value spreads the domain's buckets. */
  readonly hashTag?: ByteString | undefined;
  readonly entries: readonly Entry[];
  readonly limit: Limit;
  /** `Rule.shareThreshold`; absent or empty: no entry is shared. */
  readonly shared?: SharedEntries | undefined;
  /** Cached heads of keys under this prefix. */
  readonly heads?: KeyHeads | undefined;
}

type SharedEntries = readonly (SharedEntry | undefined)[];

/** The form in the bucket key of an entry whose key or value has a star. */
export function sharedEntry({ key, value }: Entry): SharedEntry {
  const valueText = escapePattern(value);
  return { key: key.includes('*') ? '' : key, value: valueText, text: `${escapePattern(key)}=${valueText}` };
}

/** The form in the bucket key of an entry with an address range. No value is written like that. */
export function networkEntry(key: ByteString, network: string): SharedEntry {
  const value = `~${escapePart(network)}`;
  return { key, value, text: `${escapePattern(key)}=${value}` };
}

/** Like `bucketKey`, with the patterns of shared levels. */
function sharedBucketKey({ prefix, domain, hashTag, entries, limit, shared }: BucketKeyInput & { readonly shared: SharedEntries }): string {
  let tag = escapePart(domain);
  let rest = '';
  let isSpread = false;
  entries.forEach((entry, level) => {
    const pattern = shared[level];
    const value = pattern?.value ?? escapePart(entry.value);
    if (!isSpread && (pattern?.key ?? entry.key) === hashTag) {
      isSpread = true;
      tag += `|${value}`;
    }
    rest += `|${pattern?.text ?? `${escapePart(entry.key)}=${value}`}`;
  });
  return `${prefix}${STATE_VERSION}{${tag}}${kindOf(limit)}${rest}`;
}

function kindOf(limit: Limit): string {
  const { keyLetters: letters, holds } = TRAITS[limit.algorithm];
  if (limit.role !== undefined) return `${MARKS[limit.role]}${letters}${windowName(limit)}`;
  return holds === 'slots' ? letters : `${letters}${windowName(limit)}`;
}

/**
 * The form in the bucket key of an entry with any value, `key=~`. No value is written like that, so the bucket differs from those
 * without the entry. It never spreads keys.
 */
export function anyValueEntry(key: ByteString): SharedEntry {
  return { key: '', value: '~', text: `${escapePattern(key)}=~` };
}

/** Whether all values of a key share the bucket: a pattern of only a star, or an id. */
export function isAnyValue(shared: SharedEntry | undefined): boolean {
  return shared?.value === '~*' || shared?.value === '~';
}

/** A text without a star is escaped like a value. */
function escapePattern(pattern: ByteString): string {
  return pattern.includes('*') ? `~${escapePart(pattern)}` : escapePart(pattern);
}

function escapePart(part: ByteString): string {
  // `~` is escaped in clear texts, so no text can imitate a digest.
  if (part.length > PART_LENGTH_MAX) return `~${createHash('sha256').update(part, 'latin1').digest('hex')}`;
  return isPlain(part) ? part : part.replace(ESCAPED, escapeByte);
}

function isPlain(part: ByteString): boolean {
  for (let i = 0; i < part.length; i += 1) if (PLAIN_BYTES[part.charCodeAt(i)] !== 1) return false;
  return true;
}

function escapeByte(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
