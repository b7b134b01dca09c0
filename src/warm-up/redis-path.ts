/** The path over Redis, without a Redis: what a store decides goes through all that wraps one, and through the words of its script. */

import type { Group, GroupVerdict, Settlement } from '../bucket/take';
import type { GroupOutcome, SettleOutcome, Store } from '../store/store';
import { decodeReply, encodeTakes, GROUP_ALLOWED, GROUP_DENIED, TAKE_FITS } from '../store/take-wire';
import { wrapRedis, wrapServer } from '../wrap-redis';

/** As long as the warm-up may take. Nothing here waits for a network, so nothing is that late. */
const TIMEOUT_MS = 1000;

const BUCKETS_MAX = 1000;

const ignore = () => undefined;

/** Wrapped as Redis is, with metrics that nobody reads. */
export function overRedisPath(store: Store): Store {
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
    onFallback: ignore,
    onChargedBack: ignore,
    onLost: ignore,
  });
  return redis.store;
}

/** What is asked is written as a command, and what is decided is read as its reply. */
class WordedStore implements Store {
  constructor(private readonly store: Store) {}

  async take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    const { folds } = encodeTakes(groups);
    const outcomes = await this.store.take(groups);
    const verdicts = outcomes.filter((outcome): outcome is GroupVerdict => 'verdicts' in outcome);
    // A fold is answered by what was found, which this store does not tell.
    return folds === undefined && verdicts.length === groups.length ? decodeReply(replyOf(verdicts), { groups, folds }) : outcomes;
  }

  settle(settlements: readonly Settlement[]): Promise<readonly SettleOutcome[]> {
    return this.store.settle(settlements);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** As `lua/take.lua` answers. */
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
