/** `/bin/ratelimit_config_check` of the image: the offline checker of envoyproxy/ratelimit, with the same flags and last line. */

import { examineConfig } from '../../../configuration/compile/compile';
import { ConfigError } from '../../../configuration/problems/config-error';
import type { Environment } from '../../../configuration/settings/table/settings';
import { readRuntimeDirectory } from '../configuration';
import { readGoFlags } from './go-flags';
import { UsageError } from '../usage-error';

export const REFERENCE_CONFIG_CHECK_FLAGS = { config_dir: 'string', merge_domain_configs: 'boolean' } as const;

/**
 * Resolves to the exit code: 1 for an invalid configuration. `weir check` reports more.
 *
 * @throws UsageError or SettingsError
 */
export async function referenceConfigCheck({
  args,
  env,
}: {
  readonly args: readonly string[];
  readonly env: Environment;
}): Promise<number> {
  const { config_dir: directory = '', merge_domain_configs: mergesDomains } = readGoFlags(args, REFERENCE_CONFIG_CHECK_FLAGS);
  if (directory === '') throw new UsageError('-config_dir is missing; give the directory of the configuration');
  console.log(`checking rate limit configs...\nloading config directory: ${directory}`);
  const { options } = await readRuntimeDirectory({ path: directory, env, mergesDomains });
  const { list } = examineConfig(options);
  try {
    list.throwIfAny();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.log(`error loading rate limit configs: ${error.message}`);
    return 1;
  }
  console.log('all rate limit configs ok');
  return 0;
}
