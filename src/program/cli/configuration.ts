/** The configuration as offline commands read it: the files that `weir serve` would load, with the same meaning. */

import type { CompileOptions } from '../../configuration/compile/compile';
import { ConfigError } from '../../configuration/problems/config-error';
import { lookAt, readConfigFiles, type ConfigSource } from '../../configuration/source/files/config-files';
import { unwrapConfigMap, type UnwrappedFile } from '../../configuration/source/files/config-map';
import { readUnlessSmall } from '../../configuration/yaml/read-documents';
import { readSettings, type Environment, type Settings } from '../../configuration/settings/table/settings';
import { SETTINGS_TABLE } from '../../configuration/settings/table/settings-table';
import { SLOW_MS, SLOW_PIPE_MS, reportedIfSlow } from '../../configuration/source/files/slow-reading';
import { chooseDefaultAlgorithm, chooseDefaultOverdraft, choosePlace } from '../../configuration/source/files/config-place';
import { UsageError } from './usage-error';

/** The settings that change the meaning of a configuration or its bucket keys. Offline commands ignore mistakes in all others. */
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
  /** Files that contain others: by the name of the contained file, the outer file and the key in it. */
  readonly unwrapped: ReadonlyMap<string, Pick<UnwrappedFile, 'file' | 'key'>>;
}

export interface ReadConfigurationInput {
  /** Undefined: the place that the environment names. */
  readonly path: string | undefined;
  readonly env: Environment;
  /** Same as `MERGE_DOMAIN_CONFIG=true`. */
  readonly mergesDomains: boolean;
  /** Same as in CompileOptions. */
  readonly problemsMax?: number;
}

/**
 * Never rejects for the content of the files: a file that cannot be read is one of the problems.
 *
 * @throws SettingsError, or UsageError if the configuration is in no file
 */
export async function readConfiguration({ path, env, mergesDomains, problemsMax }: ReadConfigurationInput): Promise<Configuration> {
  const settings = readRelevantSettings({ env, mergesDomains });
  const source = choosePlace({ settings, configPath: path });
  if (source.kind === 'xds')
    throw new UsageError(
      'CONFIG_TYPE=GRPC_XDS_SOTW: the configuration is on a management server, which offline commands do not read; name a file or a directory',
    );
  return readFrom(source, { settings, problemsMax });
}

/**
 * Reads a directory as envoyproxy/ratelimit would.
 *
 * @throws SettingsError
 */
export async function readRuntimeDirectory({
  path: directory,
  env,
  mergesDomains,
}: ReadConfigurationInput & { readonly path: string }): Promise<Configuration> {
  return readFrom(
    { kind: 'runtime', directory, advice: 'give a directory of .yaml files' },
    { settings: readRelevantSettings({ env, mergesDomains }) },
  );
}

function readRelevantSettings({ env, mergesDomains }: Omit<ReadConfigurationInput, 'path'>): ConfigurationSettings {
  const names = SETTINGS.map((property) => SETTINGS_TABLE[property].name);
  const settings = readSettings(Object.fromEntries(names.map((name) => [name, env[name]])));
  return mergesDomains ? { ...settings, mergeDomainConfig: true } : settings;
}

async function readFrom(
  source: ConfigSource,
  { settings, problemsMax }: { readonly settings: ConfigurationSettings; readonly problemsMax?: number | undefined },
): Promise<Configuration> {
  const { algorithm } = chooseDefaultAlgorithm({ source, settings });
  const defaultOverdraft = chooseDefaultOverdraft({ source, settings });
  const { files, problems, unwrapped } = await readFiles(source, problemsMax);
  const { useCalendarMonthRateLimit: calendarMonth, mergeDomainConfig } = settings;
  const options = {
    files,
    problems,
    defaultAlgorithm: algorithm,
    defaultOverdraft,
    calendarMonth,
    mergeDomainConfig,
    generation: 1,
    ...(problemsMax !== undefined && { problemsMax }),
  };
  return { settings, unwrapped, options };
}

async function readFiles(
  source: ConfigSource,
  max: number | undefined,
): Promise<Required<Pick<CompileOptions, 'files' | 'problems'>> & Pick<Configuration, 'unwrapped'>> {
  const { isReadOnce } = await lookAt(source);
  const slowMs = isReadOnce ? SLOW_PIPE_MS : SLOW_MS;
  const { files: found, problems } = await reportedIfSlow(readConfigFiles(source), { source, slowMs, onTrouble: console.error });
  const unwrapped = new Map<string, UnwrappedFile>();
  const files = found.flatMap((file) => {
    const entries = unwrapConfigMap(file);
    for (const entry of entries) unwrapped.set(entry.document.name, entry);
    return entries.length === 0 ? file : entries.map(({ document }) => document);
  });
  try {
    return { files: await readUnlessSmall(files, { max }), problems, unwrapped };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { files: files.map(({ name }) => ({ name })), problems: [...problems, ...error.problems], unwrapped };
  }
}
