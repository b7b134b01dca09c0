/** Where the first Redis is: REDIS_URL, or REDIS_HOST and REDIS_PORT, the names that many programs have for it. */

import { isIPv6 } from 'node:net';
import type { Settings } from '../table/settings';

export type RedisPlaceSettings = Pick<Settings, 'redisUrl' | 'redisHost' | 'redisPort'>;

const REDIS_PORT_DEFAULT = 6379;

/** In the form of REDIS_URL. Undefined: no setting says where it is. */
export function redisPlace({ redisUrl, redisHost: host, redisPort: port = REDIS_PORT_DEFAULT }: RedisPlaceSettings): string | undefined {
  if (redisUrl !== undefined || host === undefined) return redisUrl;
  if (isIPv6(host)) return `[${host}]:${port}`;
  return /:\d+$/.test(host) ? host : `${host}:${port}`;
}
