/** Finds variables that only somebody with a Redis sets, where Weir would count in memory for lack of its address. */

import { misspelledSettings } from './misspelled-settings';
import { SETTINGS_TABLE } from './table/settings-table';
import type { Environment } from './table/settings';
import type { SettingProblem } from './table/settings-error';
import type { StoreChoice } from './redis/store-choice';

/** Settings that configure the connection to a Redis, and say nothing without one. */
const OF_CONNECTION = [
  'REDIS_PORT',
  'REDIS_SOCKET_TYPE',
  'REDIS_AUTH',
  'REDIS_AUTH_FILE',
  'REDIS_AWS_IAM_AUTH',
  'REDIS_AZURE_ENTRA_AUTH',
  'REDIS_SENTINEL_AUTH',
  'REDIS_TLS',
  'REDIS_TLS_CACERT',
  'REDIS_TLS_CLIENT_CERT',
  'REDIS_TLS_CLIENT_KEY',
  'REDIS_PERSECOND',
  'REDIS_PERSECOND_URL',
] as const;

const MEANT = ['REDIS_URL', 'REDIS_HOST', 'REDIS_AUTH'];

export interface MeantRedisInput {
  readonly env: Environment;
  readonly storeChoice: StoreChoice;
}

/** One problem for each such variable. None if a setting asks for the memory, or says where the Redis is. */
export function meantRedis({ env, storeChoice }: MeantRedisInput): readonly SettingProblem[] {
  const isByDefault = storeChoice.kind === 'memory' && storeChoice.warning !== undefined;
  if (!isByDefault) return [];
  const misspelled = misspelledSettings(env).filter(({ meant }) => MEANT.includes(meant));
  const names = [
    ...OF_CONNECTION.filter((name) => isGiven(name, env)).map((name) => ({ name, write: undefined })),
    ...misspelled.map(({ name, write }) => ({ name, write })),
  ];
  return names.map(({ name, write = 'REDIS_URL' }) => ({
    name,
    message: `it is set, so a Redis is meant, but no setting says where it is; set ${write}, or BACKEND_TYPE=memory to count in the memory of this process`,
  }));
}

/** Kubernetes sets REDIS_PORT to a URL for every pod beside a service named redis, and false asks for nothing. */
function isGiven(name: (typeof OF_CONNECTION)[number], env: Environment): boolean {
  const written = env[name] ?? '';
  const row = Object.values(SETTINGS_TABLE).find((each) => each.name === name);
  const parsed = written === '' ? undefined : row?.type.parse(written);
  return parsed !== undefined && 'value' in parsed && parsed.value !== undefined && parsed.value !== false;
}
