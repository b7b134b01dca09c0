/** Every setting as the environment has it: value, source, and what is wrong or has no effect. */

import { chooseAdmin } from './admin-choice';
import { referenceSettingsIn } from './check-reference-settings';
import { chooseWorkers } from './choose-workers';
import { readGrpcTls } from './tls/grpc-tls';
import { misspelledSettings, type MisspelledSetting } from './misspelled-settings';
import { readSettings, type Environment, type Settings } from './table/settings';
import { SettingsError, type SettingProblem } from './table/settings-error';
import type { SettingRow } from './table/setting-row';
import { SETTINGS_TABLE } from './table/settings-table';
import { chooseTracing } from './trace-choice';
import { chooseStatsd } from './statsd-choice';
import { chooseStore } from './redis/store-choice';
import { readXdsTls } from './tls/xds-tls';

export interface SettingsInForce {
  readonly settings: readonly SettingInForce[];
  /** Settings of the reference that are set here, but have no effect or prevent the start. */
  readonly reference: readonly { readonly name: string; readonly refused: boolean; readonly instead: string }[];
  readonly unknown: readonly MisspelledSetting[];
  /** Reasons why Weir would not start with this environment. */
  readonly problems: readonly SettingProblem[];
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
  const reference = referenceSettingsIn(env).map(({ name, refused, instead }) => ({ name, refused, instead }));
  const refusals = reference.filter(({ refused }) => refused).map(({ name, instead }) => ({ name, message: instead }));
  return {
    settings: Object.values<SettingRow>(SETTINGS_TABLE).map((row) => inForce(row, env[row.name])),
    reference,
    unknown: misspelledSettings(env),
    problems: [...problemsOf(env), ...refusals],
  };
}

/** An empty variable counts as unset, as for the server. */
function inForce({ name, group, secret, default: otherwise }: SettingRow, given: string | undefined): SettingInForce {
  if (given === undefined || given === '') return { name, group, value: otherwise, source: 'default' };
  return { name, group, value: secret ? SECRET : given, source: 'environment' };
}

/** Runs the checks of the server's start, so settings that contradict each other and unreadable files are included. */
function problemsOf(env: Environment): readonly SettingProblem[] {
  let settings: Settings | undefined;
  const unread = problemsIn(() => {
    settings = readSettings(env);
  });
  if (settings === undefined) return unread;
  const read = settings;
  return [
    ...problemsIn(() => chooseWorkers({ settings: read, storeChoice: chooseStore(read) })),
    ...problemsIn(() => readGrpcTls(read)),
    ...problemsIn(() => chooseAdmin(read)),
    ...problemsIn(() => chooseStatsd({ settings: read, env })),
    ...problemsIn(() => chooseTracing(read)),
    ...problemsIn(() => read.configType === 'GRPC_XDS_SOTW' && readXdsTls(read)),
  ];
}

function problemsIn(read: () => unknown): readonly SettingProblem[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
