/** The dynamic metadata of envoyproxy/ratelimit: what was asked, and what the configuration says of the rules that matched. */

import type { Descriptor, LimitOverride } from '../descriptor/descriptor';
import type { JsonObject, JsonValue } from '../rule/rule';
import type { Answered } from './answered';
import { MetadataTexts } from './metadata-texts';

export function requestMetadata({ request, matched, decision }: Answered): JsonObject {
  const texts = new MetadataTexts();
  const merged = matched.matches.reduce<JsonObject | undefined>((before, { rule }, index) => {
    const metadata = decision.statuses[index]?.code === 'OVER_LIMIT' ? undefined : rule?.metadata;
    if (before === undefined || metadata === undefined || before === metadata) return before ?? metadata;
    return mergeMetadata(before, metadata);
  }, undefined);
  return {
    domain: texts.of(request.domain),
    descriptors: request.descriptors.map((descriptor) => describe(descriptor, texts)),
    ...(request.saysHits === true && { hitsAddend: request.hits }),
    ...(merged && Object.keys(merged).length > 0 && { metadata: merged }),
  };
}

function describe({ entries, override, hits }: Descriptor, texts: MetadataTexts): JsonObject {
  return {
    entries: entries.map(({ key, value }) => texts.of(`${key}=${value}`)),
    ...(override && { limit: describeOverride(override) }),
    ...(hits !== undefined && { hitsAddend: hits }),
  };
}

/** As Go prints such a message, with one space wherever it puts one or two; a number that is 0 is not there. */
function describeOverride({ requestsPerUnit, unit, unitMultiplier }: LimitOverride): string {
  const multiplier = unitMultiplier === 1 ? '' : ` unit_multiplier:{value:${unitMultiplier}}`;
  const requests = requestsPerUnit === 0 ? '' : `requests_per_unit:${requestsPerUnit} `;
  return `${requests}unit:${unit.toUpperCase()}${multiplier}`;
}

/** Maps are merged at every depth; of two values the first stays. */
function mergeMetadata(first: JsonObject, second: JsonObject): JsonObject {
  // Entries, since a name may be `__proto__`.
  const merged = new Map<string, JsonValue>(Object.entries(first));
  for (const [name, value] of Object.entries(second)) {
    const before = merged.get(name);
    if (before === undefined) merged.set(name, value);
    else if (isObject(before) && isObject(value)) merged.set(name, mergeMetadata(before, value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
