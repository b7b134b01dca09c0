/** `weir explain`: which descriptors of the configuration take those of a request, offline. */

import { parseArgs } from 'node:util';
import { examineConfig } from '../config/compile';
import type { DeclaredLevel } from '../config/lint/declared-level';
import type { Environment } from '../config/settings';
import { toByteString } from '../descriptor/byte-string';
import type { Descriptor, Entry, LimitOverride } from '../descriptor/descriptor';
import type { DescriptorLevel } from '../descriptor/tree';
import { BadRequestError } from '../errors';
import { readConfiguration } from './configuration';
import { explainRequest, type ExplainInput, type Explanation } from './explanation';
import { formatExplanation } from './explanation-text';
import { readDescriptors } from './read-descriptor';
import { readOverrides } from './read-override';
import { readChoice, UsageError } from './usage-error';

export const EXPLAIN_USAGE = `weir explain [--config FILE|DIR] --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE [--limit N/UNIT]
             [--descriptor KEY=VALUE …] [--format text|json] [--merge-domains]

  --config FILE|DIR  as of weir serve
  --domain           of the request
  --descriptor       of the request: its entries in their order; may be repeated. \\, and \\= stand for , and =
  --limit N/UNIT     a limit that the request brings for the descriptor before it: 20/minute, 20/5minute
  --format           text (default) or json
  --merge-domains    as MERGE_DOMAIN_CONFIG=true: a domain may be in several files

Says for each entry which descriptor of the configuration takes it and why the others do not, what limits it, and in
which bucket. SHADOW_MODE, QUOTA_MODE and CACHE_KEY_PREFIX hold as for weir serve.`;

export const EXPLAIN_OPTIONS = {
  config: { type: 'string' },
  domain: { type: 'string' },
  descriptor: { type: 'string', multiple: true },
  limit: { type: 'string', multiple: true },
  format: { type: 'string' },
  'merge-domains': { type: 'boolean' },
} as const;

/**
 * Resolves with the exit code.
 *
 * @throws UsageError, SettingsError or ConfigError
 */
export async function explain({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values, tokens } = parseArgs({ args: [...args], options: EXPLAIN_OPTIONS, tokens: true });
  const format = readChoice('--format', values.format, ['text', 'json']);
  const { domain } = values;
  if (domain === undefined || domain === '') throw new UsageError('--domain is missing; give the domain of the request');
  const overrides = readOverrides(tokens);
  const descriptors = readDescriptors('--descriptor', values.descriptor ?? []).map((entries, index) => toDescriptor(entries, overrides.get(index)));
  const { settings, options } = await readConfiguration({ path: values.config, env, mergesDomains: values['merge-domains'] === true });
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const { ruleSet, list } = examineConfig({ ...options, onLevel: (declared) => levels.set(declared.level, declared) });
  list.throwIfAny();
  const explanation = explainOrRefuse({
    ruleSet,
    levels,
    request: { domain: toByteString(domain), descriptors, hits: 1 },
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: () => Date.now() * 1000,
  });
  process.stdout.write(format === 'json' ? `${JSON.stringify(explanation, null, 2)}\n` : formatExplanation(explanation));
  return 0;
}

function toDescriptor(entries: readonly Entry[], override: LimitOverride | undefined): Descriptor {
  return { entries, ...(override && { override }) };
}

/** A limit of the request that the algorithm of its rule can't count is told as a caller would be told. */
function explainOrRefuse(input: ExplainInput): Explanation {
  try {
    return explainRequest(input);
  } catch (error) {
    throw error instanceof BadRequestError ? new UsageError(error.message) : error;
  }
}
