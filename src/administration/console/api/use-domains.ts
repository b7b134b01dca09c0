/** The rules of the configuration in force, read page by page once, and the domains that they are in. */

import { call, type Reply } from './client';
import { usePoll, type Polled } from './use-poll';

export type Rule = Reply<'listRules'>['items'][number];

export interface AllRules {
  readonly generation: number;
  readonly warnings: readonly string[];
  readonly refused: readonly string[];
  readonly items: readonly Rule[];
}

/** Most rules that the console reads. */
export const RULES_MAX = 10_000;

async function readRules(signal: AbortSignal): Promise<AllRules> {
  const items: Rule[] = [];
  let page = await call('listRules', { query: {} }, { signal });
  const { generation, warnings, refused } = page;
  items.push(...page.items);
  while (page.next !== undefined && items.length < RULES_MAX) {
    page = await call('listRules', { query: { cursor: page.next } }, { signal });
    items.push(...page.items);
  }
  return { generation, warnings, refused, items };
}

export function useRules(): Polled<AllRules> {
  return usePoll(readRules, { key: 'rules' });
}

export interface Domains {
  readonly names: readonly string[];
  readonly rules: readonly Rule[];
}

export function useDomains(): Domains {
  const rules = useRules().data?.items ?? [];
  return { names: [...new Set(rules.map(({ domain }) => domain))].sort(), rules };
}
