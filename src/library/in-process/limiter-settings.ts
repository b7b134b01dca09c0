/** The options of a limiter in the process, as settings of the service. */

import { chooseStore, type StoreChoice } from '../../settings/redis/store-choice';
import { readSettings, type Settings } from '../../settings/table/settings';
import type { SettingRow } from '../../settings/table/setting-row';
import { SETTINGS_TABLE } from '../../settings/table/settings-table';
import { readFailureMode } from '../limiter/failure-mode';
import type { FailureMode } from '../limiter/limiter';
import type { LimiterOptions, RulesOption } from './in-process-limiter';

export interface LimiterChoices {
  readonly rules: RulesOption;
  readonly watch: boolean;
  readonly failureMode: FailureMode;
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  readonly log: LimiterOptions['log'];
}

const GROUPS: readonly SettingRow['group'][] = ['Decisions', 'Answers', 'Store'];

/** Settings of other groups that a limiter heeds. */
const ALSO = ['MERGE_DOMAIN_CONFIG', 'LOG_LEVEL', 'LOG_FORMAT', 'METRIC_SERIES_MAX', 'SANITIZE_DESCRIPTOR_METRIC_DOTS'];

/** The option `store` says them. */
const BY_OPTION = ['BACKEND_TYPE', 'REDIS_URL'];

const NAMES: ReadonlySet<string> = new Set(
  Object.values<SettingRow>(SETTINGS_TABLE)
    .filter(({ name, group }) => (GROUPS.includes(group) || ALSO.includes(name)) && !BY_OPTION.includes(name))
    .map(({ name }) => name),
);

/** A program's own output is not the log of its limits. */
const DEFAULTS = { LOG_LEVEL: 'warn' };

/** @throws TypeError or SettingsError */
export function readOptions({
  rules,
  store = 'embedded',
  watch = false,
  failureMode = 'open',
  settings: given = {},
  log,
}: LimiterOptions): LimiterChoices {
  for (const name of Object.keys(given)) {
    if (BY_OPTION.includes(name)) throw new TypeError(`settings.${name} is set; use the option store instead`);
    if (!NAMES.has(name)) throw new TypeError(`settings.${name} is not a setting that a limiter heeds; see docs/libraries.md`);
  }
  if (watch && typeof rules !== 'string')
    throw new TypeError('watch is true, but the rules are no path; give the path of a file or a directory');
  const settings = readSettings({ ...DEFAULTS, ...given, ...readStore(store) });
  return { rules, watch, failureMode: readFailureMode(failureMode), settings, storeChoice: chooseStore(settings), log };
}

function readStore(store: NonNullable<LimiterOptions['store']>): Readonly<Record<string, string>> {
  if (store === 'embedded') return { BACKEND_TYPE: 'memory' };
  if (typeof store !== 'object' || typeof store.redis !== 'string' || store.redis === '')
    throw new TypeError("store is invalid; write 'embedded', or { redis: URL } such as { redis: 'redis://localhost:6379' }");
  return { BACKEND_TYPE: 'redis', REDIS_URL: store.redis };
}
