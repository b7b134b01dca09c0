/** Every setting as the environment has it: value, source, and what has no effect. */

import { referenceSettingsIn } from './check-reference-settings';
import { misspelledSettings, type MisspelledSetting } from './misspelled-settings';
import type { Environment } from './table/settings';
import type { SettingRow } from './table/setting-row';
import { SETTINGS_TABLE } from './table/settings-table';

export interface SettingsInForce {
  readonly settings: readonly SettingInForce[];
  /** Settings of the reference that are set here, but have no effect or prevent the start. */
  readonly reference: readonly { readonly name: string; readonly refused: boolean; readonly instead: string }[];
  readonly unknown: readonly MisspelledSetting[];
}

export interface SettingInForce {
  readonly name: string;
  readonly group: SettingRow['group'];
  /** As written in the environment; undefined: unset. A set secret is shown as `SECRET`. */
  readonly value: string | undefined;
  readonly source: 'environment' | 'default';
}

/** Replaces every secret and hides its length. */
export const SECRET = '(secret)';

export function settingsInForce(env: Environment): SettingsInForce {
  return {
    settings: Object.values<SettingRow>(SETTINGS_TABLE).map((row) => inForce(row, env[row.name])),
    reference: referenceSettingsIn(env).map(({ name, refused, instead }) => ({ name, refused, instead })),
    unknown: misspelledSettings(env),
  };
}

/** An empty variable counts as unset, as for the server. */
function inForce({ name, group, secret, default: otherwise }: SettingRow, given: string | undefined): SettingInForce {
  if (given === undefined || given === '') return { name, group, value: otherwise, source: 'default' };
  return { name, group, value: secret ? SECRET : given, source: 'environment' };
}
