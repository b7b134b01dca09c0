/** The reference's answers in fixed windows, by its text alone: `INCRBY`, then compare. */

import { limitText, type Answered, type AnsweredStatus, type Asked, type AskedDescriptor, type ConfiguredDomain } from './asked';
import { applyReplaces, limitOf, overallCode, UNLIMITED_REMAINING, windowStartSeconds, WINDOW_SECONDS, type Modes, type ModelLimit } from './model-limit';
import { findAsReference } from './descriptor-match';

export class ReferenceModel {
  private readonly counters = new Map<string, bigint>();

  constructor(
    private readonly domains: ReadonlyMap<string, ConfiguredDomain>,
    private readonly modes: Modes,
  ) {}

  answer(asked: Asked, nowSeconds: number): Answered {
    if (asked.domain === '' || asked.descriptors.length === 0) return { error: 'UNKNOWN' };
    const limits = this.limitsOf(asked);
    const statuses: AnsweredStatus[] = asked.descriptors.map((descriptor, index) => {
      const limit = limits[index];
      if (limit === undefined) return { code: 'OK', remaining: 0 };
      if (limit.unlimited) return { code: 'OK', remaining: UNLIMITED_REMAINING };
      const key = this.keyOf(asked, descriptor, limit, nowSeconds);
      // A refund is not known: its hits are hits. From 2^63 on they are negative to Redis.
      const after = (this.counters.get(key) ?? 0n) + BigInt.asIntN(64, descriptor.hits ?? BigInt(asked.hits === undefined || asked.hits === 0 ? 1 : asked.hits));
      this.counters.set(key, after);
      const isOver = after > BigInt(limit.requestsPerUnit);
      return {
        code: isOver && !limit.isShadow ? 'OVER_LIMIT' : 'OK',
        limit: limitText(limit),
        remaining: isOver ? 0 : limit.requestsPerUnit - Number(after),
        resetSeconds: WINDOW_SECONDS[limit.unit] - (Math.floor(nowSeconds) % WINDOW_SECONDS[limit.unit]),
      };
    });
    const isOver = statuses.map(({ code }) => code === 'OVER_LIMIT');
    return { overallCode: overallCode({ limits, isOver, modes: this.modes }), statuses };
  }

  /** The counters that an answer looks at. */
  keysOf(asked: Asked, nowSeconds: number): string[] {
    return this.limitsOf(asked).flatMap((limit, index) =>
      limit === undefined || limit.unlimited ? [] : [this.keyOf(asked, asked.descriptors[index]!, limit, nowSeconds)],
    );
  }

  limitsOf({ domain: name, descriptors }: Asked): (ModelLimit | undefined)[] {
    const domain = this.domains.get(name);
    return applyReplaces(descriptors.map((descriptor) => domain && limitOf(descriptor, findAsReference(domain, descriptor.entries))));
  }

  private keyOf({ domain }: Asked, { entries }: AskedDescriptor, { shared, unit }: ModelLimit, nowSeconds: number): string {
    const parts = entries.map(({ key, value }, level) => `${key}_${shared[level]?.value ?? value}_`);
    return `${domain}_${parts.join('')}${windowStartSeconds(unit, nowSeconds)}`;
  }
}
