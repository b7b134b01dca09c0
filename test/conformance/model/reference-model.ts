/** The reference's answers in fixed windows, by its text alone: `INCRBY`, then compare. */

import { limitText, type DecidedRequest, type AnsweredStatus, type Asked, type AskedDescriptor, type ConfiguredDomain } from './asked';
import {
  applyReplaces,
  limitOf,
  overallCode,
  UNLIMITED_REMAINING,
  windowStartSeconds,
  WINDOW_SECONDS,
  type Modes,
  type ModelLimit,
} from './model-limit';
import { findAsReference, type Found, type FoundLevel } from './descriptor-match';
import { entryText, levelsAsReference, nearThreshold, Statistics, type RuleStatistic } from './statistics';

export class ReferenceModel {
  readonly statistics = new Statistics();
  private readonly counters = new Map<string, bigint>();
  /** Its local cache: counters that were seen over their limit. */
  private readonly over = new Set<string>();

  constructor(
    private readonly domains: ReadonlyMap<string, ConfiguredDomain>,
    private readonly modes: Modes,
    private readonly options: { readonly remembersDenials?: boolean } = {},
  ) {}

  answer(asked: Asked, nowSeconds: number): DecidedRequest {
    this.statistics.begin();
    if (asked.domain === '' || asked.descriptors.length === 0) {
      this.statistics.addToService('call.should_rate_limit.service_error');
      return { error: 'UNKNOWN' };
    }
    const founds = this.foundsOf(asked);
    const limits = applyReplaces(asked.descriptors.map((descriptor, index) => founds[index] && limitOf(descriptor, founds[index])));
    // Looked at before any of them is counted.
    const cached = asked.descriptors.map((descriptor, index) => {
      const limit = limits[index];
      return limit !== undefined && !limit.unlimited && this.over.has(this.keyOf(asked, descriptor, limit, nowSeconds));
    });
    const statuses: AnsweredStatus[] = asked.descriptors.map((descriptor, index) => {
      const limit = limits[index];
      if (limit === undefined) return { code: 'OK', remaining: 0 };
      if (limit.unlimited) return { code: 'OK', remaining: UNLIMITED_REMAINING };
      const key = this.keyOf(asked, descriptor, limit, nowSeconds);
      // A refund is not known: its hits are hits. From 2^63 on they are negative to Redis.
      const hits = BigInt.asIntN(64, descriptor.hits ?? BigInt(asked.hits === undefined || asked.hits === 0 ? 1 : asked.hits));
      const isCached = cached[index] === true;
      const after = (this.counters.get(key) ?? 0n) + (isCached ? 0n : hits);
      this.counters.set(key, after);
      this.count({ domain: asked.domain, levels: levelsOf(descriptor, founds[index]?.levels ?? []), hits, after, limit, isCached });
      const isOver = isCached || after > BigInt(limit.requestsPerUnit);
      if (isOver && this.options.remembersDenials === true) this.over.add(key);
      return {
        code: isOver && !limit.isShadow ? 'OVER_LIMIT' : 'OK',
        limit: limitText(limit),
        remaining: isOver ? 0 : limit.requestsPerUnit - Number(after),
        resetSeconds: WINDOW_SECONDS[limit.unit] - (Math.floor(nowSeconds) % WINDOW_SECONDS[limit.unit]),
      };
    });
    const isOver = statuses.map(({ code }) => code === 'OVER_LIMIT');
    if (this.modes.shadow && overallCode({ limits, isOver, modes: { ...this.modes, shadow: false } }) === 'OVER_LIMIT')
      this.statistics.addToService('global_shadow_mode');
    return { overallCode: overallCode({ limits, isOver, modes: this.modes }), statuses };
  }

  /** What lies above the limit is over; what lies between four fifths of it and the limit is near, also of hits that are over in part. */
  private count({ domain, levels, hits, after, limit: { requestsPerUnit, isShadow }, isCached }: Counted): void {
    const add = (statistic: RuleStatistic, count: bigint) => {
      this.statistics.add({ domain, levels, statistic }, count);
    };
    const [limit, near, before] = [BigInt(requestsPerUnit), nearThreshold(requestsPerUnit), after - hits];
    add('total_hits', hits);
    if (isCached) {
      add('over_limit', hits);
      add('over_limit_with_local_cache', hits);
      if (isShadow) add('shadow_mode', hits);
    } else if (after > limit) {
      const over = before >= limit ? hits : after - limit;
      add('over_limit', over);
      if (isShadow) add('shadow_mode', over);
      if (before < limit) add('near_limit', limit - (near > before ? near : before));
    } else {
      add('within_limit', hits);
      if (after > near) add('near_limit', before >= near ? hits : after - near);
    }
  }

  /** The counters that an answer looks at. */
  keysOf(asked: Asked, nowSeconds: number): string[] {
    return this.limitsOf(asked).flatMap((limit, index) =>
      limit === undefined || limit.unlimited ? [] : [this.keyOf(asked, asked.descriptors[index]!, limit, nowSeconds)],
    );
  }

  private limitsOf({ domain: name, descriptors }: Asked): (ModelLimit | undefined)[] {
    const domain = this.domains.get(name);
    return applyReplaces(descriptors.map((descriptor) => domain && limitOf(descriptor, findAsReference(domain, descriptor.entries))));
  }

  /** Each descriptor of an unknown domain is counted. */
  private foundsOf({ domain: name, descriptors }: Asked): (Found | undefined)[] {
    const domain = this.domains.get(name);
    if (domain === undefined) this.statistics.add({ domain: name, levels: [], statistic: 'domain_not_found' }, BigInt(descriptors.length));
    return descriptors.map(({ entries }) => domain && findAsReference(domain, entries));
  }

  private keyOf({ domain }: Asked, { entries }: AskedDescriptor, { shared, unit }: ModelLimit, nowSeconds: number): string {
    const parts = entries.map(({ key, value }, level) => `${key}_${shared[level]?.value ?? value}_`);
    return `${domain}_${parts.join('')}${windowStartSeconds(unit, nowSeconds)}`;
  }
}

/** Hits of a descriptor, and what its counter holds with them. */
interface Counted {
  readonly domain: string;
  readonly levels: readonly string[];
  readonly hits: bigint;
  readonly after: bigint;
  readonly limit: ModelLimit;
  readonly isCached: boolean;
}

/** A limit that the request brings along is counted under its own keys and values; without any, under an empty level. */
function levelsOf({ entries, limit }: AskedDescriptor, levels: readonly FoundLevel[]): string[] {
  if (limit === undefined) return levelsAsReference(levels);
  return entries.length === 0 ? [''] : entries.map(entryText);
}
