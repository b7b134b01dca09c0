/** The bucket key: which takes share a bucket, as one printable string. */

import { createHash } from 'node:crypto';
import type { ByteString, Entry } from '../descriptor/descriptor';
import { windowName, type BucketAlgorithm, type Limit } from '../rule/limit';

/** Version of the buckets' state. A release that lays it out anew counts in new keys, never misreads old ones. */
const STATE_VERSION = 1;

const ALGORITHM_LETTERS: Readonly<Record<BucketAlgorithm, string>> = {
  token_bucket: 'tb',
  leaky_bucket: 'lb',
  fixed_window: 'fw',
  sliding_window_log: 'sl',
  sliding_window_counter: 'sc',
  in_flight: 'if',
};

/** Longest domain, key or value written out; a longer one is named by its SHA-256. */
const PART_LENGTH_MAX = 256;

// Bytes that are no printable ASCII, the characters that a key is built with, and the colon of "weir:", which marks
// keys that are no bucket.
const ESCAPED = /[^!-~]|[%|={}~]|(?<=weir):/g;

/** By byte: 1 for those that are written as they are, wherever they stand. */
const PLAIN_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => (/[!-~]/.test(String.fromCharCode(byte)) && !/[%|={}~:]/.test(String.fromCharCode(byte)) ? 1 : 0));

/**
 * `<prefix>1{domain}tb60|key=value|key=value`: state version, hash tag (it chooses the slot in a Redis Cluster: domain,
 * or `domain|value` with the value of the entry that the domain spreads by), algorithm, window (seconds, or
 * `1month@Europe/Berlin`; requests in flight have none, so a changed `hold` keeps their slots), entries. Two buckets never share a key: every character that separates is escaped elsewhere.
 * A limit's size is no part of it, so a changed limit keeps what was used.
 */
export function bucketKey({ prefix, domain, hashTag, entries, limit, shared, heads }: BucketKeyInput): string {
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

/** The hash tag of keys that nothing spreads. */
export function domainTag(domain: ByteString): string {
  return escapePart(domain);
}

/** All of a key up to its first value. */
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

/** The keys of configured limits up to their first value, under one prefix: the same for nearly every request whose key is not spread. */
export class KeyHeads {
  private readonly known = new WeakMap<Limit, KnownHead>();

  /** Of keys that nothing spreads. Made anew where the first key is another than last time: only one with a star takes several. */
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
  /** Key of the entry whose value the domain's buckets are spread by. */
  readonly hashTag?: ByteString | undefined;
  readonly entries: readonly Entry[];
  readonly limit: Limit;
  /** `Rule.shareThreshold`; absent, like an empty one: every entry stands for itself. */
  readonly shared?: SharedEntries | undefined;
  /** The beginnings of keys that are known under this prefix. */
  readonly heads?: KeyHeads | undefined;
}

type SharedEntries = readonly (SharedEntry | undefined)[];

/** An entry of `share_threshold` as a bucket key names it: `key=~pattern`, the same whatever the value. */
export interface SharedEntry {
  /** `""` of a key with a star: it is not one key, so nothing is spread by it. */
  readonly key: ByteString;
  /** `~` and the pattern: no value of an entry is written like that. */
  readonly value: string;
  /** Key and value, as they stand in the bucket key. */
  readonly text: string;
}

/** How the bucket key names an entry whose key or value has a star. */
export function sharedEntry({ key, value }: Entry): SharedEntry {
  const valueText = escapePattern(value);
  return { key: key.includes('*') ? '' : key, value: valueText, text: `${escapePattern(key)}=${valueText}` };
}

/** As `bucketKey`, with the patterns of the levels that have them. */
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
  const letters = ALGORITHM_LETTERS[limit.algorithm];
  return limit.algorithm === 'in_flight' ? letters : `${letters}${windowName(limit)}`;
}

/**
 * How the bucket key names an entry whatever its value, as `key=~`: no value is written like that, so that the bucket is none of those
 * without the entry. Nothing is spread by it.
 */
export function anyValueEntry(key: ByteString): SharedEntry {
  return { key: '', value: '~', text: `${escapePattern(key)}=~` };
}

/** What has no star stands for itself. */
function escapePattern(pattern: ByteString): string {
  return pattern.includes('*') ? `~${escapePart(pattern)}` : escapePart(pattern);
}

function escapePart(part: ByteString): string {
  // `~` is escaped in what is written out, so no text can pass for a digest.
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
