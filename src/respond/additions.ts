/** What an answer carries besides its codes, as the settings and the rules in force want it: headers for the client, metadata for Envoy. */

import type { Decision, Header } from '../engine/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { RuleSet } from '../rule/rule-set';
import type { JsonObject } from '../rule/rule';
import type { Answered } from './answered';
import { decisionMetadata } from './decision-metadata';
import { IetfHeaders } from './ietf-headers';
import { referenceHeaders, type HeaderNames } from './reference-headers';
import { requestMetadata } from './request-metadata';
import { retryAfter } from './retry-after';

/** All that is said of an answer that was decided without the store, if nothing else is. */
export const FALLBACK_METADATA: JsonObject = { decided_by: 'fallback' };

export interface AdditionOptions {
  /** How limits that do not say are shown. */
  readonly responseHeaders: ResponseHeaders;
  readonly headerNames: HeaderNames;
  /** `RETRY_AFTER_ENABLED`. */
  readonly retryAfter: boolean | undefined;
  /** `RESPONSE_DYNAMIC_METADATA`. */
  readonly requestMetadata: boolean;
  /** `RESPONSE_DECISION_METADATA`. */
  readonly decisionMetadata: boolean;
}

/** The decision with its additions. */
export type Add = (answered: Answered) => Decision;

/** Undefined where nothing is ever added: then no answer pays for asking. */
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

function headersFor(ruleSet: RuleSet, options: AdditionOptions): ((answered: Answered) => Header[]) | undefined {
  const { responseHeaders: mode, headerNames: names, retryAfter: enabled } = options;
  const modes = modesOf(ruleSet).add(mode);
  if (enabled !== true && !modes.has('reference') && !modes.has('ietf')) return undefined;
  const ietf = modes.has('ietf') ? new IetfHeaders(mode) : undefined;
  return (answered) => {
    const wait = retryAfter(answered, { enabled, mode });
    return [
      ...(modes.has('reference') ? referenceHeaders(answered, { names, mode }) : []),
      ...(ietf === undefined ? [] : ietf.of(answered)),
      ...(wait === undefined ? [] : [wait]),
    ];
  };
}

/** How some limit of the configuration says that it is shown; overrides take that of their domain. */
function modesOf({ domains }: RuleSet): Set<ResponseHeaders> {
  const modes = new Set<ResponseHeaders>();
  for (const { responseHeaders, headerModes = [] } of domains.values()) {
    if (responseHeaders !== undefined) modes.add(responseHeaders);
    for (const mode of headerModes) modes.add(mode);
  }
  return modes;
}

function metadataFor({ generation }: RuleSet, options: AdditionOptions): ((answered: Answered) => JsonObject) | undefined {
  if (!options.requestMetadata && !options.decisionMetadata) return undefined;
  return (answered) =>
    Object.assign(
      {},
      answered.decision.fallback === true ? FALLBACK_METADATA : undefined,
      options.requestMetadata ? requestMetadata(answered) : undefined,
      options.decisionMetadata ? decisionMetadata(answered, { generation }) : undefined,
    );
}
