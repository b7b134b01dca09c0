/** `weir explain`: shows offline which descriptors of the configuration match those of a request. */

import { examineConfig } from '../../../configuration/compile/compile';
import type { DeclaredLevel } from '../../../configuration/compile/lint/declared-level';
import type { Environment } from '../../../configuration/settings/table/settings';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { ByteString, Descriptor, Entry, LimitOverride } from '../../../domain/descriptor/descriptor';
import type { PlanSpec } from '../../../configuration/compile/read/read-plans';
import type { MatchControl } from '../../../domain/rule/match';
import type { Plan } from '../../../domain/rule/plan';
import type { DescriptorLevel } from '../../../domain/rule/tree';
import { show } from '../../../lib/quote';
import type { RuleSet } from '../../../domain/rule/rule-set';
import { BadRequestError } from '../../../lib/errors';
import { adviseOnFile } from '../advise-on-file';
import { readConfiguration } from '../configuration';
import { explainRequest, type ExplainInput, type Explanation } from '../../../configuration/explain/explanation';
import { formatExplanation } from './explanation-text';
import { readArgs } from '../read-args';
import { adviseOnEntries, readDescriptors } from '../read-descriptor';
import { readOverrides } from '../read-override';
import { readChoice, UsageError } from '../usage-error';

export const EXPLAIN_USAGE = `weir explain [--config FILE|DIR] --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE [--limit N/UNIT]
             [--descriptor KEY=VALUE …] [--plan NAME] [--format text|json] [--merge-domains]

  --config FILE|DIR  same as for weir serve
  --domain           domain of the request
  --descriptor       entries of one descriptor, in order; may be repeated. Write \\, for , and \\= for =
  --limit N/UNIT     override limit of the preceding descriptor: 20/minute, 20/5minute
  --plan NAME        the plan of tenants; without it their default plan applies
  --format           text (default) or json
  --merge-domains    same as MERGE_DOMAIN_CONFIG=true: several files may configure one domain

Shows for each entry which descriptor of the configuration matches it and why the others do not, the limit, and the
bucket key. SHADOW_MODE, QUOTA_MODE and CACHE_KEY_PREFIX apply as for weir serve.`;

export const EXPLAIN_OPTIONS = {
  config: { type: 'string' },
  domain: { type: 'string' },
  descriptor: { type: 'string', multiple: true },
  limit: { type: 'string', multiple: true },
  plan: { type: 'string' },
  format: { type: 'string' },
  'merge-domains': { type: 'boolean' },
} as const;

/**
 * Resolves to the exit code.
 *
 * @throws UsageError, SettingsError or ConfigError
 */
export async function explain({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const adviseOnOperand = (argument: string) => (argument.includes('=') ? adviseOnEntries(argument) : adviseOnFile(argument));
  const { values, tokens } = readArgs(args, { command: 'weir explain', usage: EXPLAIN_USAGE, options: EXPLAIN_OPTIONS, adviseOnOperand });
  const format = readChoice('--format', values.format, ['text', 'json']);
  const { domain } = values;
  if (domain === undefined || domain === '') throw new UsageError('--domain is missing; give the domain of the request');
  const overrides = readOverrides(tokens);
  const descriptors = readDescriptors('--descriptor', values.descriptor ?? []).map((entries, index) =>
    toDescriptor(entries, overrides.get(index)),
  );
  const { settings, options } = await readConfiguration({ path: values.config, env, mergesDomains: values['merge-domains'] === true });
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const plans = new Map<Plan, PlanSpec>();
  const { ruleSet, list } = examineConfig({
    ...options,
    onLevel: (declared) => levels.set(declared.level, declared),
    onPlan: (spec, plan) => plans.set(plan, spec),
  });
  list.throwIfAny();
  const explanation = explainOrRefuse({
    ruleSet,
    levels,
    plans,
    request: { domain: toByteString(domain), descriptors, hits: 1 },
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: () => Date.now() * 1000,
    control: values.plan === undefined ? undefined : everyTenantHas(planOf(values.plan, ruleSet)),
  });
  process.stdout.write(format === 'json' ? `${JSON.stringify(explanation, null, 2)}\n` : formatExplanation(explanation));
  return 0;
}

function everyTenantHas(plan: ByteString): MatchControl {
  return { planOf: () => plan, parentOf: () => undefined, planLimits: () => undefined, stageOf: () => undefined, select: () => undefined };
}

function planOf(name: string, { domains }: RuleSet): ByteString {
  const plan = toByteString(name);
  const known = [...domains.values()].flatMap(({ plans }) => [...(plans?.keys() ?? [])]);
  if (known.includes(plan)) return plan;
  throw new UsageError(`--plan ${show(name)} is not a plan of the configuration`);
}

function toDescriptor(entries: readonly Entry[], override: LimitOverride | undefined): Descriptor {
  return { entries, ...(override && { override }) };
}

/** Turns an override that the rule's algorithm cannot count into a usage error, with the message that a caller would get. */
function explainOrRefuse(input: ExplainInput): Explanation {
  try {
    return explainRequest(input);
  } catch (error) {
    throw error instanceof BadRequestError ? new UsageError(error.message) : error;
  }
}
