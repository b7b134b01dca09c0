/** Finds environment variables that are not settings but have a name close to one. */

import { didYouMean } from '../../lib/text/did-you-mean';
import { REFERENCE_SETTINGS } from './table/reference-settings';
import type { Environment } from './table/settings';
import type { SettingRow } from './table/setting-row';
import { SETTINGS_TABLE } from './table/settings-table';

export interface MisspelledSetting {
  readonly name: string;
  /** The setting with the most similar name. */
  readonly meant: string;
  /** The assignment to write, if Weir can derive it: `REDIS_URL=redis:6379`. */
  readonly write?: string;
}

const KNOWN = [...Object.values<SettingRow>(SETTINGS_TABLE), ...REFERENCE_SETTINGS].map(({ name }) => name.toLowerCase());

/** Variables that Kubernetes sets in every pod for a service, for example one named `redis`. */
const OF_KUBERNETES = /_SERVICE_(HOST|PORT)|_PORT(_|$)/;

/** Names share prefixes, so with a third of the letters changed they are different words: `REDIS_HOST` is not a misspelled `REDIS_TLS`. */
const LETTERS_PER_MISTAKE = 5;

/** Names of our settings in other programs, which no edit distance finds. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ...[
    'REDIS_HOSTNAME',
    'REDIS_ADDR',
    'REDIS_ADDRESS',
    'REDIS_ENDPOINT',
    'REDIS_SERVER',
    'REDIS_SERVERS',
    'REDIS_NODE',
    'REDIS_NODES',
    'REDIS_URI',
    'REDIS_DSN',
    'REDIS_CONNECTION_STRING',
    'REDIS_MASTER_HOST',
    'REDIS_PRIMARY_HOST',
  ].map((name) => [name, 'REDIS_URL'] as const),
  ['REDIS_PASSWORD', 'REDIS_AUTH'],
]);

/** Sorted by name. */
export function misspelledSettings(env: Environment): readonly MisspelledSetting[] {
  return Object.keys(env)
    .sort()
    .flatMap((name) => {
      const byOther = namedOtherwise(name, env);
      if (byOther !== undefined) return [byOther];
      const meant = isMeantOtherwise(name, env) ? undefined : didYouMean(name, KNOWN, { lettersPerMistake: LETTERS_PER_MISTAKE });
      return meant === undefined ? [] : [{ name, meant: meant.toUpperCase() }];
    });
}

function namedOtherwise(name: string, env: Environment): MisspelledSetting | undefined {
  const { [name]: value = '', REDIS_PORT: port = '' } = env;
  const meant = OTHER_NAMES.get(name.toUpperCase());
  const isSaid = (env[meant ?? ''] ?? '') !== '' || (meant === 'REDIS_URL' && (env.REDIS_HOST ?? '') !== '');
  if (meant === undefined || value === '' || isSaid) return undefined;
  if (meant !== 'REDIS_URL' || !/^[\w.-]+(:\d+)?$/.test(value)) return { name, meant };
  // Kubernetes sets REDIS_PORT too, to a URL, for a service of that name.
  const address = value.includes(':') ? value : `${value}:${/^\d{1,5}$/.test(port) ? port : '6379'}`;
  return { name, meant, write: `${meant}=${address}` };
}

export function describeMisspelled({ name, meant, write }: MisspelledSetting): string {
  return `${name} is not a setting; ${write === undefined ? `did you mean ${meant}?` : `set ${write}`}`;
}

function isMeantOtherwise(name: string, env: Environment): boolean {
  const lower = name.toLowerCase();
  const isOfFamily = KNOWN.some((known) => known.endsWith('*') && lower.startsWith(known.slice(0, -1)));
  return env[name] === '' || KNOWN.includes(lower) || isOfFamily || OF_KUBERNETES.test(name);
}
