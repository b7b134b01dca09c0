/** The Redis path of the warm-up, without a Redis: groups pass through the wrappers and the wire format of the script, and an embedded store decides them. */

import type { Group, GroupVerdict, Adjustment } from '../../domain/bucket/take';
import type { MemoryStore } from '../../state/store/memory/memory-store';
import type { GroupOutcome, AdjustOutcome, Store } from '../../state/store/port/store';
import { decodeReply, encodeTakes, GROUP_ALLOWED, GROUP_DENIED, TAKE_FITS } from '../../state/store/redis/take-wire';
import { wrapRedis, wrapServer } from '../../state/resilience/wrap-redis';

/** Timeout of a warm-up call. Nothing waits for a network, so no call reaches it. */
const TIMEOUT_MS = 1000;

const BUCKETS_MAX = 1000;

const ignore = () => undefined;

/** Wraps the store as `wrapRedis` wraps Redis, with metrics that nobody reads. */
export function overRedisPath(store: MemoryStore): Store {
  const server = wrapServer(new WordedStore(store), {
    timeoutMs: TIMEOUT_MS,
    breaker: { failures: Infinity, windowMs: TIMEOUT_MS, openMs: TIMEOUT_MS, onState: ignore },
    measure: { onCall: ignore, onError: ignore },
    partOf: () => 0,
    groupsMax: BUCKETS_MAX,
  });
  const redis = wrapRedis(server.store, {
    denyCacheMax: BUCKETS_MAX,
    lastKnownMax: BUCKETS_MAX,
    accountsMax: BUCKETS_MAX,
    failureMode: 'local',
    local: store,
    instances: () => 1,
    onDenied: ignore,
    leases: { leases: 'off', onHits: ignore },
    onFallback: ignore,
    onChargedBack: ignore,
    onLost: ignore,
  });
  return redis.store;
}

/** Encodes each group as a script command, and decodes each verdict from a script reply. */
class WordedStore implements Store {
  constructor(private readonly store: Store) {}

  async take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    const { folds } = encodeTakes(groups);
    const outcomes = await this.store.take(groups);
    const verdicts = outcomes.filter((outcome): outcome is GroupVerdict => 'verdicts' in outcome);
    // A reply to folded groups cannot be built, because this store does not return what the fold found.
    return folds === undefined && verdicts.length === groups.length ? decodeReply(replyOf(verdicts), { groups, folds }) : outcomes;
  }

  adjust(adjustments: readonly Adjustment[]): Promise<readonly AdjustOutcome[]> {
    return this.store.adjust(adjustments);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** The reply that `lua/take.lua` would send. */
function replyOf(decided: readonly GroupVerdict[]): number[] {
  const reply = [decided[0]?.nowUs ?? 0];
  for (const { overLimit, verdicts } of decided) {
    const doAllFit = verdicts.length > 0 && verdicts.every(({ fits }) => fits);
    if (!doAllFit) reply.push(overLimit ? GROUP_DENIED : GROUP_ALLOWED);
    for (const { fits, remaining, retryAfterUs, resetAfterUs } of verdicts) {
      reply.push(remaining, resetAfterUs);
      if (!doAllFit) reply.push(fits ? TAKE_FITS : retryAfterUs);
    }
  }
  return reply;
}
