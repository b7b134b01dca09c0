/** The configuration as a command reads it offline: the files that `weir serve` would serve, understood as it would. */

import type { CompileOptions } from '../config/compile';
import { readConfigFiles, type ConfigSource } from '../config/config-files';
import { readSettings, type Environment, type Settings } from '../config/settings';
import { SETTINGS_TABLE } from '../config/settings-table';
import { chooseDefaultAlgorithm, chooseSource } from '../config/source';

/** What bears on the meaning of a configuration, or on its bucket keys; a bad setting of another kind is no matter here. */
const SETTINGS = [
  'runtimeRoot',
  'runtimeSubdirectory',
  'runtimeAppdirectory',
  'runtimeWatchRoot',
  'defaultAlgorithm',
  'mergeDomainConfig',
  'useCalendarMonthRateLimit',
  'shadowMode',
  'quotaMode',
  'cacheKeyPrefix',
] as const;

export type ConfigurationSettings = Pick<Settings, (typeof SETTINGS)[number]>;

export interface Configuration {
  readonly settings: ConfigurationSettings;
  readonly options: CompileOptions;
}

/**
 * Never rejects for what the files say: what can't be read is among the problems.
 *
 * @throws SettingsError
 */
export async function readConfiguration({ path, env }: { readonly path: string | undefined; readonly env: Environment }): Promise<Configuration> {
  const settings = readRelevantSettings(env);
  const source = chooseSource({ settings, ...(path !== undefined && { configPath: path }) });
  return readFrom(source, settings);
}

/**
 * The same for a directory that the reference would read.
 *
 * @throws SettingsError
 */
export async function readRuntimeDirectory({ directory, env }: { readonly directory: string; readonly env: Environment }): Promise<Configuration> {
  return readFrom({ kind: 'runtime', directory }, readRelevantSettings(env));
}

function readRelevantSettings(env: Environment): ConfigurationSettings {
  const names = SETTINGS.map((property) => SETTINGS_TABLE[property].name);
  return readSettings(Object.fromEntries(names.map((name) => [name, env[name]])));
}

async function readFrom(source: ConfigSource, settings: ConfigurationSettings): Promise<Configuration> {
  const { algorithm } = chooseDefaultAlgorithm({ source, settings });
  const { files, problems } = await readConfigFiles(source);
  const { useCalendarMonthRateLimit: calendarMonth, mergeDomainConfig } = settings;
  return { settings, options: { files, problems, defaultAlgorithm: algorithm, calendarMonth, mergeDomainConfig, generation: 1 } };
}
