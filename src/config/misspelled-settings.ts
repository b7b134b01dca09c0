/** Finds variables of the environment that nobody knows, but with names much like those of settings. */

import { didYouMean } from './did-you-mean';
import { REFERENCE_SETTINGS } from './reference-settings';
import type { Environment } from './settings';
import { SETTINGS_TABLE, type SettingRow } from './settings-table';

export interface MisspelledSetting {
  readonly name: string;
  /** The name that it is most like. */
  readonly meant: string;
}

const KNOWN = [...Object.values<SettingRow>(SETTINGS_TABLE), ...REFERENCE_SETTINGS].map(({ name }) => name.toLowerCase());

/** What Kubernetes puts into the environment of every pod for a service named `redis`, say. */
const OF_KUBERNETES = /_SERVICE_(HOST|PORT)|_PORT(_|$)/;

/** Names begin alike, so that a third of their letters is another word: `REDIS_HOST` is not meant to be `REDIS_TLS`. */
const LETTERS_PER_MISTAKE = 5;

/** Sorted by name. */
export function misspelledSettings(env: Environment): readonly MisspelledSetting[] {
  return Object.keys(env).sort().flatMap((name) => {
    const meant = isMeantOtherwise(name, env) ? undefined : didYouMean(name, KNOWN, { lettersPerMistake: LETTERS_PER_MISTAKE });
    return meant === undefined ? [] : [{ name, meant: meant.toUpperCase() }];
  });
}

function isMeantOtherwise(name: string, env: Environment): boolean {
  const lower = name.toLowerCase();
  const isOfFamily = KNOWN.some((known) => known.endsWith('*') && lower.startsWith(known.slice(0, -1)));
  return env[name] === '' || KNOWN.includes(lower) || isOfFamily || OF_KUBERNETES.test(name);
}
