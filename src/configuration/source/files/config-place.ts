/** Chooses the place of the configuration, and the defaults that depend on it. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { PREFERRED_ALGORITHM, REFERENCE_ALGORITHM, type Algorithm } from '../../../domain/algorithm/algorithms';
import type { ConfigSource } from './config-files';
import { PACKAGE_ROOT } from '../../../lib/package-root';
import type { Environment, Settings } from '../../settings/table/settings';

/** The reference's default of RUNTIME_ROOT. */
const RUNTIME_ROOT_DEFAULT = '/srv/runtime_data/current';

/** Each of them says where the configuration is. */
const PLACE_SETTINGS = ['CONFIG_TYPE', 'RUNTIME_ROOT', 'RUNTIME_SUBDIRECTORY', 'RUNTIME_APPDIRECTORY'];

/** In the image and in a checkout; the npm package has none. */
const EXAMPLE = path.join(PACKAGE_ROOT, 'deploy', 'example');

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

/** The example, if there is one and neither the environment nor the reference's default folder says where the configuration is. */
export function chooseExample({
  env,
  example = EXAMPLE,
  runtimeRoot = RUNTIME_ROOT_DEFAULT,
}: {
  readonly env: Environment;
  readonly example?: string;
  readonly runtimeRoot?: string;
}): ConfigSource | undefined {
  const isPlaced = PLACE_SETTINGS.some((name) => env[name] !== undefined && env[name] !== '') || existsSync(runtimeRoot);
  return isPlaced || !existsSync(example) ? undefined : { kind: 'path', path: example };
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
    return { algorithm: defaultAlgorithm, reason: `limits use ${defaultAlgorithm} by default: DEFAULT_ALGORITHM is set` };
  }
  if (source.kind === 'runtime') {
    const reason = `limits use ${REFERENCE_ALGORITHM} by default, as in envoyproxy/ratelimit: the configuration comes from RUNTIME_ROOT`;
    return { algorithm: REFERENCE_ALGORITHM, reason };
  }
  if (source.kind === 'xds') {
    const reason = `limits use ${REFERENCE_ALGORITHM} by default, as in envoyproxy/ratelimit: the configuration comes from the management server at ${source.server}, and the RUNTIME_* settings have no effect`;
    return { algorithm: REFERENCE_ALGORITHM, reason };
  }
  return { algorithm: PREFERRED_ALGORITHM, reason: `limits use ${PREFERRED_ALGORITHM} by default: the configuration comes from --config` };
}

/**
 * Whether a server waits after it starts with an invalid configuration. A deployment that names its files fixes them there, and its
 * rollout waits for ready instances; a person who starts Weir by hand gets the error at once.
 */
export function mayWaitFor(place: ConfigPlace, { runtimeRoot }: Pick<Settings, 'runtimeRoot'>): boolean {
  if (place.kind === 'xds') return true;
  return place.kind === 'runtime' && (runtimeRoot !== undefined || existsSync(place.directory));
}
