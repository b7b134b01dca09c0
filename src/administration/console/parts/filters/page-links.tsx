/** The links between the pages of a list. */

import { linkTo } from '../../api/route';
import type { ListFilter } from './use-list-filter';

interface PageLinksProps {
  readonly label: string;
  readonly list: ListFilter<string>;
  /** The cursor of the next page; undefined: this is the last one. */
  readonly next: string | undefined;
  readonly first?: string;
  readonly following?: string;
}

export function PageLinks({ label, list: { page, given, cursor }, next, first = 'First page', following = 'Next page' }: PageLinksProps) {
  return (
    <nav class="pager" aria-label={label}>
      {cursor !== '' && <a href={linkTo(page, given)}>{first}</a>}
      {next !== undefined && <a href={linkTo(page, { ...given, cursor: next })}>{following}</a>}
    </nav>
  );
}
