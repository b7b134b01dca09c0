/** Which statsd server is told, if any, and under which names. */

import { tags, type Parsed } from './setting-types';
import type { Environment, Settings } from './settings';
import { SettingsError, type SettingProblem } from './settings-error';
import { SETTINGS_TABLE } from './settings-table';
import { show } from './show';

export interface StatsdChoice {
  readonly protocol: 'tcp' | 'udp';
  readonly host: string;
  readonly port: number;
  /** It knows tags: dogstatsd. */
  readonly knowsTags: boolean;
  /** Of dogstatsd only. */
  readonly mogrifiers: readonly MogrifierTexts[];
}

/** As the environment has them. */
export interface MogrifierTexts {
  /** The environment variable of the pattern. */
  readonly variable: string;
  readonly pattern: string;
  readonly name: string;
  readonly tags: ReadonlyMap<string, string>;
}

/** Characters of a pattern. */
const PATTERN_CHARS_MAX = 1_024;

const PREFIX = 'DOG_STATSD_MOGRIFIER_';
const PARTS = ['PATTERN', 'NAME', 'TAGS'] as const;
const TAGS = tags();

export interface ChooseStatsdInput {
  readonly settings: Settings;
  readonly env: Environment;
}

/** Throws SettingsError if both servers are asked for, or a mogrifier is not whole. Undefined: none is told. */
export function chooseStatsd({ settings, env }: ChooseStatsdInput): StatsdChoice | undefined {
  const { useStatsd, useDogStatsd, statsdHost, statsdPort, statsdProtocol, disableStats } = settings;
  if (useStatsd === true && useDogStatsd) {
    throw new SettingsError([{ name: 'USE_STATSD', message: 'USE_DOG_STATSD is set as well, but one server is told; take one of them out' }]);
  }
  const isAddressed = statsdHost !== undefined || statsdPort !== undefined || statsdProtocol !== undefined;
  if (disableStats || !(useDogStatsd || (useStatsd ?? isAddressed))) return undefined;
  return {
    protocol: useDogStatsd ? 'udp' : (statsdProtocol ?? 'tcp'),
    host: statsdHost ?? 'localhost',
    port: statsdPort ?? 8125,
    knowsTags: useDogStatsd,
    mogrifiers: useDogStatsd ? readMogrifiers(settings.useDogStatsdMogrifiers ?? [], env) : [],
  };
}

/** Whether the variable is one of a mogrifier that is in use. */
export function isOfMogrifier(variable: string, env: Environment): boolean {
  if (!variable.startsWith(PREFIX)) return false;
  const isOn = SETTINGS_TABLE.useDogStatsd.type.parse(env.USE_DOG_STATSD ?? '');
  const inUse = SETTINGS_TABLE.useDogStatsdMogrifiers.type.parse(env.USE_DOG_STATSD_MOGRIFIERS ?? '');
  if (isOn === undefined || !('value' in isOn) || !isOn.value || inUse === undefined || !('value' in inUse)) return false;
  return inUse.value.some((name) => PARTS.some((part) => variable === `${PREFIX}${name}_${part}`));
}

function readMogrifiers(names: readonly string[], env: Environment): MogrifierTexts[] {
  const problems: SettingProblem[] = [];
  const mogrifiers = names.map((name) => {
    const variable = `${PREFIX}${name}`;
    const [pattern, newName, tagText] = PARTS.map((part) => env[`${variable}_${part}`] ?? '');
    if (!pattern) problems.push({ name: `${variable}_PATTERN`, message: `USE_DOG_STATSD_MOGRIFIERS names ${name}, so it must be set` });
    else if (pattern.length > PATTERN_CHARS_MAX) problems.push({ name: `${variable}_PATTERN`, message: `it has ${pattern.length} characters; use at most ${PATTERN_CHARS_MAX}` });
    if (!newName) problems.push({ name: `${variable}_NAME`, message: `USE_DOG_STATSD_MOGRIFIERS names ${name}, so it must be set` });
    const parsed: Parsed<ReadonlyMap<string, string>> | undefined = tagText ? TAGS.parse(tagText) : { value: new Map() };
    if (parsed === undefined) problems.push({ name: `${variable}_TAGS`, message: `${show(tagText ?? '')} is not accepted; use ${TAGS.accepts}` });
    const tagMap = parsed !== undefined && 'value' in parsed ? parsed.value : new Map<string, string>();
    return { variable: `${variable}_PATTERN`, pattern: pattern ?? '', name: newName ?? '', tags: tagMap };
  });
  if (problems.length > 0) throw new SettingsError(problems);
  return mogrifiers;
}
