/** Tests that need what some servers lack: there they are skipped by name. */

import { listVersions } from '../versions/redis-versions';

/** The server of a pinned package that the tests run on. */
const pinned = listVersions().find(({ binary }) => binary === process.env.WEIR_REDIS_SERVER);

/** Builds of pinned packages have no TLS. */
export const testWithTls = pinned === undefined ? test : test.skip;

const isRedis6 = pinned?.name.startsWith('redis-6') === true;

export const testFromRedis7 = isRedis6 ? test.skip : test;
export const describeFromRedis7 = isRedis6 ? describe.skip : describe;
