/** News about the configuration for other processes and threads, which compile it themselves. */

import { ConfigError, type ConfigProblem } from '../problems/config-error';
import type { ConfigDocument } from '../yaml/config-document';
import type { ConfigSet, RulesInForce } from './rules-in-force';

/** The documents travel ahead in parts, so `inForce.set` has none on the wire. */
export interface ConfigNews {
  /** Puts this set in force; absent: the present one stays. */
  readonly inForce?: { readonly set: ConfigSet; readonly generation: number };
  /** The set loaded last was rejected for these problems. */
  readonly refused?: { readonly problems: readonly ConfigProblem[]; readonly omitted: number };
}

/** The set in force, and why a later one was rejected. */
export function configNews(rules: Pick<RulesInForce, 'ruleSet' | 'set' | 'error'>): ConfigNews {
  return { ...newsInForce(rules), ...newsRefused(rules) };
}

export function newsInForce({ ruleSet, set }: Pick<RulesInForce, 'ruleSet' | 'set'>): ConfigNews {
  return ruleSet === undefined || set === undefined ? {} : { inForce: { set, generation: ruleSet.generation } };
}

export function newsRefused({ error }: Pick<RulesInForce, 'error'>): ConfigNews {
  return error === undefined ? {} : { refused: { problems: error.problems, omitted: error.omitted } };
}

/** The news without the documents of its set. */
export function withoutDocuments({ inForce, ...rest }: ConfigNews): ConfigNews {
  return { ...rest, ...(inForce && { inForce: { ...inForce, set: { ...inForce.set, documents: [] } } }) };
}

/** Applies the news. The rules keep the order of arrival. */
export async function takeConfigNews(
  rules: RulesInForce,
  { inForce, refused, documents }: ConfigNews & { readonly documents: readonly ConfigDocument[] },
): Promise<void> {
  const taken = inForce && rules.offer({ ...inForce.set, documents }, { generation: inForce.generation });
  if (refused !== undefined) rules.refuse(new ConfigError(refused.problems, refused.omitted));
  await taken;
}
