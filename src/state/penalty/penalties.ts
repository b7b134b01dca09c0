/** Counts denials across all instances, and blocks entries that a rule denies too often. It never delays a decision. */

import { bucketKey, isAnyValue } from '../../domain/bucket/bucket-key';
import type { Group } from '../../domain/bucket/take';
import { copyOf } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import type { SharedEntry } from '../../domain/rule/shared-entry';
import type { Penalty } from '../../domain/rule/penalty';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import type { GroupOutcome, Store } from '../store/port/store';

/** Entries with denials that are not counted yet; those of further ones are dropped. */
export const PENDING_MAX = 10_000;

/** The most bytes of their entries together. */
export const PENDING_BYTES_MAX = 4 * 1024 * 1024;

/** Most bytes of the record of a block: requests choose its values, and a store keeps tens of thousands. */
export const BLOCK_BYTES_MAX = 2_048;

/** Most requests with different entries of one shared bucket that are blocked at once. */
export const SHARERS_MAX = 16;

/** Entries counted by one call. */
export const COUNTED_MAX = 512;

/** Interval between two calls, in milliseconds. */
const FLUSH_MS = 250;

/** Who is blocked, and why. */
export interface PenaltyBlock {
  readonly domain: ByteString;
  readonly path: readonly string[];
  readonly entries: readonly BlockedEntry[];
  readonly penalty: Penalty;
}

export interface BlockedEntry {
  readonly key: ByteString;
  /** Absent: any value, because all values share one bucket. */
  readonly value?: ByteString;
}

export interface PenaltiesParts {
  readonly store: Pick<Store, 'take'>;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Writes the blocks, at most `COUNTED_MAX` times `SHARERS_MAX`; resolves to those that are in force. */
  readonly block: (blocks: readonly PenaltyBlock[]) => Promise<readonly PenaltyBlock[]>;
  /** Called with the number of denials that were not counted. */
  readonly onDropped: (denials: number) => void;
  /** Called if the store or the control data failed. */
  readonly onError: (error: unknown) => void;
}

/** Denials of one bucket. */
interface Pending extends Omit<PenaltyBlock, 'entries'> {
  readonly key: string;
  denials: number;
  /** Approximate bytes of the entries to block. */
  bytes: number;
  /** The entries to block, by their text: several if values of a pattern share the bucket. */
  readonly sharers: Map<string, readonly BlockedEntry[]>;
}

interface Denied extends Omit<PenaltyBlock, 'entries'> {
  readonly entries: readonly Entry[];
  /** The shared entry that replaces an entry in the bucket keys of the rule. */
  readonly shared: readonly (SharedEntry | undefined)[];
}

export class Penalties {
  /** By bucket key, oldest first. */
  private readonly pending = new Map<string, Pending>();
  private pendingBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;

  constructor(private readonly parts: PenaltiesParts) {}

  start(): void {
    this.timer = setInterval(() => {
      this.flushing ??= this.flush().finally(() => {
        this.flushing = undefined;
      });
    }, FLUSH_MS);
    this.timer.unref();
  }

  /** Entries that are not counted yet. */
  get waiting(): number {
    return this.pending.size;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush();
  }

  /** Denials by a block, and those that SHADOW_MODE lets pass, do not count. */
  record({ request, matched, decision }: DecidedRequest): void {
    if (decision.overallCode !== 'OVER_LIMIT' || matched.blocked === true) return;
    for (let i = 0; i < decision.statuses.length; i += 1) {
      const { rule, path = [] } = matched.matches[i] ?? {};
      const descriptor = request.descriptors[i];
      if (rule?.penalty === undefined || descriptor === undefined || decision.statuses[i]?.denies !== true) continue;
      const { domain } = request;
      const { penalty } = rule;
      const { entries } = descriptor;
      const shared = rule.inFlight === undefined ? rule.shareThreshold : rule.inFlight.keyEntries;
      this.add({ domain, path, entries, penalty, shared }, matched.hashTag);
    }
  }

