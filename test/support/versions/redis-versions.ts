/** The servers of other versions of Redis, and of Valkey. */

import { describePinned, listPinned, type PinnedVersion } from './pinned-versions';
import { startRedis, type RedisServer } from '../redis/redis-server';

/** Named as `redis-6.0.5`: the product, and the version that its INFO has to tell. */
export function listVersions(): PinnedVersion[] {
  return listPinned('install/redis-versions.mjs');
}

export function describeVersion(version: PinnedVersion, define: (start: () => Promise<RedisServer>) => void): void {
  describePinned(version, () => {
    define(() => startRedis({ binary: version.binary }));
  });
}
