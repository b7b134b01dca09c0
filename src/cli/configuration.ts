/** The configuration as a command reads it offline: the files that `weir serve` would serve, understood as it would. */

import type { CompileOptions } from '../config/compile';
import { ConfigError } from '../config/config-error';
import { readConfigFiles, type ConfigSource } from '../config/config-files';
import { readIfLarge } from '../config/read-documents';
import { readSettings, type Environment, type Settings } from '../config/settings';
import { SETTINGS_TABLE } from '../config/settings-table';
import { chooseDefaultAlgorithm, chooseDefaultOverdraft, choosePlace } from '../config/source';
import { UsageError } from './usage-error';

/** What bears on the meaning of a configuration, or on its bucket keys; a bad setting of another kind is no matter here. */
const SETTINGS = [
  'configType',
  'configGrpcXdsServerUrl',
  'runtimeRoot',
  'runtimeSubdirectory',
  'runtimeAppdirectory',
  'runtimeWatchRoot',
  'defaultAlgorithm',
  'defaultOverdraft',
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

export interface ReadConfigurationInput {
  /** Undefined: what the environment names. */
  readonly path: string | undefined;
  readonly env: Environment;
  /** As `MERGE_DOMAIN_CONFIG=true`. */
  readonly mergesDomains: boolean;
}

/**
 * Never rejects for what the files say: what can't be read is among the problems.
 *
 * @throws SettingsError, or UsageError if the configuration is in no file
 */
export async function readConfiguration({ path, env, mergesDomains }: ReadConfigurationInput): Promise<Configuration> {
  const settings = readRelevantSettings({ env, mergesDomains });
  const source = choosePlace({ settings, configPath: path });
  if (source.kind === 'xds') throw new UsageError('CONFIG_TYPE=GRPC_XDS_SOTW: the configuration is on a management server, which is not asked here; name a file or a directory');
  return readFrom(source, settings);
}

/**
 * The same for a directory that the reference would read.
 *
 * @throws SettingsError
 */
export async function readRuntimeDirectory({ path: directory, env, mergesDomains }: ReadConfigurationInput & { readonly path: string }): Promise<Configuration> {
  return readFrom({ kind: 'runtime', directory, advice: 'give a directory of .yaml files' }, readRelevantSettings({ env, mergesDomains }));
}

function readRelevantSettings({ env, mergesDomains }: Omit<ReadConfigurationInput, 'path'>): ConfigurationSettings {
  const names = SETTINGS.map((property) => SETTINGS_TABLE[property].name);
  const settings = readSettings(Object.fromEntries(names.map((name) => [name, env[name]])));
  return mergesDomains ? { ...settings, mergeDomainConfig: true } : settings;
}

async function readFrom(source: ConfigSource, settings: ConfigurationSettings): Promise<Configuration> {
  const { algorithm } = chooseDefaultAlgorithm({ source, settings });
  const defaultOverdraft = chooseDefaultOverdraft({ source, settings });
  const { files, problems } = await readFiles(source);
  const { useCalendarMonthRateLimit: calendarMonth, mergeDomainConfig } = settings;
  return { settings, options: { files, problems, defaultAlgorithm: algorithm, defaultOverdraft, calendarMonth, mergeDomainConfig, generation: 1 } };
}

async function readFiles(source: ConfigSource): Promise<Required<Pick<CompileOptions, 'files' | 'problems'>>> {
  const { files, problems } = await readConfigFiles(source);
  try {
    return { files: await readIfLarge(files), problems };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { files: files.map(({ name }) => ({ name })), problems: [...problems, ...error.problems] };
  }
}
