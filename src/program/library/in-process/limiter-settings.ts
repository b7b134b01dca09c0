/** The options of a limiter in the process, as settings of the service. */

import { chooseStore, type StoreChoice } from '../../../configuration/settings/redis/store-choice';
import { readSettings, type Settings } from '../../../configuration/settings/table/settings';
import type { SettingRow } from '../../../configuration/settings/table/setting-row';
import { SETTINGS_TABLE } from '../../../configuration/settings/table/settings-table';
import { readFailureMode } from '../limiter/failure-mode';
import type { FailureMode } from '../limiter/limiter';
import { checkOptions, isFields, kindOf, readHook, unknownName } from '../limiter/read-option';
import { readWaitBounds, type WaitBounds } from '../wait/wait-settings';
import type { LimiterOptions, RulesOption } from './in-process-limiter';

export interface LimiterChoices extends WaitBounds {
  readonly rules: RulesOption;
  readonly watch: boolean;
  readonly failureMode: FailureMode;
  readonly onFailure: ((error: Error) => void) | undefined;
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  readonly log: LimiterOptions['log'];
}

const GROUPS: readonly SettingRow['group'][] = ['Decisions', 'Answers', 'Store'];

/** Settings of other groups that a limiter heeds. */
const ALSO = ['MERGE_DOMAIN_CONFIG', 'LOG_LEVEL', 'LOG_FORMAT', 'METRIC_SERIES_MAX', 'SANITIZE_DESCRIPTOR_METRIC_DOTS'];

/** The option `store` says them. */
const BY_OPTION = ['BACKEND_TYPE', 'REDIS_URL', 'REDIS_HOST', 'REDIS_PORT'];

const NAMES: ReadonlySet<string> = new Set(
  Object.values<SettingRow>(SETTINGS_TABLE)
    .filter(({ name, group }) => (GROUPS.includes(group) || ALSO.includes(name)) && !BY_OPTION.includes(name))
    .map(({ name }) => name),
);

/** A program's own output is not the log of its limits. */
const DEFAULTS = { LOG_LEVEL: 'warn' };

const OPTION_NAMES = ['rules', 'store', 'watch', 'failureMode', 'onFailure', 'settings', 'log', 'waitersMax', 'waitBytesMax'];

/** @throws TypeError or SettingsError */
export function readOptions(options: LimiterOptions): LimiterChoices {
  checkOptions(options, { names: OPTION_NAMES, place: 'createLimiter' });
  const { store = 'embedded', watch = false, failureMode = 'open', onFailure, settings: given = {}, log } = options;
  const rules = readRules(options.rules);
  if (typeof watch !== 'boolean') throw new TypeError(`watch is ${kindOf(watch)}; set true or false`);
  if (watch && typeof rules !== 'string')
    throw new TypeError('watch is true, but rules is not a path; give the path of a file or a directory');
  if (log !== undefined && typeof (log as Partial<typeof log> | null)?.write !== 'function')
    throw new TypeError('log has no method write; set an object such as { write: (line) => … }');
  const settings = readSettings({ ...DEFAULTS, ...readGivenSettings(given), ...readStore(store) });
  return {
    rules,
    watch,
    failureMode: readFailureMode(failureMode),
    onFailure: readHook('onFailure', onFailure),
    settings,
    storeChoice: chooseStore(settings),
    log,
    ...readWaitBounds(options),
  };
}

const RULES_FORMS = "the path of a file or a directory, { text: 'domain: …' }, or { documents: [{ domain: … }] }";

function readRules(rules: unknown): RulesOption {
  if (typeof rules === 'string' && rules !== '') return rules;
  if (isFields(rules)) {
    const sentence = unknownName(rules, { names: ['text', 'documents'], place: 'rules' });
    if (sentence !== undefined) throw new TypeError(sentence);
    const { text, documents } = rules;
    if (typeof text === 'string' && documents === undefined) return { text };
    if (text === undefined && Array.isArray(documents) && documents.every(isFields)) return { documents };
  }
  throw new TypeError(
    `rules is ${rules === '' ? 'an empty text' : kindOf(rules)}${isFields(rules) ? ' of another form' : ''}; give ${RULES_FORMS}`,
  );
}

function readGivenSettings(given: unknown): Readonly<Record<string, string>> {
  if (!isFields(given)) throw new TypeError(`settings is ${kindOf(given)}; set an object such as { FAILURE_MODE: 'closed' }`);
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (BY_OPTION.includes(name)) throw new TypeError(`settings.${name} is set; use the option store instead`);
    if (!NAMES.has(name)) throw new TypeError(`settings.${name} is not a setting that a limiter heeds; see docs/libraries.md`);
    if (typeof value !== 'string') throw new TypeError(`settings.${name} is ${kindOf(value)}; set a text, as in the environment`);
    read[name] = value;
  }
  return read;
}

function readStore(store: unknown): Readonly<Record<string, string>> {
  if (store === 'embedded') return { BACKEND_TYPE: 'memory' };
  if (!isFields(store) || typeof store.redis !== 'string' || store.redis === '' || Object.keys(store).length > 1)
    throw new TypeError("store is invalid; write 'embedded', or { redis: URL } such as { redis: 'redis://localhost:6379' }");
  return { BACKEND_TYPE: 'redis', REDIS_URL: store.redis };
}
