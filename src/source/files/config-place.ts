/** Chooses the place of the configuration, and the defaults that depend on it. */

import path from 'node:path';
import { PREFERRED_ALGORITHM, REFERENCE_ALGORITHM, type Algorithm } from '../../algorithm/algorithms';
import type { ConfigSource } from './config-files';
import type { Settings } from '../../settings/table/settings';

/** The reference's default of RUNTIME_ROOT. */
const RUNTIME_ROOT_DEFAULT = '/srv/runtime_data/current';

/** Files, or a management server. */
export type ConfigPlace = ConfigSource | { readonly kind: 'xds'; readonly server: string };

/** `--config` overrides CONFIG_TYPE, which overrides RUNTIME_*; the latter have defaults, so there always is a place. */
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
  readonly settings: Pick<
    Settings,
    'configType' | 'configGrpcXdsServerUrl' | 'runtimeRoot' | 'runtimeSubdirectory' | 'runtimeAppdirectory' | 'runtimeWatchRoot'
  >;
}

/**
 * Whether limits take usage reports if neither they nor their domain have `overdraft`. envoyproxy/ratelimit charges hits beyond the
 * limit, and a configuration written for it cannot express that.
 */
export function chooseDefaultOverdraft({
  source,
  settings,
}: {
  readonly source: ConfigPlace;
  readonly settings: Pick<Settings, 'defaultOverdraft'>;
}): boolean {
  return settings.defaultOverdraft ?? source.kind !== 'path';
}

/** The algorithm of limits and domains without one, and the reason as a sentence for the log. */
export function chooseDefaultAlgorithm({ source, settings }: { source: ConfigPlace; settings: Pick<Settings, 'defaultAlgorithm'> }): {
  algorithm: Algorithm;
  reason: string;
} {
  const { defaultAlgorithm } = settings;
  if (defaultAlgorithm !== undefined) {
    return { algorithm: defaultAlgorithm, reason: `Limits use ${defaultAlgorithm} by default: DEFAULT_ALGORITHM is set.` };
  }
  if (source.kind === 'runtime') {
    const reason = `Limits use ${REFERENCE_ALGORITHM} by default, as in envoyproxy/ratelimit: the configuration comes from RUNTIME_ROOT.`;
    return { algorithm: REFERENCE_ALGORITHM, reason };
  }
  if (source.kind === 'xds') {
    const reason = `Limits use ${REFERENCE_ALGORITHM} by default, as in envoyproxy/ratelimit: the configuration comes from the management server at ${source.server}. The RUNTIME_* settings have no effect.`;
    return { algorithm: REFERENCE_ALGORITHM, reason };
  }
  return { algorithm: PREFERRED_ALGORITHM, reason: `Limits use ${PREFERRED_ALGORITHM} by default: the configuration comes from --config.` };
}
