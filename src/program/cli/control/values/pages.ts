/** Reads the pages of a list, up to the number of items that `--count` says. */

import { readWhole } from '../../usage-error';

const COUNT_DEFAULT = 1_000;

const COUNT_MAX = 100_000;

/** The API accepts no larger page. */
const PAGE_MAX = 1_000;

export const COUNT_OPTION = {
  count: { type: 'string', form: 'N', help: `most items to list (default ${COUNT_DEFAULT}, at most ${COUNT_MAX})` },
} as const;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

export interface Listed<Item> {
  readonly items: readonly Item[];
  /** Whether there are more than `--count`. */
  readonly hasMore: boolean;
}

/** @throws UsageError for a bad `--count` */
export async function readPages<Item>(count: string | undefined, read: (query: PageQuery) => Promise<Page<Item>>): Promise<Listed<Item>> {
  const max = readWhole('--count', count, { min: 1, max: COUNT_MAX, otherwise: COUNT_DEFAULT });
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit: Math.min(PAGE_MAX, max - items.length), ...(cursor !== undefined && { cursor }) });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && items.length < max);
  return { items: items.slice(0, max), hasMore: cursor !== undefined || items.length > max };
}

/** The last line of a table that is not the whole list. */
export function withMore(text: string, { hasMore }: Pick<Listed<unknown>, 'hasMore'>): string {
  return hasMore ? `${text}\nThere are more; raise --count.` : text;
}
