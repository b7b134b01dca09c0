/** The attributes of spans. They come from the configuration and from the decision; values of callers only if a setting asks for them. */

import type { Attributes } from '@opentelemetry/api';
import { toText } from '../../../domain/descriptor/byte-string';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import type { RequestTrace, TracedDecision } from '../../../state/request/request-trace';
import { StoreError } from '../../../state/store/port/store-error';
import type { TracedCommand } from '../../../state/store/port/store-trace';

/** Most descriptors shown of a request. */
export const DESCRIPTORS_SHOWN_MAX = 32;

/** Most characters of a text. */
export const TEXT_CHARS_MAX = 256;

export interface DecisionShown {
  /** `TRACING_VALUES`: whether entries are shown as received. */
  readonly showsValues: boolean;
}

export function decisionAttributes({ decided, fallback }: RequestTrace, { showsValues }: DecisionShown): Attributes {
  if (decided === undefined) return {};
  const { request, matched, outcome } = decided;
  const attributes: Attributes = { 'weir.domain': shortened(toText(request.domain)) };
  if (matched !== undefined) attributes['weir.domain_found'] = matched.domainFound;
  attributes['weir.hits'] = hitsOf(request);
  if (fallback !== undefined) attributes['weir.fallback.reason'] = fallback;
  if (showsValues) attributes['weir.entries'] = request.descriptors.slice(0, DESCRIPTORS_SHOWN_MAX).map(entriesOf);
  if (outcome instanceof Error) {
    attributes['error.type'] = outcome instanceof StoreError ? outcome.reason : outcome.name;
    return attributes;
  }
  attributes['weir.verdict'] = outcome.overallCode;
  attributes['weir.fallback'] = outcome.fallback === true;
  attributes['weir.cached'] = outcome.cached === true;
  const shown = outcome.statuses.slice(0, DESCRIPTORS_SHOWN_MAX);
  const rules = shown.map((_, i) => ruleOf(decided, i));
  attributes['weir.rules'] = rules;
  attributes['weir.verdicts'] = shown.map(({ code }) => code);
  attributes['weir.denied_by'] = rules.filter((_, i) => shown[i]?.denies === true);
  return attributes;
}

export function commandAttributes({ arrivedMs, sentMs, groups, failed, server }: TracedCommand): Attributes {
  const attributes: Attributes = {
    'db.system.name': 'redis',
    'db.operation.name': 'EVALSHA',
    'weir.command.requests': groups,
    'weir.command.waited_ms': sentMs - arrivedMs,
  };
  if (server !== undefined) attributes['server.address'] = server.address;
  if (server?.port !== undefined) attributes['server.port'] = server.port;
  if (failed !== undefined) attributes['error.type'] = failed;
  return attributes;
}

/** The rule in the names of the configuration; empty if no rule matches. */
function ruleOf({ matched }: TracedDecision, descriptor: number): string {
  return shortened((matched?.matches[descriptor]?.path ?? []).join('.'));
}

/** Hits of each descriptor: negative for a refund. */
function hitsOf({ descriptors, hits }: RateLimitRequest): number[] {
  return descriptors.slice(0, DESCRIPTORS_SHOWN_MAX).map((descriptor) => descriptor.hits ?? hits);
}

function entriesOf({ entries }: RateLimitRequest['descriptors'][number]): string {
  return shortened(entries.map(({ key, value }) => `${toText(key)}=${toText(value)}`).join(','));
}

function shortened(text: string): string {
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX - 1)}…`;
}
