/** Refunds that were decided without the store and still have to be sent to it. */

import type { BucketLimit, Group, Adjustment } from '../../domain/bucket/take';
import { TRAITS } from '../../domain/algorithm/algorithms';
import { isSameWindow } from '../../domain/algorithm/window';
import type { Store } from '../store/port/store';
import { StoreError } from '../store/port/store-error';

/** More than any bucket has used, so that no refill since counts as theirs. */
const ALL_BEFORE = Number.MAX_SAFE_INTEGER;

/** Deadline, in milliseconds: longer than that of a call, because nothing waits for it. */
const REFUND_TIMEOUT_MS = 1_000;

export class LateRefund {
  hits = 0;
  /** The time of the first of them. */
  private takenAtUs = 0;

  add(hits: number, limit: BucketLimit, nowUs: number): void {
    // Slots end by themselves, and which one was released is not known here.
    if (hits === 0 || TRAITS[limit.algorithm].holds === 'slots') return;
    // With its window the hits are gone, in the store too.
    const isOver = TRAITS[limit.algorithm].restores === 'at-window-end' && !isSameWindow(limit, this.takenAtUs, nowUs);
    if (this.hits === 0 || isOver) {
      this.hits = 0;
      this.takenAtUs = nowUs;
    }
    this.hits += hits;
  }

  /** All of them, which are then to be sent. */
  take(): SentRefund {
    const { hits, takenAtUs } = this;
    this.hits = 0;
    return { hits, takenAtUs };
  }

  putBack(hits: number, takenAtUs: number): void {
    this.hits += hits;
    this.takenAtUs = takenAtUs;
  }
}

interface SentRefund {
  readonly hits: number;
  readonly takenAtUs: number;
}

export interface SendRefundInput extends SentRefund {
  readonly account: Pick<Adjustment, 'bucketKey' | 'limit'>;
}

/** Resolves to the failure, if there was one. */
export async function sendRefund(store: Store, { account, hits, takenAtUs }: SendRefundInput): Promise<StoreError | undefined> {
  const { bucketKey, limit } = account;
  const options = { timeoutMs: REFUND_TIMEOUT_MS };
  try {
    // A log gives back hits of a certain moment, which is not known here, so the latest ones are refunded.
    const [outcome] =
      TRAITS[limit.algorithm].recordsMax !== undefined
        ? await store.take([refundOf(bucketKey, limit, hits)], options)
        : await store.adjust([{ bucketKey, limit, hits: -hits, takenAtUs, usedBefore: ALL_BEFORE }], options);
    return outcome instanceof StoreError ? outcome : undefined;
  } catch (error) {
    return error instanceof StoreError ? error : new StoreError(String(error), 'other', { cause: error });
  }
}

function refundOf(bucketKey: string, limit: BucketLimit, hits: number): Group {
  return { takes: [{ bucketKey, limit, hits: -hits, mode: 'shadow', descriptor: 0 }], quotaAlwaysFits: false, shadow: false };
}
