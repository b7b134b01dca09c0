/** The filter of a list that is read page by page: both are in the address. */

import { linkTo, place, replacePlace } from '../../api/route';

export interface ListFilter<Name extends string> {
  readonly page: string;
  /** An empty text filters nothing. */
  readonly filter: Readonly<Record<Name, string>>;
  /** The fields that filter. */
  readonly given: Readonly<Record<string, string>>;
  /** Empty: the first page. */
  readonly cursor: string;
}

export function useListFilter<Name extends string>(page: string, names: readonly Name[]): ListFilter<Name> {
  const { query } = place.value;
  const filter = Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])) as Record<Name, string>;
  return { page, filter, given: filled(filter), cursor: query.get('cursor') ?? '' };
}

/** Shows the first page under another filter. */
export function changeFilter<Name extends string>({ page, given }: ListFilter<Name>, change: Partial<Record<Name, string>>): void {
  replacePlace(linkTo(page, filled({ ...given, ...change })));
}

function filled(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}
