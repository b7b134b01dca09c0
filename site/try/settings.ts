/** The settings of the page Try: their fields, and the hash of the address that keeps all of them. Everything that a link may bring has a bound. */

import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import type { RunBounds, RunValues } from '../../src/program/cli/simulate/read-simulation';

/** How much a simulation in a browser may do: a few seconds of work for all algorithms together. */
export const BOUNDS: RunBounds = { arrivalsMax: 20_000, attemptsMax: 50_000, lengthUsMax: 3_660 * 24 * 3_600 * 1_000_000 };

/** A link with more characters is not read. A character of ASCII takes up to three: all settings at their longest fit. */
export const HASH_CHARS_MAX = 25_000;

/** The settings, as written. Empty: the default of `weir simulate`. */
export type Settings = Readonly<Record<SettingName, string>>;

export type SettingName = keyof typeof SETTINGS;

interface Setting {
  readonly charsMax: number;
  /** At first, and in a link without it. */
  readonly otherwise: string;
}

/** By the names of the options of `weir simulate`; `limit` is `requests` for each `unit`. */
const SETTINGS = {
  requests: { charsMax: 16, otherwise: '100' },
  unit: { charsMax: 10, otherwise: 'minute' },
  algorithm: { charsMax: 200, otherwise: ALGORITHMS.join(',') },
  capacity: { charsMax: 16, otherwise: '' },
  rate: { charsMax: 30, otherwise: '' },
  poisson: { charsMax: 30, otherwise: '' },
  seed: { charsMax: 16, otherwise: '' },
  for: { charsMax: 40, otherwise: '' },
  from: { charsMax: 40, otherwise: '' },
  burst: { charsMax: 16, otherwise: '' },
  at: { charsMax: 400, otherwise: '' },
  arrivals: { charsMax: 6_000, otherwise: '' },
  hits: { charsMax: 16, otherwise: '' },
  retry: { charsMax: 40, otherwise: '' },
  'retries-max': { charsMax: 4, otherwise: '' },
  columns: { charsMax: 4, otherwise: '' },
} as const satisfies Readonly<Record<string, Setting>>;

const NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** What is simulated at first: a rate over the limit, and a burst. */
const FIRST: Settings = { ...defaults(), rate: '2/s', for: '3m', burst: '50', at: '90s' };

export function charsMaxOf(name: SettingName): number {
  return SETTINGS[name].charsMax;
}

function defaults(): Settings {
  const entries = NAMES.map((name) => [name, SETTINGS[name].otherwise] as const);
  return Object.fromEntries(entries) as Record<SettingName, string>;
}

/** What is wrong with a setting, or with the link if it names none. */
export interface Problem {
  readonly setting?: SettingName;
  readonly message: string;
}

export interface HashSettings {
  readonly settings: Settings;
  readonly problems: readonly Problem[];
}

/** Never throws, whatever somebody wrote into a link. An empty hash has the settings of the first visit. */
export function readHash(hash: string): HashSettings {
  const text = hash.replace(/^#/, '');
  if (text === '') return { settings: FIRST, problems: [] };
  if (text.length > HASH_CHARS_MAX)
    return {
      settings: FIRST,
      problems: [{ message: `The link has more than ${HASH_CHARS_MAX} characters, so its settings were not read.` }],
    };
  const settings: Record<SettingName, string> = { ...defaults() };
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const [written, value] of new URLSearchParams(text)) {
    const name = NAMES.find((each) => each === written);
    if (name === undefined) problems.push({ message: `The link has an unknown setting, ${JSON.stringify(written.slice(0, 40))}.` });
    else if (seen.has(name)) problems.push({ setting: name, message: 'The link has this setting twice.' });
    else if (value.length > SETTINGS[name].charsMax)
      problems.push({ setting: name, message: `The link has more than ${SETTINGS[name].charsMax} characters here.` });
    else settings[name] = value;
    seen.add(written);
  }
  // A link with a thousand faults is not explained a thousand times.
  return { settings, problems: problems.slice(0, 5) };
}

/** With the settings that differ from those of a link without them. */
export function writeHash(settings: Settings): string {
  const written = NAMES.filter((name) => settings[name] !== SETTINGS[name].otherwise).map(
    (name) => [name, settings[name]] as [string, string],
  );
  return `#${new URLSearchParams(written.length === 0 ? [['requests', settings.requests]] : written).toString()}`;
}

export interface Run {
  readonly limit: string;
  readonly values: RunValues;
}

/** What `weir simulate` is given. */
export function runOf({ requests, unit, at, ...others }: Settings): Run {
  const values = Object.fromEntries(Object.entries(others).filter(([, value]) => value.trim() !== ''));
  const times = at.split(/[\s,]+/).filter((each) => each !== '');
  return { limit: `${requests.trim()}/${unit}`, values: { ...values, ...(times.length > 0 && { at: times }) } };
}

/** The command that simulates the same; the times of a list come on its standard input. */
export function commandOf(settings: Settings): string {
  const { limit, values } = runOf(settings);
  const options = Object.entries(values).flatMap(([name, value]: [string, string | readonly string[]]) => {
    if (name === 'arrivals') return ['--arrivals -'];
    return (typeof value === 'string' ? [value.trim()] : value).map((each) => `--${name} ${each}`);
  });
  return ['weir simulate', `--limit ${limit}`, ...options].join(' ');
}

/** The field of a message of `weir simulate`, which begins with the option that is wrong. */
export function problemOf(message: string): Problem {
  const [, option, rest] = /^--([a-z-]+)(?: with ([a-z_]+: .*)|: .*)$/s.exec(message) ?? [];
  const setting = option === 'limit' ? 'requests' : NAMES.find((name) => name === option);
  if (setting === undefined) return { message: sentence(message.replace(/^weir simulate: /, '')) };
  return { setting, message: sentence(rest ?? message.replace(/^--[a-z-]+: /, '')) };
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
