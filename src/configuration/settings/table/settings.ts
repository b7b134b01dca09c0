/** Reads all settings from the environment, as the settings table defines them. */

import type { Parsed } from './setting-types';
import { SettingsError, type SettingProblem } from './settings-error';
import type { SettingRow } from './setting-row';
import { SETTINGS_TABLE } from './settings-table';
import { show } from '../../../lib/quote';

type Table = typeof SETTINGS_TABLE;

type ValueOf<Row> = Row extends SettingRow<infer T, infer Default> ? T | (Default extends string ? never : undefined) : never;

/** One property for each row of the table; durations in milliseconds. */
export type Settings = { readonly [Property in keyof Table]: ValueOf<Table[Property]> };

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as unset. Throws SettingsError with every invalid value. */
export function readSettings(env: Environment): Settings {
  const { settings, problems } = examineSettings(env);
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

/** The same for a report of all problems: an invalid value counts as unset. */
export function examineSettings(env: Environment): { readonly settings: Settings; readonly problems: readonly SettingProblem[] } {
  const problems: SettingProblem[] = [];
  const values = Object.entries(SETTINGS_TABLE).map(([property, row]) => [property, readSetting(row, env, problems)]);
  // Each key of the table has a value of its row's type, which Object.fromEntries cannot express.
  return { settings: Object.fromEntries(values) as Settings, problems };
}

function readSetting(row: SettingRow, env: Environment, problems: SettingProblem[]): unknown {
  const given = env[row.name];
  // A default is parsed like any other text, but an empty default is the value itself.
  const text = given === undefined || given === '' ? row.default : given;
  if (text === undefined || text === '') return text;
  const parsed = row.type.parse(text);
  if (parsed !== undefined && 'value' in parsed) return parsed.value;
  problems.push({ name: row.name, message: explain(row, text, parsed) });
  return given === undefined || given === '' ? undefined : readSetting(row, {}, problems);
}

function explain(row: SettingRow, text: string, parsed: Parsed<unknown> | undefined): string {
  const shown = row.secret ? 'its value' : show(text);
  if (parsed !== undefined && 'refusal' in parsed) return `${shown} is refused: ${parsed.refusal}`;
  const unset = row.default === undefined ? 'leave it unset' : `leave it unset for ${show(row.default)}`;
  return `${shown} is not accepted; use ${row.type.accepts}, or ${unset}`;
}
