/** The demand board in Redis, for all processes. */

import { US_PER_MS } from '../../lib/time-units';
import type { ByteString } from '../../domain/descriptor/descriptor';
import { readList } from '../store/redis/client/read-reply';
import { ReplyError } from '../store/redis/client/reply-error';
import type { RunScript } from '../store/redis/redis-store';
import { loadScript, type Script } from '../store/redis/script-loader';
import { KEPT_MS, KEPT_WINDOWS, MEMBERS_MAX, type DemandBoard, type DemandCounts, type DemandWindow } from './demand-board';

export interface RedisDemandBoardOptions {
  readonly run: RunScript;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Default: `lua/fair.lua`. */
  readonly script?: Script;
}

/** Members of one call, so that no script runs long. */
const CALL_MEMBERS_MAX = 250;

export class RedisDemandBoard implements DemandBoard {
  /** Every process has sent the end of a window by then. */
  readonly graceUs = 400_000;
  private readonly script: Script;

  constructor(private readonly options: RedisDemandBoardOptions) {
    this.script = options.script ?? loadScript('fair');
  }

  async add(window: DemandWindow, counts: DemandCounts): Promise<void> {
    const keptMs = Math.ceil((KEPT_WINDOWS * window.windowUs) / US_PER_MS) + KEPT_MS;
    const members = [...counts];
    for (let i = 0; i < members.length; i += CALL_MEMBERS_MAX) {
      const args = [String(MEMBERS_MAX), String(keptMs)];
      for (const [member, hits] of members.slice(i, i + CALL_MEMBERS_MAX)) args.push(member, String(hits));
      await this.run(window, args, readNothing);
    }
  }

  read(window: DemandWindow): Promise<DemandCounts> {
    return this.run(window, [], readCounts);
  }

  private run<T>({ bucket, startUs }: DemandWindow, args: readonly string[], read: (reply: unknown) => T): Promise<T> {
    const { run, keyPrefix } = this.options;
    return run({ script: this.script, keys: [`${keyPrefix}weir:fair:${startUs}:${bucket}`], args, read }, {});
  }
}

function readNothing(): void {
  // The script answers 0.
}

function readCounts(reply: unknown): DemandCounts {
  const parts = readList(reply);
  const counts = new Map<ByteString, number>();
  for (let i = 0; i < parts.length; i += 2) {
    const [member, hits] = [parts[i], Number(parts[i + 1])];
    if (typeof member !== 'string' || !(hits >= 0)) throw new ReplyError('it is not the demand of members');
    counts.set(member, Math.min(hits, Number.MAX_SAFE_INTEGER));
  }
  return counts;
}
