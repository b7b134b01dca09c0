/** Weir's answers in fixed windows: the reference's, but for the amendments; written from the text of both. */

import { limitText, type DecidedRequest, type AnsweredStatus, type Asked, type AskedDescriptor, type ConfiguredDomain } from './asked';
import type { Amendment } from './amendments';
import { findAmended, findAsReference } from './descriptor-match';
import { levelsAsWeir, nearThreshold, Statistics, type RuleStatistic } from './statistics';
import {
  applyReplaces,
  isQuota,
  isQuotaOver,
  limitOf,
  overallCode,
  UNLIMITED_REMAINING,
  windowStartSeconds,
  WINDOW_SECONDS,
  type Modes,
  type ModelLimit,
} from './model-limit';

/** One limit of one descriptor of a request. */
interface Take {
  readonly limit: ModelLimit;
  readonly bucket: string;
  readonly hits: bigint;
  /** The descriptor's own hits, which are charged, or given back, whatever the answer. */
  readonly isReport: boolean;
  /** To the reference its hits are below zero. */
  readonly isHuge: boolean;
  /** Place of its descriptor. */
  readonly index: number;
}

export interface AmendedAnswer {
  readonly answered: DecidedRequest;
  /** What the answer owes to amendments directly, its buckets' past apart. */
  readonly amendments: readonly Amendment[];
  /** What its statistics owe to amendments besides. */
  readonly statisticAmendments: readonly Amendment[];
  /** The buckets that it looks at. */
  readonly buckets: readonly string[];
}

export class AmendedModel {
  readonly statistics = new Statistics();
  private readonly used = new Map<string, bigint>();
  private readonly unknownDomains = new Set<string>();
  /** Its deny cache, by bucket. */
  private readonly denials = new Map<string, Denial>();

  constructor(
    private readonly domains: ReadonlyMap<string, ConfiguredDomain>,
    private readonly modes: Modes,
    private readonly options: { readonly remembersDenials?: boolean } = {},
  ) {}

  answer(asked: Asked, nowSeconds: number): AmendedAnswer {
    this.statistics.begin();
    if (asked.domain === '' || asked.descriptors.length === 0) {
      this.statistics.addToService('call.should_rate_limit.service_error');
      return { answered: { error: 'INVALID_ARGUMENT' }, amendments: ['errors have codes'], statisticAmendments: [], buckets: [] };
    }
    const limits = this.limitsOf(asked);
    const takes = this.takesOf(asked, limits, nowSeconds);
    const sums = sumsOf(takes);
    const before = new Map(takes.map(({ bucket }) => [bucket, this.used.get(bucket) ?? 0n]));
    // A refund: always. A check: while a hit is left. Else all positive hits of the request on the bucket must fit under this very limit.
    const fits = ({ hits, bucket, limit }: Take) =>
      hits < 0n || before.get(bucket)! + (hits === 0n ? 1n : sums.get(bucket)!) <= BigInt(limit.requestsPerUnit);
    const isOver = limits.map((_, index) => takes.some((take) => take.index === index && !fits(take) && !take.limit.isShadow));
    const overall = overallCode({ limits, isOver, modes: this.modes });
    const admitted = overall === 'OK' ? takes.filter((take) => !take.isReport && fits(take)) : [];
    const isCut = this.charge([...admitted, ...takes.filter(({ isReport }) => isReport)]);
    const isQuotaDenial = isQuotaOver({ limits, isOver, modes: this.modes });
    const denies = (index: number) =>
      overall === 'OVER_LIMIT' && isOver[index] === true && (isQuotaDenial || !isQuota(limits[index], this.modes));
    const statuses = limits.map((limit, index): AnsweredStatus => {
      if (limit === undefined) return { code: 'OK', remaining: 0 };
      const take = takes.find((each) => each.index === index);
      if (take === undefined) return { code: 'OK', remaining: UNLIMITED_REMAINING };
      const left = BigInt(limit.requestsPerUnit) - (this.used.get(take.bucket) ?? 0n);
      return {
        code: isOver[index] === true ? 'OVER_LIMIT' : 'OK',
        limit: limitText(limit),
        remaining: denies(index) || left < 0n ? 0 : Number(left),
        resetSeconds: WINDOW_SECONDS[limit.unit] - (Math.floor(nowSeconds) % WINDOW_SECONDS[limit.unit]),
      };
    });
    this.count({
      asked,
      limits,
      takes,
      fits,
      overall,
      isCached: this.options.remembersDenials === true && this.isRemembered(takes, nowSeconds),
    });
    if (this.options.remembersDenials === true) this.remember(takes, { fits, nowSeconds });
    if (this.modes.shadow && overallCode({ limits, isOver, modes: { ...this.modes, shadow: false } }) === 'OVER_LIMIT')
      this.statistics.addToService('global_shadow_mode');
    const amendments = [...this.amendmentsOf(asked, takes), ...amendmentsOfOutcome({ takes, fits, denies, overall, before, sums, isCut })];
    return {
      answered: { overallCode: overall, statuses },
      amendments,
      statisticAmendments: this.statisticAmendmentsOf(asked, { takes, fits, overall }),
      buckets: [...before.keys()],
    };
  }

