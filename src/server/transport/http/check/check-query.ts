/** Reads the query of /check: the status of a denial, and values that the proxy's configuration adds. */

import { toByteString } from '../../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../../lib/errors';

export interface CheckQuery {
  /** The HTTP status of a denial. */
  readonly denyStatus: number;
  readonly values: ReadonlyMap<string, ByteString>;
}

export type ReadQuery = (target: string) => CheckQuery | BadRequestError;

/** Unless the query says otherwise. */
export const DENY_STATUS = 429;

/** The parameter for the status of a denial. nginx understands only 401 and 403. */
const DENY = 'deny';
const DENY_STATUSES = /^[45]\d\d$/;

const NO_QUERY: CheckQuery = { denyStatus: DENY_STATUS, values: new Map() };

/** The query is part of the proxy's configuration, so there are few. */
const KEPT_MAX = 64;

/** `names` are the parameters of descriptors. Others are errors: a proxy that passes on the query of its clients would let them choose. */
export function compileQuery(names: ReadonlySet<string>): ReadQuery {
  const kept = new Map<string, CheckQuery>();
  return (target) => {
    const mark = target.indexOf('?');
    if (mark === -1) return NO_QUERY;
    const text = target.slice(mark + 1);
    const known = kept.get(text);
    if (known !== undefined) return known;
    const read = readQuery(text, names);
    if (read instanceof BadRequestError) return read;
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(text, read);
    return read;
  };
}

function readQuery(text: string, names: ReadonlySet<string>): CheckQuery | BadRequestError {
  const values = new Map<string, ByteString>();
  let denyStatus = DENY_STATUS;
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (seen.has(name)) return new BadRequestError('a parameter of /check is given twice; remove one');
    seen.add(name);
    if (name === DENY) {
      if (!DENY_STATUSES.test(value)) return new BadRequestError('deny must be an HTTP status from 400 to 599');
      denyStatus = Number(value);
    } else if (!names.has(name)) {
      const known = [DENY, ...names].join(', ');
      return new BadRequestError(`/check has a parameter that no descriptor reads; the parameters are ${known}`);
    } else if (value !== '') values.set(name, toByteString(value));
  }
  return { denyStatus, values };
}