  /** Counts what is pending, and blocks. It never rejects. */
  async flush(): Promise<void> {
    const batch = [...this.firstPending()];
    if (batch.length === 0) return;
    for (const { key, bytes } of batch) {
      this.pending.delete(key);
      this.pendingBytes -= bytes;
    }
    try {
      const outcomes = await this.parts.store.take(batch.map(({ key, penalty, denials }) => groupOf(key, penalty, denials)));
      const reached = batch.filter((_, i) => isReached(outcomes[i]));
      if (reached.length === 0) return;
      const blocks = reached.map(({ domain, path, penalty, sharers }) =>
        Array.from(sharers.values(), (entries): PenaltyBlock => ({ domain, path, penalty, entries })),
      );
      const blocked = new Set(await this.parts.block(blocks.flat()));
      // The count starts again, so that the end of a block is not the beginning of the next.
      const again = reached.filter((_, i) => blocks[i]?.some((each) => blocked.has(each)));
      if (again.length > 0) await this.parts.store.take(again.map(({ key, penalty }) => groupOf(key, penalty, -penalty.denials)));
    } catch (error) {
      this.parts.onDropped(batch.reduce((sum, { denials }) => sum + denials, 0));
      this.parts.onError(error);
    }
  }

  /** Counts as the limits do: entries that share a bucket there are counted together. */
  private add({ entries, shared, ...denied }: Denied, hashTag: ByteString | undefined): void {
    const { domain, penalty } = denied;
    const key = bucketKey({ prefix: this.parts.keyPrefix, domain, hashTag, entries, limit: penalty.limit, shared });
    let known = this.pending.get(key);
    if (known === undefined && (this.pending.size >= PENDING_MAX || this.pendingBytes >= PENDING_BYTES_MAX)) {
      this.parts.onDropped(1);
      return;
    }
    // A copy: a slice of a long message would keep the whole message in memory.
    if (known === undefined)
      this.pending.set(key, (known = { ...denied, domain: copyOf(domain), key, denials: 0, bytes: 0, sharers: new Map() }));
    known.denials += 1;
    if (known.sharers.size > 0 && shared.length === 0) return;
    const blocked = entries.map((entry, level) => (isAnyValue(shared[level]) ? { key: entry.key } : entry));
    if (bytesOf(blocked) <= BLOCK_BYTES_MAX && this.pendingBytes < PENDING_BYTES_MAX) this.addSharer(known, blocked);
  }

  private addSharer(known: Pending, blocked: readonly BlockedEntry[]): void {
    const text = JSON.stringify(blocked);
    if (known.sharers.size >= SHARERS_MAX || known.sharers.has(text)) return;
    known.sharers.set(text, JSON.parse(text) as readonly BlockedEntry[]);
    const bytes = text.length + bytesOf(blocked);
    known.bytes += bytes;
    this.pendingBytes += bytes;
  }

  private *firstPending(): Generator<Pending> {
    let left = COUNTED_MAX;
    for (const each of this.pending.values()) {
      if (left === 0) return;
      left -= 1;
      yield each;
    }
  }
}

function bytesOf(entries: readonly BlockedEntry[]): number {
  return entries.reduce((sum, { key, value = '' }) => sum + key.length + value.length, 0);
}

function groupOf(bucketKeyText: string, { limit }: Penalty, hits: number): Group {
  const take = { bucketKey: bucketKeyText, limit, hits, mode: 'enforced', descriptor: 0, failureMode: 'open' } as const;
  return { takes: [take], quotaAlwaysFits: false, shadow: false };
}

/** A fallback knows only the denials of this process. */
function isReached(outcome: GroupOutcome | undefined): boolean {
  if (outcome === undefined || !('verdicts' in outcome) || outcome.fallback === true) return false;
  const [verdict] = outcome.verdicts;
  return verdict !== undefined && (!verdict.fits || verdict.remaining === 0);
}
