/** Scatter/gather: sends the items of a call to the parts of a store, all at once, and returns the answers in order. */

import { StoreError, storeErrorOf } from '../port/store-error';

export interface AskByPartOptions<Item, Answer, Part> {
  readonly partOf: (item: Item) => Part;
  /** One answer for each item, in their order. */
  readonly ask: (part: Part, items: readonly Item[]) => Promise<readonly Answer[]>;
}

/**
 * Items of a failed part get its error.
 *
 * @throws StoreError if every part failed
 */
export async function askByPart<Item, Answer, Part>(
  items: readonly Item[],
  { partOf, ask }: AskByPartOptions<Item, Answer, Part>,
): Promise<readonly (Answer | StoreError)[]> {
  const parts = new Map<Part, number[]>();
  for (const [i, item] of items.entries()) {
    const part = partOf(item);
    const places = parts.get(part);
    if (places === undefined) parts.set(part, [i]);
    else places.push(i);
  }
  const [only, ...others] = parts.keys();
  if (only === undefined) return [];
  if (others.length === 0) return ask(only, items);
  const answers = new Array<Answer | StoreError>(items.length);
  const pending = Array.from(parts, async ([part, places]) => {
    const some = places.map((place) => items[place] as Item);
    const answered = await ask(part, some).catch(storeErrorOf);
    for (const [n, place] of places.entries()) answers[place] = answered instanceof StoreError ? answered : (answered[n] as Answer);
    return answered;
  });
  const outcomes = await Promise.all(pending);
  const errors = outcomes.filter((outcome) => outcome instanceof StoreError);
  const [first] = errors;
  if (first !== undefined && errors.length === parts.size) throw first;
  return answers;
}
