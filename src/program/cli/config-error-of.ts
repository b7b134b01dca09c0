/** Finds the problems of a configuration in files, for a start that its settings stop anyway. */

import { compileConfig } from '../../configuration/compile/compile';
import { ConfigError } from '../../configuration/problems/config-error';
import { SettingsError } from '../../configuration/settings/table/settings-error';
import { choosePlace, mayWaitFor } from '../../configuration/source/files/config-place';
import type { Environment } from '../../configuration/settings/table/settings';
import { readConfiguration } from './configuration';
import { UsageError } from './usage-error';

export interface ConfigErrorInput {
  readonly env: Environment;
  /** `--config`. */
  readonly path: string | undefined;
}

/** Undefined: no problem stops the start, or the settings do not say where the configuration is. */
export async function configErrorOf({ env, path }: ConfigErrorInput): Promise<ConfigError | undefined> {
  try {
    const { settings, options } = await readConfiguration({ path, env, mergesDomains: false });
    if (!mayWaitFor(choosePlace({ settings, configPath: path }), settings)) compileConfig(options);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    // A problem of the settings is reported by itself, and a management server is not asked.
    if (error instanceof SettingsError || error instanceof UsageError) return undefined;
    throw error;
  }
}
