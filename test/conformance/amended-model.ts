/** Weir's answers in fixed windows: the reference's, but for the amendments; written from the text of both. */

import { limitText, type Answered, type AnsweredStatus, type Asked, type AskedDescriptor, type ConfiguredDomain } from './asked';
import type { Amendment } from './amendments';
import { findAmended, findAsReference } from './descriptor-match';
import { applyReplaces, limitOf, overallCode, UNLIMITED_REMAINING, windowStartSeconds, WINDOW_SECONDS, type Modes, type ModelLimit } from './model-limit';

/** One limit of one descriptor of a request. */
interface Take {
  readonly limit: ModelLimit;
  readonly bucket: string;
  readonly hits: bigint;
  /** The descriptor's own hits, which are charged, or given back, whatever the answer. */
  readonly isReport: boolean;
  /** Place of its descriptor. */
  readonly index: number;
}

export interface AmendedAnswer {
  readonly answered: Answered;
  /** What the answer owes to amendments directly, its buckets' past apart. */
  readonly amendments: readonly Amendment[];
  /** The buckets that it looks at. */
  readonly buckets: readonly string[];
}

export class AmendedModel {
  private readonly used = new Map<string, bigint>();

  constructor(
    private readonly domains: ReadonlyMap<string, ConfiguredDomain>,
    private readonly modes: Modes,
  ) {}

  answer(asked: Asked, nowSeconds: number): AmendedAnswer {
    if (asked.domain === '' || asked.descriptors.length === 0) {
      return { answered: { error: 'INVALID_ARGUMENT' }, amendments: ['errors have codes'], buckets: [] };
    }
    const limits = this.limitsOf(asked);
    const takes = this.takesOf(asked, limits, nowSeconds);
    const sums = sumsOf(takes);
    const before = new Map(takes.map(({ bucket }) => [bucket, this.used.get(bucket) ?? 0n]));
    // A refund: always. A check: while a hit is left. Else all positive hits of the request on the bucket must fit under this very limit.
    const fits = ({ hits, bucket, limit }: Take) => hits < 0n || before.get(bucket)! + (hits === 0n ? 1n : sums.get(bucket)!) <= BigInt(limit.requestsPerUnit);
    const isOver = limits.map((_, index) => takes.some((take) => take.index === index && !fits(take) && !take.limit.isShadow));
    const overall = overallCode({ limits, isOver, modes: this.modes });
    const admitted = overall === 'OK' ? takes.filter((take) => !take.isReport && fits(take)) : [];
    const isCut = this.charge([...admitted, ...takes.filter(({ isReport }) => isReport)]);
    const statuses = limits.map((limit, index): AnsweredStatus => {
      if (limit === undefined) return { code: 'OK', remaining: 0 };
      const take = takes.find((each) => each.index === index);
      if (take === undefined) return { code: 'OK', remaining: UNLIMITED_REMAINING };
      const left = BigInt(limit.requestsPerUnit) - (this.used.get(take.bucket) ?? 0n);
      return {
        code: isOver[index] === true ? 'OVER_LIMIT' : 'OK',
        limit: limitText(limit),
        remaining: left > 0n ? Number(left) : 0,
        resetSeconds: WINDOW_SECONDS[limit.unit] - (Math.floor(nowSeconds) % WINDOW_SECONDS[limit.unit]),
      };
    });
    const amendments = [...this.amendmentsOf(asked, takes), ...amendmentsOfOutcome({ takes, fits, overall, before, sums, isCut })];
    return { answered: { overallCode: overall, statuses }, amendments, buckets: [...before.keys()] };
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
      return [{ limit, index, bucket: bucketOf(asked, descriptor, limit, nowSeconds), hits: hitsOf(asked, descriptor), isReport: descriptor.hits !== undefined || descriptor.isRefund === true }];
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
    const byBucket = takes.flatMap(({ limit }): Amendment[] => (limit.shared.some((shared) => shared?.key.includes('*')) ? ['one counter for all'] : []));
    return [...byMatch, ...byBucket];
  }
}

function sumsOf(takes: readonly Take[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { bucket, hits } of takes) sums.set(bucket, (sums.get(bucket) ?? 0n) + (hits > 0n ? hits : 0n));
  return sums;
}

function hitsOf(asked: Asked, { hits, isRefund = false }: AskedDescriptor): bigint {
  const own = hits ?? BigInt(asked.hits === undefined || asked.hits === 0 ? 1 : asked.hits);
  return isRefund ? -own : own;
}

/** Domain, entries and window: neither the size of the limit nor who set it. */
function bucketOf({ domain }: Asked, { entries }: AskedDescriptor, { shared, unit }: ModelLimit, nowSeconds: number): string {
  const named = entries.map((entry, level) => (shared[level] === undefined ? [entry.key, entry.value] : ['shared', shared[level].key, shared[level].value]));
  return JSON.stringify([domain, named, unit, windowStartSeconds(unit, nowSeconds)]);
}

interface Outcome {
  readonly takes: readonly Take[];
  readonly fits: (take: Take) => boolean;
  readonly overall: 'OK' | 'OVER_LIMIT';
  readonly before: ReadonlyMap<string, bigint>;
  readonly sums: ReadonlyMap<string, bigint>;
  /** Hits of a report lay beyond the overdraft. */
  readonly isCut: boolean;
}

function amendmentsOfOutcome({ takes, fits, overall, before, sums, isCut }: Outcome): Amendment[] {
  const found: Amendment[] = [];
  const isCharging = takes.some(({ hits, isReport }) => hits > 0n && !isReport);
  if (isCut) found.push('the overdraft ends');
  if (overall === 'OVER_LIMIT' && isCharging) found.push('denied takes nothing');
  for (const take of takes) {
    const { bucket, hits, limit, isReport } = take;
    const used = before.get(bucket)!;
    if (overall === 'OK' && !fits(take) && !isReport && hits > 0n) found.push('not fitting takes nothing');
    if (!fits(take) && !isReport && used < BigInt(limit.requestsPerUnit)) found.push('what is left is shown');
    if (hits > 0n && sums.get(bucket) !== hits) found.push('duplicates are one sum');
    if (hits === 0n && used === BigInt(limit.requestsPerUnit)) found.push('a check needs a hit');
    if (hits < 0n) found.push('refunds');
    if (hits >= 2n ** 63n) found.push('huge hits are denied');
  }
  return found;
}
