/** Every setting as it stands in an environment: what holds, where it comes from, and what is wrong or without a use. */

import { referenceSettingsIn } from './check-reference-settings';
import { chooseWorkers } from './choose-workers';
import { readGrpcTls } from './grpc-tls';
import { misspelledSettings, type MisspelledSetting } from './misspelled-settings';
import { readSettings, type Environment, type Settings } from './settings';
import { SettingsError, type SettingProblem } from './settings-error';
import { SETTINGS_TABLE, type SettingRow } from './settings-table';
import { chooseStatsd } from './statsd-choice';
import { chooseStore } from './store-choice';
import { readXdsTls } from './xds-tls';

export interface SettingsInForce {
  readonly settings: readonly SettingInForce[];
  /** The reference's, set, but of no effect here, or a reason not to start. */
  readonly reference: readonly { readonly name: string; readonly refused: boolean; readonly instead: string }[];
  readonly unknown: readonly MisspelledSetting[];
  /** Why Weir would not start here. */
  readonly problems: readonly SettingProblem[];
}

export interface SettingInForce {
  readonly name: string;
  readonly group: SettingRow['group'];
  /** As it would be written in the environment; undefined: unset. Of a secret that is set, `SECRET`. */
  readonly value: string | undefined;
  readonly source: 'environment' | 'default';
}

/** Stands for every secret, however long it is. */
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

/** As the server finds them: settings that do not go together, and files that can't be read here, are among them. */
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
    ...problemsIn(() => chooseStatsd({ settings: read, env })),
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
