/** A row of the settings table: one environment variable, its type, default and meaning. */

import type { SettingType } from './setting-types';

export const GROUPS = [
  'Listening',
  'Configuration',
  'Decisions',
  'Answers',
  'Store',
  'Logs and metrics',
  'Traces',
  'Events',
  'Admin API',
  'Life cycle',
] as const;

export interface SettingRow<T = unknown, Default extends string | undefined = string | undefined> {
  /** The name of the environment variable. */
  readonly name: string;
  readonly group: (typeof GROUPS)[number];
  readonly type: SettingType<T>;
  /** As written in the environment; undefined: unset, and the value is undefined too. */
  readonly default: Default;
  /** One or more sentences for the documentation. */
  readonly meaning: string;
  /** Whether the value, even an invalid one, must never be shown. */
  readonly secret?: true;
}

/** Keeps the types of each row, so that Settings can be inferred from the table. */
export function row<T, Default extends string | undefined>(setting: SettingRow<T, Default>): SettingRow<T, Default> {
  return setting;
}
