/** Tests that need a Redis with TLS: the servers of pinned packages have none, so there they are skipped by name. */

import { listVersions } from '../versions/redis-versions';

const isPinned = listVersions().some(({ binary }) => binary === process.env.WEIR_REDIS_SERVER);

export const testWithTls = isPinned ? test.skip : test;
