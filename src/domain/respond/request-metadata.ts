/** The dynamic metadata of envoyproxy/ratelimit: the request, and the `metadata` of the matched rules. */

import type { Descriptor, LimitOverride } from '../descriptor/descriptor';
import type { JsonObject, JsonValue } from '../rule/rule';
import type { DecidedRequest } from './decided/decided-request';
import { MetadataTexts } from './metadata-texts';

export function requestMetadata({ request, matched, decision }: DecidedRequest): JsonObject {
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

/** The text that Go prints for such a message, with single spaces; fields that are 0 are left out. */
function describeOverride({ requestsPerUnit, unit, unitMultiplier }: LimitOverride): string {
  const multiplier = unitMultiplier === 1 ? '' : ` unit_multiplier:{value:${unitMultiplier}}`;
  const requests = requestsPerUnit === 0 ? '' : `requests_per_unit:${requestsPerUnit} `;
  return `${requests}unit:${unit.toUpperCase()}${multiplier}`;
}

/** Deep-merges two maps; the first value of a key wins. */
function mergeMetadata(first: JsonObject, second: JsonObject): JsonObject {
  // A Map, because a name may be `__proto__`.
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
