/** Counts the hits of rollouts in Redis, for all processes. */

import { readList } from '../store/redis/client/read-reply';
import { ReplyError } from '../store/redis/client/reply-error';
import type { RunScript } from '../store/redis/redis-store';
import { loadScript, type Script } from '../store/redis/script-loader';
import { fieldOf } from '../control/control-record';
import {
  COUNTS_TTL_MS,
  readCounts,
  SLOTS_MAX,
  type CountedHits,
  type RolloutCounter,
  type RolloutCounts,
  type RolloutName,
} from './rollout-counter';

export interface RedisRolloutCounterOptions {
  readonly run: RunScript;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Default: `lua/rollout.lua`. */
  readonly script?: Script;
}

export class RedisRolloutCounter implements RolloutCounter {
  private readonly script: Script;

  constructor(private readonly options: RedisRolloutCounterOptions) {
    this.script = options.script ?? loadScript('rollout');
  }

  add({ version, widthS, counts: { candidate, current }, ...name }: CountedHits): Promise<RolloutCounts | undefined> {
    const hits = [candidate.hits, candidate.over, current.hits, current.over];
    return this.run(name, [version, widthS, SLOTS_MAX, COUNTS_TTL_MS, ...hits].map(String));
  }

  read(name: RolloutName): Promise<RolloutCounts | undefined> {
    return this.run(name, []);
  }

  private run({ domain, rule }: RolloutName, args: readonly string[]): Promise<RolloutCounts | undefined> {
    const { run, keyPrefix } = this.options;
    const key = `${keyPrefix}weir:rollout:${fieldOf({ domain, name: rule })}`;
    return run({ script: this.script, keys: [key], args, read: readReply }, {});
  }
}

function readReply(reply: unknown): RolloutCounts | undefined {
  const [now, text] = readList(reply);
  if (typeof now !== 'string' || typeof text !== 'string') throw new ReplyError('it is not the counts of a rollout');
  return readCounts(text, Number(now));
}
