/** The second Redis, for limits of one second: the settings of the first one under their own names. */

import type { Settings } from '../table/settings';
import { SettingsError } from '../table/settings-error';
import type { RedisSettings } from './redis-settings';

export type PerSecondSettings = Pick<
  Settings,
  | 'redisPersecond'
  | 'redisPersecondUrl'
  | 'redisPersecondType'
  | 'redisPersecondSocketType'
  | 'redisPersecondAuth'
  | 'redisPersecondAuthFile'
  | 'redisPersecondAwsIamAuth'
  | 'redisPersecondAwsIamCacheName'
  | 'redisPersecondAwsIamUserId'
  | 'redisPersecondAwsIamServerless'
  | 'redisPersecondAzureEntraAuth'
  | 'redisPersecondSentinelAuth'
  | 'redisPersecondTls'
  | 'redisPersecondPipelineWindowMs'
  | 'redisPersecondPipelineLimit'
>;

interface SettingsByRedis {
  readonly main: RedisSettings;
  /** Absent: there is one Redis. */
  readonly perSecond?: RedisSettings;
}

/** Both share the certificate settings. Clears them for a Redis without TLS, which would otherwise be rejected for unused certificates. */
export function settingsByRedis(settings: RedisSettings & PerSecondSettings): SettingsByRedis {
  if (!settings.redisPersecond) return { main: settings };
  const perSecond = {
    ...settings,
    redisUrl: settings.redisPersecondUrl,
    redisType: settings.redisPersecondType,
    redisSocketType: settings.redisPersecondSocketType,
    redisAuth: settings.redisPersecondAuth,
    redisAuthFile: settings.redisPersecondAuthFile,
    redisAwsIamAuth: settings.redisPersecondAwsIamAuth,
    redisAwsIamCacheName: settings.redisPersecondAwsIamCacheName,
    redisAwsIamUserId: settings.redisPersecondAwsIamUserId,
    redisAwsIamServerless: settings.redisPersecondAwsIamServerless,
    redisAzureEntraAuth: settings.redisPersecondAzureEntraAuth,
    redisSentinelAuth: settings.redisPersecondSentinelAuth,
    redisTls: settings.redisPersecondTls,
    redisPipelineWindowMs: settings.redisPersecondPipelineWindowMs,
    redisPipelineLimit: settings.redisPersecondPipelineLimit,
  };
  if (usesTls(settings) === usesTls(perSecond)) return { main: settings, perSecond };
  return usesTls(settings)
    ? { main: settings, perSecond: { ...perSecond, ...NO_CERTIFICATES } }
    : { main: { ...settings, ...NO_CERTIFICATES }, perSecond };
}

const NO_CERTIFICATES = {
  redisTlsCacert: undefined,
  redisTlsClientCert: undefined,
  redisTlsClientKey: undefined,
  redisTlsSkipHostnameVerification: false,
};

function usesTls({ redisTls, redisUrl }: RedisSettings): boolean {
  return redisTls || /^rediss:/i.test(redisUrl ?? '');
}

/** Settings that also exist as REDIS_PERSECOND_…; certificates do not. */
const OWN_NAMES =
  /\bREDIS_(URL|TYPE|SOCKET_TYPE|AUTH|AUTH_FILE|AWS_IAM_AUTH|AWS_IAM_CACHE_NAME|AWS_IAM_USER_ID|AZURE_ENTRA_AUTH|SENTINEL_AUTH|TLS)\b/g;

/** Runs `choose` and renames the settings in its SettingsError to those of the second Redis. */
export function asPerSecond<T>(choose: () => T): T {
  try {
    return choose();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const rename = (text: string) => text.replace(OWN_NAMES, 'REDIS_PERSECOND_$1');
    throw new SettingsError(error.problems.map(({ name, message }) => ({ name: rename(name), message: rename(message) })));
  }
}

/** Set if there are settings for a second Redis that is not enabled. */
export function perSecondWarning(settings: PerSecondSettings): string | undefined {
  if (settings.redisPersecond || settings.redisPersecondUrl === undefined) return undefined;
  return 'REDIS_PERSECOND_URL has no effect because REDIS_PERSECOND is not true: limits per second are counted in the main Redis.';
}
