/** ETags, and the preconditions of requests: If-Match and If-None-Match. */

import type { Expectation } from '../../../../state/control/control-store';
import { AdminProblem } from '../../problem';
import type { CallHeaders } from '../../route/route';

const ETAG = /^"(\d{1,16})"$/;

export function etagOf(version: number): string {
  return `"${version}"`;
}

/** The state of the present record that the headers require. */
export function expectationOf({ ifMatch, ifNoneMatch }: CallHeaders): Expectation {
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    throw AdminProblem.ofField('header/if-none-match', 'If-Match is there too; send one of the two');
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch !== '*') throw AdminProblem.ofField('header/if-none-match', 'a write accepts only *, for an item that does not exist');
    return 'absent';
  }
  if (ifMatch === undefined) return 'any';
  const version = ETAG.exec(ifMatch)?.[1];
  if (version === undefined) throw AdminProblem.ofField('header/if-match', 'it is not an ETag of this API, such as "12"');
  return Number(version);
}
