/** Cursors of lists, which clients may send back changed. */

import { AdminProblem } from '../problem';

/** @throws AdminProblem unless it matches */
export function cursorOf(cursor: string, pattern: RegExp, field = 'query/cursor'): string {
  if (pattern.test(cursor)) return cursor;
  throw AdminProblem.ofField(field, 'it is not `next` of a page');
}
