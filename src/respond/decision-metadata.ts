/** Why a request was answered as it was, for the access log: of each descriptor the rule, the limit, the code and when it is reset. */

import type { DescriptorStatus } from '../engine/decision';
import type { Match } from '../rule/match';
import type { JsonObject } from '../rule/rule';
import type { Answered } from './answered';
import { MetadataTexts } from './metadata-texts';

const MS_US = 1000;

export interface DecisionMetadataOptions {
  /** Of the rule set that decided. */
  readonly generation: number;
}

/** Under names of its own, beside whatever else the metadata has. */
export function decisionMetadata({ request, matched, decision }: Answered, { generation }: DecisionMetadataOptions): JsonObject {
  const texts = new MetadataTexts();
  const domain = texts.of(request.domain);
  const { overallCode, statuses } = decision;
  const descriptors = statuses.map((status, index) => describe(status, { match: matched.matches[index], domain, texts }));
  const denied = overallCode === 'OVER_LIMIT' ? descriptors.flatMap(({ code, rule }) => (code === 'OVER_LIMIT' && rule !== undefined ? [rule] : [])) : [];
  return {
    decision: {
      code: overallCode,
      generation,
      ...(denied.length > 0 && { denied_by: [...new Set(denied)] }),
      descriptors,
    },
  };
}

interface Place {
  readonly match: Match | undefined;
  readonly domain: string;
  readonly texts: MetadataTexts;
}

function describe({ code, currentLimit, limitRemaining, durationUntilResetUs, fits }: DescriptorStatus, { match, domain, texts }: Place): JsonObject {
  if (match === undefined || (match.limits.length === 0 && !match.unlimited)) return { code };
  const { rule, path, mode } = match;
  // As /rlconfig shows it. An override without a rule has the caller's own keys for a path.
  const place = [domain, ...(rule === undefined ? path.map((key) => texts.of(Buffer.from(key, 'utf8').toString('latin1'))) : path)].join('.');
  const name = currentLimit?.name ?? rule?.name ?? '';
  return {
    code,
    rule: place,
    ...(name !== '' && { limit_name: name }),
    ...(match.unlimited && { unlimited: true }),
    ...(rule === undefined && { override: true }),
    ...(mode !== 'enforced' && { mode }),
    ...(currentLimit !== undefined && {
      requests_per_unit: currentLimit.requestsPerUnit,
      unit: currentLimit.unit.toUpperCase(),
      ...(currentLimit.unitMultiplier !== 1 && { unit_multiplier: currentLimit.unitMultiplier }),
      fits,
      limit_remaining: limitRemaining,
      reset_ms: Math.ceil((durationUntilResetUs ?? 0) / MS_US),
    }),
  };
}
