/** Counts the keys of requests whose decision changes, in bounded memory. */

import { createHash } from 'node:crypto';
import { toText } from '../../../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../../../domain/descriptor/descriptor';
import { joinedPart, partsOf } from '../event/joined-text';
import { hashOfKey, SpaceSaving } from '../../../../state/top/space-saving';

/** Up to this number of keys, each is counted exactly. */
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
  /** Exact, until there are too many keys. */
  private readonly counts = new Map<string, number>();
  private sketch: SpaceSaving | undefined;

  constructor(private readonly keysMax = CHANGED_KEYS_MAX) {}

  count({ domain, rule, entries }: ChangedKeyInput): void {
    this.requests += 1;
    let key = joinedPart(toText(domain)) + joinedPart(rule);
    for (const entry of entries) key += joinedPart(entry.key) + joinedPart(shortened(entry.value));
    const { counts, sketch } = this;
    if (sketch !== undefined) {
      addTo(sketch, key, 1);
      return;
    }
    const known = counts.get(key);
    if (known !== undefined || counts.size < this.keysMax) counts.set(key, (known ?? 0) + 1);
    else addTo(this.begin(), key, 1);
  }

  /** The keys with the most requests first; those with as many have a fixed order. */
  top(max: number): ChangedKey[] {
    return this.all()
      .sort((a, b) => b.requests - a.requests || (a.key < b.key ? -1 : 1))
      .slice(0, max)
      .map(({ key, requests, error }) => {
        const [domain = '', rule = '', ...rest] = partsOf(key);
        const entries = [];
        for (let i = 0; i < rest.length; i += 2) entries.push({ key: toText(rest[i] ?? ''), value: toText(rest[i + 1] ?? '') });
        return { domain, rule, entries, requests, ...(error > 0 && { error }) };
      });
  }

  private all(): { readonly key: string; readonly requests: number; readonly error: number }[] {
    const { sketch } = this;
    if (sketch === undefined) return Array.from(this.counts, ([key, requests]) => ({ key, requests, error: 0 }));
    return sketch.keys.map((key, counter) => ({ key, requests: sketch.counts[counter] ?? 0, error: sketch.errors[counter] ?? 0 }));
  }

  /** From here on, keys with few requests may be counted too high or be missing. */
  private begin(): SpaceSaving {
    const sketch = new SpaceSaving(this.keysMax);
    for (const [key, requests] of this.counts) addTo(sketch, key, requests);
    this.counts.clear();
    this.sketch = sketch;
    return sketch;
  }
}

function addTo(sketch: SpaceSaving, key: string, requests: number): void {
  const hashed = { key, hash: hashOfKey(key) };
  if (sketch.count(hashed, -1, requests) < 0 && sketch.filter(hashed, requests)) sketch.enter(hashed, requests);
}

function shortened(value: ByteString): ByteString {
  if (value.length <= VALUE_LENGTH_MAX) return value;
  const digest = createHash('sha256').update(value, 'latin1').digest('hex').slice(0, 16);
  return `${value.slice(0, VALUE_LENGTH_SHOWN)}~${digest}`;
}
