/** Replaces an entry in a bucket key, so that several values share one bucket. */

import type { ByteString } from '../descriptor/descriptor';

/** The form of a `share_threshold` entry in a bucket key: `key=~pattern`, the same for every value. */
export interface SharedEntry {
  /** `""` for a key with a star: it matches several keys, so it cannot spread buckets. */
  readonly key: ByteString;
  /** `~` and the pattern: no value of an entry is written like that. */
  readonly value: string;
  /** Key and value, as they stand in the bucket key. */
  readonly text: string;
}
