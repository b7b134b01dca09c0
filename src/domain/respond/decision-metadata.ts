/** Metadata that explains a decision in the access log: for each descriptor the rule, the limit, the code and the reset time. */

import { toByteString } from '../descriptor/byte-string';
import type { DescriptorStatus } from '../decide/decision';
import { UINT32_MAX } from '../rule/limit';
import type { Match } from '../rule/match';
import type { JsonObject } from '../rule/rule';
import type { DecidedRequest } from './decided/decided-request';
import { denialsOf } from './decided/denials';
import { MetadataTexts } from './metadata-texts';
import { US_PER_MS } from '../../lib/time-units';

export interface DecisionMetadataOptions {
  /** Generation of the rule set that decided. */
  readonly generation: number;
}

/** Uses one name of its own, so that it does not collide with other metadata. */
export function decisionMetadata(answered: DecidedRequest, { generation }: DecisionMetadataOptions): JsonObject {
  const { request, matched, decision } = answered;
  const texts = new MetadataTexts();
  const domain = texts.of(request.domain);
  const rules = new Map(matched.matches.map((match) => [match, nameRule(match, { domain, texts })]));
  const deniedBy = new Set(denialsOf(answered).map(({ match }) => rules.get(match) ?? domain));
  return {
    decision: {
      code: decision.overallCode,
      generation,
      ...(deniedBy.size > 0 && { denied_by: [...deniedBy] }),
      descriptors: decision.statuses.map((status, index) => {
        const match = matched.matches[index];
        return match === undefined ? { code: status.code } : describe(status, { match, rule: rules.get(match) ?? domain });
      }),
    },
  };
}

/** The name that /rlconfig shows. An override without a rule has the caller's keys as its path. */
function nameRule({ rule, path }: Match, { domain, texts }: { readonly domain: string; readonly texts: MetadataTexts }): string {
  const own = rule === undefined ? path.map((key) => texts.of(toByteString(key))) : path;
  return [domain, ...own].join('.');
}

function describe(status: DescriptorStatus, { match, rule }: { readonly match: Match; readonly rule: string }): JsonObject {
  const { code, currentLimit, limitRemaining, durationUntilResetUs = 0, fits, neverFits, debt } = status;
  if (currentLimit === undefined && !match.unlimited) return { code };
  const name = currentLimit?.name ?? match.rule?.name ?? '';
  return {
    code,
    rule,
    ...(name !== '' && { limit_name: name }),
    ...(match.unlimited && { unlimited: true }),
    ...(match.rule === undefined && { override: true }),
    ...(match.mode !== 'enforced' && { mode: match.mode }),
    ...(currentLimit !== undefined && {
      requests_per_unit: currentLimit.requestsPerUnit,
      unit: currentLimit.unit.toUpperCase(),
      ...(currentLimit.unitMultiplier !== 1 && { unit_multiplier: currentLimit.unitMultiplier }),
      ...(currentLimit.show && { shown_in: currentLimit.show.unit, shown_divide: currentLimit.show.divide }),
      fits,
      limit_remaining: limitRemaining,
      // The fields of the answer show less.
      ...(Math.max(currentLimit.requestsPerUnit, limitRemaining) > UINT32_MAX && { saturated: true }),
      ...(neverFits === true && { never_fits: true, ...(currentLimit.unit !== 'total' && { most_at_once: currentLimit.capacity }) }),
      ...(debt !== undefined && { debt }),
      reset_ms: Math.ceil(durationUntilResetUs / US_PER_MS),
    }),
  };
}