  private statisticAmendmentsOf(
    { domain: name, descriptors }: Asked,
    { takes, fits, overall }: Pick<Counted, 'takes' | 'fits' | 'overall'>,
  ): Amendment[] {
    const domain = this.domains.get(name);
    if (domain === undefined) return ['requests for no domain'];
    const found: Amendment[] = [];
    if (takes.some((take) => !fits(take))) found.push('all hits are over');
    if (overall === 'OVER_LIMIT') found.push('nothing taken is within no limit');
    if (descriptors.some(({ limit }) => limit !== undefined)) found.push('no value of an override');
    if (descriptors.some(({ entries }) => findAmended(domain, entries).levels.some(({ configured }) => configured.key.includes('*'))))
      found.push('keys as configured');
    return found;
  }

  /** What does not fit is over with all its hits; what fits is within the limit, and near it, if it was charged. */
  private count({ asked, limits, takes, fits, overall, isCached }: Counted): void {
    const domain = this.domains.get(asked.domain);
    if (domain === undefined) this.countUnknown(asked.domain);
    for (const take of takes) {
      const { limit, index, hits, isReport } = take;
      const levels = domain === undefined ? [] : levelsOf(asked.descriptors[index]!, domain);
      const add = (statistic: RuleStatistic, count: bigint) => {
        this.statistics.add({ domain: asked.domain, levels, statistic }, count);
      };
      const isDone = overall === 'OK' || isReport;
      if (hits < 0n) {
        if (isDone) add('total_negative_hits', -hits);
        continue;
      }
      add('total_hits', hits);
      if (!fits(take)) {
        add('over_limit', hits);
        if (isCached) add('over_limit_with_local_cache', hits);
        if (limits[index]?.isShadow === true) add('shadow_mode', hits);
      } else if (isDone) {
        // By what the bucket holds after the whole request.
        const [near, after] = [nearThreshold(limit.requestsPerUnit), this.used.get(take.bucket) ?? 0n];
        add('within_limit', hits);
        add('near_limit', after - hits >= near ? hits : after > near ? after - near : 0n);
      }
    }
  }

  /** For requests of one descriptor: as many hits, or more, were denied a moment ago, and nothing is to be charged whatever the answer. */
  private isRemembered(takes: readonly Take[], nowSeconds: number): boolean {
    return takes.some(({ bucket, hits, limit, isReport }) => {
      const denial = this.denials.get(bucket);
      // A check is not a report, and needs one hit.
      if (denial === undefined || (isReport && hits !== 0n) || isLenient(limit, this.modes)) return false;
      return (
        denial.requestsPerUnit === limit.requestsPerUnit && (hits === 0n ? 1n : hits) >= denial.hits && toMs(nowSeconds) < denial.untilMs
      );
    });
  }

