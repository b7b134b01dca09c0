/** The values of the placeholders in one answer; each is made only if the body asks for it. */

import { toText } from '../../descriptor/byte-string';
import type { ByteString } from '../../descriptor/descriptor';
import { toSecondsUp } from '../../decide/decision';
import { VALUE_BYTES_MAX, VIOLATED_POLICIES_MAX, type Placeholder } from '../../rule/body/placeholders';
import type { Limit, ResponseHeaders } from '../../rule/limit';
import type { Denial } from '../decided/denials';
import type { DecidedRequest } from '../decided/decided-request';
import { retryAfterMs, retryAfterS } from '../decided/wait';
import { serverTimeUs } from '../decided/server-time';
import { listPolicies, policyName } from '../headers/policy-names';

import { explainDenial } from './detail';
import type { PlaceholderValues, Value } from './fill-in';
import { US_PER_S } from '../../../lib/time-units';

/** Marks a shortened text. */
const CUT = '…';

export interface ValuesInput {
  readonly answered: DecidedRequest;
  /** The denial that the body is about. */
  readonly denial: Denial;
  /** The wait for all denials together; undefined: no wait helps. */
  readonly waitUs: number | undefined;
  /** `RESPONSE_HEADERS`. */
  readonly responseHeaders: ResponseHeaders;
  /** Whether clients see nothing of the limit. */
  readonly isHidden: (limit: Limit) => boolean;
}

export class Values implements PlaceholderValues {
  constructor(private readonly input: ValuesInput) {}

  of(placeholder: Placeholder): Value | undefined {
    const { answered, denial, waitUs } = this.input;
    const { match, limit, status } = denial;
    switch (placeholder.name) {
      case 'limit_name':
        return policyName(limit, match.path);
      case 'rule':
        return cut(Buffer.from([toText(answered.request.domain), ...match.path].join('.')).toString('latin1'));
      case 'limit':
        return limit.requestsPerUnit;
      case 'unit':
        return limit.unit;
      case 'window_s':
        return limit.windowUs / US_PER_S;
      case 'most_at_once':
        return limit.capacity;
      case 'remaining':
        return status.limitRemaining;
      case 'hits':
        return this.hits();
      case 'retry_after_s':
        return waitUs === undefined ? undefined : retryAfterS(waitUs);
      case 'retry_after_ms':
        return waitUs === undefined ? undefined : retryAfterMs(waitUs);
      case 'retry_at_s':
        return waitUs === undefined ? undefined : toSecondsUp(serverTimeUs(answered) + waitUs);
      case 'never_fits':
        return waitUs === undefined;
      case 'violated_policies':
        return this.violatedPolicies();
      case 'detail':
        return explainDenial({ denial, name: policyName(limit, match.path), waitUs });
      case 'entry':
        return this.entry(placeholder.key);
    }
  }

  private hits(): number {
    const { answered, denial } = this.input;
    const { request, matched } = answered;
    return request.descriptors[matched.matches.indexOf(denial.match)]?.hits ?? request.hits;
  }

  /** The names of all limits that deny, each once, as the header of the IETF lists them. */
  private violatedPolicies(): readonly string[] {
    const { answered, responseHeaders, isHidden } = this.input;
    const { matched, verdict } = answered;
    const isListed = (limit: Limit): boolean => (limit.responseHeaders ?? responseHeaders) === 'ietf';
    const inHeader = new Map(listPolicies(matched, isListed).map(({ name, verdict: index }) => [index, name]));
    const names = new Set<string>();
    let next = 0;
    for (const { limits, path, block } of matched.matches) {
      if (block !== undefined && !isHidden(block.limit)) names.add(policyName(block.limit, path));
      for (const limit of limits) {
        const index = next++;
        if (verdict.verdicts[index]?.denies === true && !isHidden(limit)) names.add(inHeader.get(index) ?? policyName(limit, path));
      }
    }
    return [...names].slice(0, VIOLATED_POLICIES_MAX);
  }

  /** The first entry of the request with the key. */
  private entry(key: ByteString): string | undefined {
    for (const { entries } of this.input.answered.request.descriptors) {
      for (const entry of entries) if (entry.key === key) return cut(entry.value);
    }
    return undefined;
  }
}

/** Invalid UTF-8 becomes U+FFFD, and so does a character that is cut in the middle. */
function cut(bytes: ByteString): string {
  return bytes.length <= VALUE_BYTES_MAX ? toText(bytes) : `${toText(bytes.slice(0, VALUE_BYTES_MAX))}${CUT}`;
}
