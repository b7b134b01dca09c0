/** Adds headers for the client and metadata for Envoy to answers, as the settings and the rules in force require. */

import type { Decision, Header } from '../decide/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { RuleSet } from '../rule/rule-set';
import type { JsonObject } from '../rule/rule';
import type { DecidedRequest } from './decided/response-input';
import { decisionMetadata } from './decision-metadata';
import type { HeaderNames } from './headers/header-kind';
import { HEADER_KINDS } from './headers/header-list';
import { requestMetadata } from './request-metadata';

/** The metadata of an answer that was decided without the store, unless settings add more. */
export const FALLBACK_METADATA: JsonObject = { decided_by: 'fallback' };

export interface AdditionOptions {
  /** For limits without `response_headers`. */
  readonly responseHeaders: ResponseHeaders;
  readonly headerNames: HeaderNames;
  /** `RETRY_AFTER_ENABLED`. */
  readonly retryAfter: boolean | undefined;
  /** `RESPONSE_DYNAMIC_METADATA`. */
  readonly requestMetadata: boolean;
  /** `RESPONSE_DECISION_METADATA`. */
  readonly decisionMetadata: boolean;
}

/** Returns the decision with its additions. */
export type Add = (answered: DecidedRequest) => Decision;

/** Undefined if no answer ever gets additions, so that answers skip the step. */
export function additionsFor(ruleSet: RuleSet, options: AdditionOptions): Add | undefined {
  const headers = headersFor(ruleSet, options);
  const metadata = metadataFor(ruleSet, options);
  if (headers === undefined && metadata === undefined) return undefined;
  return (answered) => {
    const added = headers?.(answered) ?? [];
    const { overallCode, statuses, fallback, cached } = answered.decision;
    return {
      overallCode,
      statuses,
      ...(fallback === true && { fallback }),
      ...(cached === true && { cached }),
      ...(added.length > 0 && { headers: added }),
      ...(metadata && { metadata: metadata(answered) }),
    };
  };
}

function headersFor(ruleSet: RuleSet, options: AdditionOptions): ((answered: DecidedRequest) => Header[]) | undefined {
  const { responseHeaders: mode, headerNames, retryAfter } = options;
  const headerOptions = { mode, modes: modesOf(ruleSet).add(mode), headerNames, retryAfter };
  const kinds = HEADER_KINDS.flatMap((open) => open(headerOptions) ?? []);
  return kinds.length === 0 ? undefined : (answered) => kinds.flatMap((headersOf) => headersOf(answered));
}

/** All values of `response_headers` in the configuration; overrides use the one of their domain. */
function modesOf({ domains }: RuleSet): Set<ResponseHeaders> {
  const modes = new Set<ResponseHeaders>();
  for (const { responseHeaders, headerModes = [] } of domains.values()) {
    if (responseHeaders !== undefined) modes.add(responseHeaders);
    for (const mode of headerModes) modes.add(mode);
  }
  return modes;
}

function metadataFor({ generation }: RuleSet, options: AdditionOptions): ((answered: DecidedRequest) => JsonObject) | undefined {
  if (!options.requestMetadata && !options.decisionMetadata) return undefined;
  return (answered) =>
    Object.assign(
      {},
      answered.decision.fallback === true ? FALLBACK_METADATA : undefined,
      options.requestMetadata ? requestMetadata(answered) : undefined,
      options.decisionMetadata ? decisionMetadata(answered, { generation }) : undefined,
    );
}
