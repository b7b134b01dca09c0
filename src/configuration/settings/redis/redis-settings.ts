/** The settings of the connection to one Redis. */

import type { RedisIdentitySettings } from './redis-auth';
import type { RedisTlsSettings } from './redis-tls';
import type { Settings } from '../table/settings';

export type RedisSettings = RedisTlsSettings &
  RedisIdentitySettings &
  Pick<Settings, 'redisUrl' | 'redisType' | 'redisSocketType' | 'redisSentinelAuth' | 'redisPipelineWindowMs' | 'redisPipelineLimit'>;