  /** Refunds and other limits on the bucket may make room: they are forgotten for. */
  private remember(
    takes: readonly Take[],
    { fits, nowSeconds }: { readonly fits: (take: Take) => boolean; readonly nowSeconds: number },
  ): void {
    if (this.isRemembered(takes, nowSeconds)) return;
    for (const take of takes) {
      const { bucket, hits, limit, isReport } = take;
      const known = this.denials.get(bucket);
      if (hits < 0n || (known !== undefined && known.requestsPerUnit !== limit.requestsPerUnit)) this.denials.delete(bucket);
      if (hits < 0n || fits(take) || isLenient(limit, this.modes)) continue;
      const windowEnds = windowStartSeconds(limit.unit, nowSeconds) + WINDOW_SECONDS[limit.unit];
      // A report, and a check, wait for one hit.
      this.denials.set(bucket, {
        requestsPerUnit: limit.requestsPerUnit,
        hits: isReport ? 1n : hits,
        untilMs: Math.min(toMs(nowSeconds) + REMEMBERED_MS, toMs(windowEnds)),
      });
    }
  }

  private countUnknown(domain: string): void {
    if (this.unknownDomains.size < UNKNOWN_DOMAINS_MAX) this.unknownDomains.add(domain);
    this.statistics.add({ domain: this.unknownDomains.has(domain) ? domain : 'other', levels: [], statistic: 'domain_not_found' }, 1n);
  }

  /** Hits, reports after the others and one more limit below zero at most; and then what is given back. Says whether some were cut off. */
  private charge(charged: readonly Take[]): boolean {
    let isCut = false;
    for (const { bucket, hits, limit, isReport } of charged) {
      if (hits <= 0n) continue;
      const before = this.used.get(bucket) ?? 0n;
      const most = 2n * BigInt(limit.requestsPerUnit) - before;
      const applied = !isReport || hits <= most ? hits : most > 0n ? most : 0n;
      if (applied < hits) isCut = true;
      this.used.set(bucket, before + applied);
    }
    for (const { bucket, hits } of charged) {
      if (hits >= 0n) continue;
      const used = (this.used.get(bucket) ?? 0n) + hits;
      this.used.set(bucket, used > 0n ? used : 0n);
    }
    return isCut;
  }

  private limitsOf({ domain: name, descriptors }: Asked): (ModelLimit | undefined)[] {
    const domain = this.domains.get(name);
    return applyReplaces(descriptors.map((descriptor) => domain && limitOf(descriptor, findAmended(domain, descriptor.entries))));
  }

  private takesOf(asked: Asked, limits: readonly (ModelLimit | undefined)[], nowSeconds: number): Take[] {
    return limits.flatMap((limit, index) => {
      const descriptor = asked.descriptors[index]!;
      if (limit === undefined || limit.unlimited) return [];
      return [
        {
          limit,
          index,
          bucket: bucketOf(asked, descriptor, limit, nowSeconds),
          hits: hitsOf(asked, descriptor),
          isReport: descriptor.hits !== undefined || descriptor.isRefund === true,
          isHuge: (descriptor.hits ?? 0n) >= 2n ** 63n,
        },
      ];
    });
  }

  /** Those by which another rule, or another bucket, is found. */
  private amendmentsOf(asked: Asked, takes: readonly Take[]): Amendment[] {
    const domain = this.domains.get(asked.domain);
    if (domain === undefined) return [];
    const byMatch = asked.descriptors.flatMap(({ entries }): Amendment[] => {
      const [own, reference] = [findAmended(domain, entries), findAsReference(domain, entries)];
      if (own.configured === reference.configured) return [];
      return [reference.byPatternAsValue ? 'a pattern is no value' : 'keys and values apart'];
    });
    const byBucket = takes.flatMap(({ limit }): Amendment[] =>
      limit.shared.some((shared) => shared?.key.includes('*')) ? ['one counter for all'] : [],
    );
    return [...byMatch, ...byBucket];
  }
}

/** More hits, of a refund too, are taken as these. */
const HITS_MAX = 2n ** 53n;

