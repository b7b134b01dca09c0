/** Counts the keys of requests whose decision changes, in bounded memory. */

import { createHash } from 'node:crypto';
import { toText } from '../../../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../../../domain/descriptor/descriptor';
import { hashOfKey, SpaceSaving } from '../../../../state/top/space-saving';

/** Keys that are counted exactly if there are no more. */
export const CHANGED_KEYS_MAX = 65_536;

/** A longer value is shown by its first characters and a hash. */
const VALUE_LENGTH_MAX = 256;
const VALUE_LENGTH_SHOWN = 200;

export interface ChangedKey {
  readonly domain: string;
  readonly rule: string;
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly requests: number;
  /** By how many the number may be too high. Absent: it is exact. */
  readonly error?: number;
}

export interface ChangedKeyInput {
  readonly domain: ByteString;
  readonly rule: string;
  readonly entries: readonly Entry[];
}

export class ChangedKeys {
  requests = 0;
  private readonly keys: SpaceSaving;

  constructor(keysMax = CHANGED_KEYS_MAX) {
    this.keys = new SpaceSaving(keysMax);
  }

  count({ domain, rule, entries }: ChangedKeyInput): void {
    this.requests += 1;
    let key = part(toText(domain)) + part(rule);
    for (const entry of entries) key += part(entry.key) + part(shortened(entry.value));
    const hashed = { key, hash: hashOfKey(key) };
    if (this.keys.count(hashed, -1, 1) < 0 && this.keys.filter(hashed, 1)) this.keys.enter(hashed, 1);
  }

  /** The keys with the most requests first; of those with as many, the first by name. */
  top(max: number): ChangedKey[] {
    const { keys, counts, errors } = this.keys;
    return keys
      .map((key, counter) => ({ key, requests: counts[counter] ?? 0, error: errors[counter] ?? 0 }))
      .sort((a, b) => b.requests - a.requests || (a.key < b.key ? -1 : 1))
      .slice(0, max)
      .map(({ key, requests, error }) => {
        const [domain = '', rule = '', ...rest] = partsOf(key);
        const entries = [];
        for (let i = 0; i < rest.length; i += 2) entries.push({ key: toText(rest[i] ?? ''), value: toText(rest[i + 1] ?? '') });
        return { domain, rule, entries, requests, ...(error > 0 && { error }) };
      });
  }
}

/** With its length, because a text may contain any character. */
function part(text: string): string {
  return `${text.length}:${text}`;
}

/** The texts that were joined, each after its length. */
export function partsOf(key: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < key.length; ) {
    const colon = key.indexOf(':', at);
    const end = colon + 1 + Number(key.slice(at, colon));
    parts.push(key.slice(colon + 1, end));
    at = end;
  }
  return parts;
}

function shortened(value: ByteString): ByteString {
  if (value.length <= VALUE_LENGTH_MAX) return value;
  const digest = createHash('sha256').update(value, 'latin1').digest('hex').slice(0, 16);
  return `${value.slice(0, VALUE_LENGTH_SHOWN)}~${digest}`;
}
