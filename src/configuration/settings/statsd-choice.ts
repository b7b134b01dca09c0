/** Chooses the statsd server that metrics are reported to, if any, and their names. */

import { tags, type Parsed } from './table/setting-types';
import type { Environment, Settings } from './table/settings';
import { SettingsError, type SettingProblem } from './table/settings-error';
import { SETTINGS_TABLE } from './table/settings-table';
import { show } from '../../lib/quote';

export interface StatsdChoice {
  readonly protocol: 'tcp' | 'udp';
  readonly host: string;
  readonly port: number;
  /** Whether the server accepts tags (dogstatsd). */
  readonly knowsTags: boolean;
  /** For dogstatsd only. */
  readonly mogrifiers: readonly MogrifierTexts[];
}

/** A mogrifier as the environment defines it. */
export interface MogrifierTexts {
  /** The environment variable of the pattern. */
  readonly variable: string;
  readonly pattern: string;
  readonly name: string;
  readonly tags: ReadonlyMap<string, string>;
}

/** Most characters of a pattern. */
const PATTERN_CHARS_MAX = 1_024;

const PREFIX = 'DOG_STATSD_MOGRIFIER_';
const PARTS = ['PATTERN', 'NAME', 'TAGS'] as const;
const TAGS = tags();

export interface ChooseStatsdInput {
  readonly settings: Settings;
  readonly env: Environment;
}

/** Undefined: metrics are not reported. Throws SettingsError if both servers are enabled, or a mogrifier is incomplete. */
export function chooseStatsd({ settings, env }: ChooseStatsdInput): StatsdChoice | undefined {
  const { useStatsd, useDogStatsd, statsdHost, statsdPort, statsdProtocol, disableStats } = settings;
  if (useStatsd === true && useDogStatsd) {
    throw new SettingsError([
      { name: 'USE_STATSD', message: 'USE_DOG_STATSD is set too, but Weir reports to one server only; remove one of the two' },
    ]);
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

/** Whether the variable belongs to a mogrifier in use. */
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
    else if (pattern.length > PATTERN_CHARS_MAX)
      problems.push({ name: `${variable}_PATTERN`, message: `it has ${pattern.length} characters; use at most ${PATTERN_CHARS_MAX}` });
    if (!newName) problems.push({ name: `${variable}_NAME`, message: `USE_DOG_STATSD_MOGRIFIERS names ${name}, so it must be set` });
    const parsed: Parsed<ReadonlyMap<string, string>> | undefined = tagText ? TAGS.parse(tagText) : { value: new Map() };
    if (parsed === undefined)
      problems.push({ name: `${variable}_TAGS`, message: `${show(tagText ?? '')} is not accepted; use ${TAGS.accepts}` });
    const tagMap = parsed !== undefined && 'value' in parsed ? parsed.value : new Map<string, string>();
    return { variable: `${variable}_PATTERN`, pattern: pattern ?? '', name: newName ?? '', tags: tagMap };
  });
  if (problems.length > 0) throw new SettingsError(problems);
  return mogrifiers;
}
