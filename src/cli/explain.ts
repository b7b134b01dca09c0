/** `weir explain`: which descriptors of the configuration take those of a request, offline. */

import { parseArgs } from 'node:util';
import { examineConfig } from '../config/compile';
import type { DeclaredLevel } from '../config/lint/declared-level';
import type { Environment } from '../config/settings';
import { toByteString } from '../descriptor/byte-string';
import type { DescriptorLevel } from '../descriptor/tree';
import { readConfiguration } from './configuration';
import { explainRequest } from './explanation';
import { formatExplanation } from './explanation-text';
import { readDescriptors } from './read-descriptor';
import { readChoice, UsageError } from './usage-error';

export const EXPLAIN_USAGE = `weir explain [--config FILE|DIR] --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE
             [--descriptor KEY=VALUE …] [--format text|json] [--merge-domains]

  --config FILE|DIR  as of weir serve
  --domain           of the request
  --descriptor       of the request: its entries in their order; may be repeated. \\, and \\= stand for , and =
  --format           text (default) or json
  --merge-domains    as MERGE_DOMAIN_CONFIG=true: a domain may be in several files

Says for each entry which descriptor of the configuration takes it and why the others do not, what limits it, and in
which bucket. SHADOW_MODE, QUOTA_MODE and CACHE_KEY_PREFIX hold as for weir serve.`;

export const EXPLAIN_OPTIONS = {
  config: { type: 'string' },
  domain: { type: 'string' },
  descriptor: { type: 'string', multiple: true },
  format: { type: 'string' },
  'merge-domains': { type: 'boolean' },
} as const;

/**
 * Resolves with the exit code.
 *
 * @throws UsageError, SettingsError or ConfigError
 */
export async function explain({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: EXPLAIN_OPTIONS });
  const format = readChoice('--format', values.format, ['text', 'json']);
  const { domain } = values;
  if (domain === undefined || domain === '') throw new UsageError('--domain is missing; give the domain of the request');
  const descriptors = readDescriptors('--descriptor', values.descriptor ?? []);
  const { settings, options } = await readConfiguration({ path: values.config, env, mergesDomains: values['merge-domains'] === true });
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const { ruleSet, list } = examineConfig({ ...options, onLevel: (declared) => levels.set(declared.level, declared) });
  list.throwIfAny();
  const explanation = explainRequest({
    ruleSet,
    levels,
    request: { domain: toByteString(domain), descriptors: descriptors.map((entries) => ({ entries })), hits: 1 },
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: () => Date.now() * 1000,
  });
  process.stdout.write(format === 'json' ? `${JSON.stringify(explanation, null, 2)}\n` : formatExplanation(explanation));
  return 0;
}
