/** Where the configuration comes from, and which algorithm counts there unless it says otherwise. */

import path from 'node:path';
import type { Algorithm } from '../rule/limit';
import type { RuleSet } from '../rule/rule-set';
import { compileConfig } from './compile';
import { readConfigFiles, type ConfigSource } from './config-files';
import type { Settings } from './settings';

/** The reference's default of RUNTIME_ROOT. */
const RUNTIME_ROOT_DEFAULT = '/srv/runtime_data/current';

/** `--config` wins over RUNTIME_*, which stand even when unset, by their defaults. */
export function chooseSource({
  configPath,
  settings,
}: {
  configPath?: string;
  settings: Pick<Settings, 'runtimeRoot' | 'runtimeSubdirectory' | 'runtimeAppdirectory'>;
}): ConfigSource {
  if (configPath !== undefined) return { kind: 'path', path: configPath };
  const { runtimeRoot = RUNTIME_ROOT_DEFAULT, runtimeSubdirectory, runtimeAppdirectory } = settings;
  return { kind: 'runtime', directory: path.join(runtimeRoot, runtimeSubdirectory, runtimeAppdirectory) };
}

/** Which algorithm counts where neither a limit nor its domain says, and why, as a sentence for the log. */
export function chooseDefaultAlgorithm({
  source,
  settings,
}: {
  source: ConfigSource;
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
  return { algorithm: 'token_bucket', reason: 'Limits count in token_bucket: the configuration comes from --config.' };
}

export interface LoadOptions {
  readonly source: ConfigSource;
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`. */
  readonly calendarMonth: boolean;
  /** Of the rule set to be made: 1 for the first load. */
  readonly generation: number;
}

/** Reads and compiles the whole set. Throws ConfigError with every problem of every file. */
export function loadRuleSet({ source, ...options }: LoadOptions): RuleSet {
  const { files, problems } = readConfigFiles(source);
  return compileConfig({ files, problems, ...options });
}
