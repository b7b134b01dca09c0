/** Replaces values by keyed hashes: equal for equal values, and without the secret nobody can find a value by trying all. */

import { createHmac } from 'node:crypto';
import { copyOf, toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../../domain/descriptor/descriptor';

export interface HashedValuesOptions {
  readonly secret: string;
  /** Keys of entries whose values are hashed; `*`: all. */
  readonly keys: readonly ByteString[];
}

/** Hexadecimal digits of a hash. */
const HASH_CHARS = 16;

/** Hashes that are kept twice over, because a hash takes microseconds. */
const KEPT_MAX = 5_000;

/** Longer values are hashed each time: callers choose them, up to 64 KiB each. */
const KEPT_CHARS_MAX = 256;

const ALL = '*';

export class HashedValues {
  private readonly keys: ReadonlySet<ByteString>;
  private readonly hasAll: boolean;
  /** The hashes used last, and those before them. */
  private recent = new Map<ByteString, string>();
  private older: ReadonlyMap<ByteString, string> = new Map();

  constructor(private readonly options: HashedValuesOptions) {
    this.keys = new Set(options.keys);
    this.hasAll = this.keys.has(ALL);
  }

  hashes(key: ByteString): boolean {
    return this.hasAll || this.keys.has(key);
  }

  of(value: ByteString): string {
    const known = this.recent.get(value);
    if (known !== undefined) return known;
    const hash = this.older.get(value) ?? this.make(value);
    if (value.length > KEPT_CHARS_MAX) return hash;
    if (this.recent.size >= KEPT_MAX) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(copyOf(value), hash);
    return hash;
  }

  /** The level of a rule without the value that it may name. */
  level(level: string, entry: Entry | undefined): string {
    if (entry === undefined || !this.hashes(entry.key)) return level;
    const key = toText(entry.key);
    if (level === key) return level;
    return level.startsWith(`${key}_`) ? `${key}_${this.of(toByteString(level.slice(key.length + 1)))}` : this.of(toByteString(level));
  }

  private make(value: ByteString): string {
    const hash = createHmac('sha256', this.options.secret).update(value, 'latin1').digest('hex');
    return `hmac:${hash.slice(0, HASH_CHARS)}`;
  }
}
