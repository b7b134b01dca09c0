/** The body of a denied response, and the headers that describe it. */

import type { Header } from '../../decide/decision';
import { NO_BODY, type BodyContent, type ResponseBody } from '../../rule/body/response-body';
import type { ResponseHeaders } from '../../rule/limit';
import type { Domain, RuleSet } from '../../rule/rule-set';
import { denialsOf, type Denial } from '../decided/denials';
import type { DecidedRequest } from '../decided/decided-request';
import { longestOf, waitUsOf } from '../decided/wait';
import { fillIn } from './fill-in';
import { Values } from './values';

export interface BodyOptions {
  /** `RESPONSE_BODY`: for limits without a body of their own or of their domain. */
  readonly responseBody: ResponseBody;
  /** The names of limits are those of the header, where it lists them. */
  readonly responseHeaders: ResponseHeaders;
}

export interface FilledBody {
  readonly body: string;
  readonly headers: readonly Header[];
}

/** Undefined: the answer has no body. */
export type BodyOf = (answered: DecidedRequest) => FilledBody | undefined;

/** Undefined if no answer ever gets a body, so that answers skip the step. */
export function openBody({ domains }: RuleSet, options: BodyOptions): BodyOf | undefined {
  const hasAny = options.responseBody.kind !== 'off' || Array.from(domains.values()).some(mayHaveBody);
  if (!hasAny) return undefined;
  return (answered) => {
    if (answered.decision.overallCode === 'OK') return undefined;
    const ofDomain = domains.get(answered.request.domain)?.responseBody ?? options.responseBody;
    return bodyOf(answered, { ofDomain, responseHeaders: options.responseHeaders });
  };
}

function mayHaveBody({ responseBody = NO_BODY, hasBodies = false }: Domain): boolean {
  return hasBodies || responseBody.kind !== 'off';
}

interface BodyOfInput {
  /** For blocks, and limits without their own. */
  readonly ofDomain: ResponseBody;
  readonly responseHeaders: ResponseHeaders;
}

/** The body is that of the limit that makes the client wait longest, among those that have one. It says the wait of all. */
function bodyOf(answered: DecidedRequest, { ofDomain, responseHeaders }: BodyOfInput): FilledBody | undefined {
  const denials = denialsOf(answered);
  const ownBodyOf = ({ limit }: Pick<Denial, 'limit'>): ResponseBody => limit.responseBody ?? ofDomain;
  const denial = longestOf(denials.filter((each) => ownBodyOf(each).kind !== 'off'));
  if (denial === undefined) return undefined;
  const { contentType, content, neverFits = content } = ownBodyOf(denial);
  const waitUs = waitUsOf(denials);
  const isHidden = (limit: Denial['limit']): boolean => ownBodyOf({ limit }).kind === 'off';
  const values = new Values({ answered, denial, waitUs, responseHeaders, isHidden });
  const chosen: BodyContent = waitUs === undefined ? neverFits : content;
  return { body: fillIn(chosen, values), headers: [{ name: 'Content-Type', value: contentType }, NOSNIFF] };
}

const NOSNIFF: Header = { name: 'X-Content-Type-Options', value: 'nosniff' };
