/** Where the configuration comes from, and how limits count there unless it says otherwise. */

import path from 'node:path';
import type { Algorithm } from '../rule/limit';
import type { ConfigSource } from './config-files';
import type { Settings } from './settings';

/** The reference's default of RUNTIME_ROOT. */
const RUNTIME_ROOT_DEFAULT = '/srv/runtime_data/current';

/** Files, or a management server. */
export type ConfigPlace = ConfigSource | { readonly kind: 'xds'; readonly server: string };

/** `--config` wins over CONFIG_TYPE, and that over RUNTIME_*, which stand even when unset, by their defaults. */
export function choosePlace({ configPath, settings }: ChoosePlaceInput): ConfigPlace {
  if (configPath !== undefined) return { kind: 'path', path: configPath };
  if (settings.configType === 'GRPC_XDS_SOTW') return { kind: 'xds', server: settings.configGrpcXdsServerUrl };
  const { runtimeRoot = RUNTIME_ROOT_DEFAULT, runtimeSubdirectory, runtimeAppdirectory } = settings;
  const directory = path.join(runtimeRoot, runtimeSubdirectory, runtimeAppdirectory);
  return { kind: 'runtime', directory, ...(settings.runtimeWatchRoot && { swappedRoot: path.resolve(runtimeRoot) }) };
}

interface ChoosePlaceInput {
  /** `--config`. */
  readonly configPath?: string | undefined;
  readonly settings: Pick<Settings, 'configType' | 'configGrpcXdsServerUrl' | 'runtimeRoot' | 'runtimeSubdirectory' | 'runtimeAppdirectory' | 'runtimeWatchRoot'>;
}

/**
 * Whether limits take usage reports where neither a limit nor its domain says. envoyproxy/ratelimit charges hits past the
 * limit, and a configuration that was written for it cannot say so.
 */
export function chooseDefaultOverdraft({ source, settings }: { readonly source: ConfigPlace; readonly settings: Pick<Settings, 'defaultOverdraft'> }): boolean {
  return settings.defaultOverdraft ?? source.kind !== 'path';
}

/** Which algorithm counts where neither a limit nor its domain says, and why, as a sentence for the log. */
export function chooseDefaultAlgorithm({
  source,
  settings,
}: {
  source: ConfigPlace;
  settings: Pick<Settings, 'defaultAlgorithm'>;
}): { algorithm: Algorithm; reason: string } {
  const { defaultAlgorithm } = settings;
  if (defaultAlgorithm !== undefined) {
    return { algorithm: defaultAlgorithm, reason: `Limits count in ${defaultAlgorithm}: DEFAULT_ALGORITHM says so.` };
  }
  if (source.kind === 'runtime') {
    const reason = 'Limits count in fixed_window, as envoyproxy/ratelimit does: the configuration comes from RUNTIME_ROOT.';
    return { algorithm: 'fixed_window', reason };
  }
  if (source.kind === 'xds') {
    const reason = `Limits count in fixed_window, as envoyproxy/ratelimit does: the configuration comes from the management server at ${source.server}. RUNTIME_ROOT and its like are not read.`;
    return { algorithm: 'fixed_window', reason };
  }
  return { algorithm: 'token_bucket', reason: 'Limits count in token_bucket: the configuration comes from --config.' };
}
