/** The settings of the connection to one Redis. */

import type { RedisTlsSettings } from './redis-tls';
import type { Settings } from '../table/settings';

export type RedisSettings = RedisTlsSettings &
  Pick<
    Settings,
    | 'redisUrl'
    | 'redisType'
    | 'redisSocketType'
    | 'redisAuth'
    | 'redisAuthFile'
    | 'redisSentinelAuth'
    | 'redisPipelineWindowMs'
    | 'redisPipelineLimit'
  >;
