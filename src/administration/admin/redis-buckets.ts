/** The buckets in Redis, for the admin API, on the connections of its thread. */

import { isGroupOutside, type Group, type GroupVerdict } from '../../domain/bucket/take';
import { domainKeyStart } from '../../domain/bucket/bucket-key';
import { toByteString } from '../../domain/descriptor/byte-string';
import type { BucketPage, BucketQuery, BucketsPort } from './backend';
import { AdminProblem } from './problem';
import type { Store } from '../../state/store/port/store';
import { StoreError } from '../../state/store/port/store-error';
import { readList, readWhole } from '../../state/store/redis/client/read-reply';
import { loadScript } from '../../state/store/redis/script-loader';
import type { RunScript } from '../../state/store/redis/redis-store';

interface Server {
  readonly run: RunScript;
}

export interface RedisBucketsOptions {
  /** Decides on every bucket. */
  readonly store: Store;
  readonly main: Server;
  /** Has the buckets of limits of one second; undefined: the main one. */
  readonly second: Server | undefined;
  readonly isCluster: boolean;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Whether keys of the domain are spread over slots. */
  readonly isSpread: (domain: string) => boolean;
  /** Drops cached denials of the deciding process. */
  readonly onReset: (bucketKeys: readonly string[]) => Promise<void>;
}

/** Keys that one step of a list looks at: well below a millisecond of Redis. */
const SCANNED = 1_000;

const NO_OPTIONS = {};

/** Characters with a meaning in patterns of Redis. */
const GLOB = /[*?[\]\\^]/g;

export class RedisBuckets implements BucketsPort {
  private readonly forget = loadScript('forget');
  private readonly listKeys = loadScript('list-keys');

  constructor(private readonly options: RedisBucketsOptions) {}

  async take(groups: readonly Group[]): Promise<readonly (GroupVerdict | undefined)[]> {
    const outcomes = await this.options.store.take(groups);
    return outcomes.map((outcome, i) => {
      if (outcome instanceof StoreError) throw outcome;
      // The clocks differ, or a calendar window has just ended: the next try names the right one.
      const group = groups[i];
      return 'verdicts' in outcome && group !== undefined && !isGroupOutside(group, outcome.nowUs) ? outcome : undefined;
    });
  }

  async reset(bucketKeys: readonly string[]): Promise<number> {
    const { main, second, onReset } = this.options;
    const read = (reply: unknown) => readWhole(reply, 0, 1);
    // A key is in one of the two servers, and its limit is not known here.
    const servers = second === undefined ? [main] : [main, second];
    const deleted = await Promise.all(
      servers.flatMap((server) => bucketKeys.map((key) => server.run({ script: this.forget, keys: [key], args: [], read }, NO_OPTIONS))),
    );
    await onReset(bucketKeys);
    return deleted.reduce((sum, count) => sum + count, 0);
  }

  /** The cursor has the number of the server and the cursor of SCAN. */
  async list({ domain, prefix, cursor = '0-0' }: BucketQuery): Promise<BucketPage> {
    const { main, second, isCluster, keyPrefix, isSpread } = this.options;
    if (isCluster && isSpread(domain)) {
      throw new AdminProblem(
        'not-supported',
        'hash_tag spreads the buckets of the domain over the Redis Cluster; look them up by their descriptors',
      );
    }
    const [, number, from] = /^([01])-(\d{1,20})$/.exec(cursor) ?? [];
    if (number === undefined || from === undefined) throw AdminProblem.ofField('query/cursor', 'it is not `next` of a page');
    const start = domainKeyStart(keyPrefix, toByteString(domain));
    const pattern = `${start.replace(GLOB, '\\$&')}${prefix === '' ? '[}|]' : `}${prefix.replace(GLOB, '\\$&')}`}*`;
    const server = number === '1' ? second : main;
    if (server === undefined) return { keys: [] };
    const [next, ...keys] = await server.run(
      { script: this.listKeys, keys: [`${start}}`], args: [from, pattern, String(SCANNED)], read: readTexts },
      NO_OPTIONS,
    );
    if (next !== '0') return { keys, next: `${number}-${next ?? '0'}` };
    return { keys, ...(number === '0' && second !== undefined && { next: '1-0' }) };
  }
}

function readTexts(reply: unknown): readonly string[] {
  return readList(reply).map(String);
}
