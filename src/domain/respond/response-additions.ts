/** Adds headers and a body for the client, and metadata for Envoy to answers, as the settings and the rules in force require. */

import type { Decision, Header } from '../decide/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { RuleSet } from '../rule/rule-set';
import type { JsonObject } from '../rule/rule';
import type { DecidedRequest } from './decided/decided-request';
import { decisionMetadata } from './decision-metadata';
import { openBody, type BodyOptions } from './body/open-body';
import type { HeaderForms, HeaderNames } from './headers/header-kind';
import { HEADER_KINDS } from './headers/header-list';
import { softAdditions, type SoftAdditions } from './soft-additions';
import { requestMetadata } from './request-metadata';

/** The metadata of an answer that was decided without the store, unless settings add more. */
export const FALLBACK_METADATA: JsonObject = { decided_by: 'fallback' };

export interface AdditionOptions extends BodyOptions {
  /** For limits without `response_headers`. */
  readonly responseHeaders: ResponseHeaders;
  readonly headerNames: HeaderNames;
  readonly headerForms: HeaderForms;
  /** `RETRY_AFTER_ENABLED`. */
  readonly retryAfter: boolean | undefined;
  /** `RETRY_AFTER_MS_ENABLED`. */
  readonly retryAfterMs: boolean;
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
  const bodyOf = openBody(ruleSet, options);
  const hasSoftLines = Array.from(ruleSet.domains.values()).some((domain) => domain.hasSoftLines === true);
  if (headers === undefined && metadata === undefined && bodyOf === undefined && !hasSoftLines) return undefined;
  const isOnlyBody = headers === undefined && metadata === undefined && !hasSoftLines;
  return (answered) => {
    const { decision } = answered;
    if (isOnlyBody && decision.overallCode === 'OK') return decision;
    const body = bodyOf?.(answered);
    const soft = hasSoftLines ? softAdditions(answered) : undefined;
    const shown = headers?.(answered) ?? [];
    const added = body === undefined ? shown : [...shown, ...body.headers];
    if (soft !== undefined) added.push(...soft.responseHeaders);
    const { overallCode, statuses, fallback, cached } = decision;
    return {
      overallCode,
      statuses,
      ...(fallback === true && { fallback }),
      ...(cached === true && { cached }),
      ...(added.length > 0 && { headers: added }),
      ...(body && { body: body.body }),
      ...(soft !== undefined && soft.requestHeaders.length > 0 && { requestHeaders: soft.requestHeaders }),
      ...metadataWith(metadata?.(answered), soft),
    };
  };
}

/** A passed line is in the metadata whatever the settings say, so that routes and access logs can match it. */
function metadataWith(metadata: JsonObject | undefined, soft: SoftAdditions | undefined): Pick<Decision, 'metadata'> {
  if (soft === undefined) return metadata === undefined ? {} : { metadata };
  return { metadata: { soft_at: soft.atPercent, ...metadata } };
}

function headersFor(ruleSet: RuleSet, options: AdditionOptions): ((answered: DecidedRequest) => Header[]) | undefined {
  const { responseHeaders: mode, headerNames, headerForms, retryAfter, retryAfterMs } = options;
  const headerOptions = { mode, modes: modesOf(ruleSet).add(mode), headerNames, headerForms, retryAfter, retryAfterMs };
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