/** Of domains without rules, those that are counted by name. */
const UNKNOWN_DOMAINS_MAX = 100;

interface Counted {
  readonly asked: Asked;
  readonly limits: readonly (ModelLimit | undefined)[];
  readonly takes: readonly Take[];
  readonly fits: (take: Take) => boolean;
  readonly overall: 'OK' | 'OVER_LIMIT';
  readonly isCached: boolean;
}

/** The hits that did not fit under that limit. */
interface Denial {
  readonly requestsPerUnit: number;
  readonly hits: bigint;
  readonly untilMs: number;
}

/** A denial is remembered for so long, or until its window ends. */
const REMEMBERED_MS = 1_000;

/** Whole, so that a sum is exact. */
function toMs(seconds: number): number {
  return Math.round(seconds * 1000);
}

/** A limit that the request brings along is counted under the rule whose place it takes, as configured; without one, under its keys. */
function levelsOf({ entries, limit }: AskedDescriptor, domain: ConfiguredDomain): string[] {
  const { levels } = findAmended(domain, entries);
  if (limit === undefined) return levelsAsWeir(levels);
  return levels.at(-1)?.configured.rate_limit !== undefined ? levels.map(({ whole }) => whole) : entries.map(({ key }) => key);
}

/** A limit that alone denies nothing. */
function isLenient(limit: ModelLimit, modes: Modes): boolean {
  return limit.isShadow || isQuota(limit, modes) || modes.shadow;
}

function sumsOf(takes: readonly Take[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { bucket, hits } of takes) sums.set(bucket, (sums.get(bucket) ?? 0n) + (hits > 0n ? hits : 0n));
  return sums;
}

function hitsOf(asked: Asked, { hits, isRefund = false }: AskedDescriptor): bigint {
  const own = hits ?? BigInt(asked.hits === undefined || asked.hits === 0 ? 1 : asked.hits);
  const taken = own > HITS_MAX ? HITS_MAX : own;
  return isRefund ? -taken : taken;
}

/** Domain, entries and window: neither the size of the limit nor who set it. */
function bucketOf({ domain }: Asked, { entries }: AskedDescriptor, { shared, unit }: ModelLimit, nowSeconds: number): string {
  const named = entries.map((entry, level) =>
    shared[level] === undefined ? [entry.key, entry.value] : ['shared', shared[level].key, shared[level].value],
  );
  return JSON.stringify([domain, named, unit, windowStartSeconds(unit, nowSeconds)]);
}

interface Outcome {
  readonly takes: readonly Take[];
  readonly fits: (take: Take) => boolean;
  /** Whether the descriptor at that place denies the request. */
  readonly denies: (index: number) => boolean;
  readonly overall: 'OK' | 'OVER_LIMIT';
  readonly before: ReadonlyMap<string, bigint>;
  readonly sums: ReadonlyMap<string, bigint>;
  /** Hits of a report lay beyond the overdraft. */
  readonly isCut: boolean;
}

function amendmentsOfOutcome({ takes, fits, denies, overall, before, sums, isCut }: Outcome): Amendment[] {
  const found: Amendment[] = [];
  const isCharging = takes.some(({ hits, isReport }) => hits > 0n && !isReport);
  if (isCut) found.push('the overdraft ends');
  if (overall === 'OVER_LIMIT' && isCharging) found.push('denied takes nothing');
  for (const take of takes) {
    const { bucket, hits, limit, isReport, isHuge } = take;
    const used = before.get(bucket)!;
    if (overall === 'OK' && !fits(take) && !isReport && hits > 0n) found.push('not fitting takes nothing');
    if (!fits(take) && !denies(take.index) && used < BigInt(limit.requestsPerUnit)) found.push('what is left is shown');
    if (hits > 0n && sums.get(bucket) !== hits) found.push('duplicates are one sum');
    if (hits === 0n && used === BigInt(limit.requestsPerUnit)) found.push('a check needs a hit');
    if (hits < 0n) found.push('refunds');
    if (isHuge) found.push('huge hits are denied');
  }
  return found;
}
