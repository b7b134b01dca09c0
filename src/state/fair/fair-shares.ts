/**
 * Divides limits among the members that ask for them: it counts what each asks for, adds that to the demand board, and makes the level of
 * each limit of the demand of the window before. It never delays a decision, and asks no store on its path. Levels only make
 * limits smaller, and the whole limit counts every hit too, so a wrong or missing level never admits more than the limit.
 */

import { createHash } from 'node:crypto';
import { KeyHeads } from '../../domain/bucket/bucket-key';
import { NEVER } from '../../domain/algorithm/engine';
import type { GroupVerdict, Verdict } from '../../domain/bucket/take';
import { copyOf } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import { memberOf, NO_MEMBER, type Fair } from '../../domain/rule/fair/fair';
import { beforeShare } from '../../domain/rule/share';
import type { WaterLevel } from '../../domain/rule/fair/water-level';
import type { DividedLimit, FairLevels } from '../../domain/rule/match';
import { MEMBERS_MAX, type DemandBoard } from './demand-board';
import { configuredOf, levelOfDemand, sharedBucket, windowStartUs } from './divided-limit';

/** Interval between two looks at the limits, in milliseconds. */
const LOOK_MS = 200;

/** Divided limits, and members of all of them that are not on the board yet. Further limits are not divided by this process, further members count as the one without a name. */
const LIMITS_MAX = 1_000;
const PENDING_MAX = 20_000;

/** Longer names are counted by their digest. */
const MEMBER_BYTES_MAX = 255;

/** Counts are sent this often in a window, and at its end, but not more often than there is a look, nor more seldom than each ten seconds. */
const SENDS_A_WINDOW = 20;
const SEND_US_MAX = 10_000_000;

/** A level serves the window after its own, and this number of further ones while the board cannot be read. */
const STALE_WINDOWS = 2;

/** Limits whose demand is sent or read at once. */
const AT_ONCE = 32;

export interface FairSharesParts {
  readonly board: DemandBoard;
  /** A monotonic clock, in microseconds. */
  readonly clockUs: () => number;
  /** Called if the store failed. The counts of that call are dropped. */
  readonly onError: (error: unknown) => void;
}

type PendingCounts = Map<ByteString, number>;

interface Divided {
  readonly bucket: string;
  /** The bucket key names the window, so it stays. */
  readonly windowUs: number;
  requestsPerUnit: number;
  fair: Fair;
  /** By the start of their window, counts that are not on the board yet. */
  readonly pending: Map<number, PendingCounts>;
  /** When counts were sent, by the store's clock. */
  sentUs: number;
  /** The window of the last request. */
  lastStartUs: number;
  /** The window whose demand was read last. */
  readStartUs: number;
  /** The window that made the level. */
  levelStartUs: number;
  level: WaterLevel | undefined;
}

/** One limit, as a request asks for it. */
interface Asked extends DividedLimit {
  readonly fair: Fair;
  readonly hits: number;
  readonly nowUs: number;
}

interface LookInput {
  /** The store's clock, about. */
  readonly nowUs: number;
  readonly all: boolean;
}

interface Recorded {
  /** The place of the first verdict on the descriptor. */
  readonly first: number;
  /** Its hits are those of the descriptor, which limits with an overdraft charge whatever the verdict. */
  readonly isReport: boolean;
}

/** The limit or its share denies, for a time. Hits that never fit are not demand: nobody can use what others would leave to them. */
function couldFitLater(taken: readonly (Verdict | undefined)[]): boolean {
  return (
    taken.some((each) => each?.denies === true) && taken.every((each) => each === undefined || each.fits || each.retryAfterUs !== NEVER)
  );
}

export class FairShares implements FairLevels {
  version = 0;
  private readonly limits = new Map<string, Divided>();
  private readonly heads = new KeyHeads();
  private pendingMembers = 0;
  /** The store's clock at the last request, and this process's clock then. */
  private seenUs = 0;
  private seenAtUs = 0;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;

  constructor(private readonly parts: FairSharesParts) {}

  /** Limits that members have shares of now. */
  get dividedNow(): number {
    let divided = 0;
    for (const { level } of this.limits.values()) if (level !== undefined) divided += 1;
    return divided;
  }

  start(): void {
    this.timer = setInterval(() => {
      this.looking ??= this.look().finally(() => {
        this.looking = undefined;
      });
    }, LOOK_MS).unref();
  }

  /** Sends what is counted. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
    await this.look({ all: true });
  }

  levelOf(divided: DividedLimit): WaterLevel | undefined {
    return this.limits.size === 0 ? undefined : this.limits.get(sharedBucket(divided, this.heads))?.level;
  }

  /** Counts what was asked for. Hits that another limit alone denied could not have been used, so they do not count. */
  record({ request, matched, verdict }: DecidedRequest): void {
    if (matched.blocked === true) return;
    let first = 0;
    for (let i = 0; i < matched.matches.length; i += 1) {
      const match = matched.matches[i];
      if (match === undefined) continue;
      const descriptor = request.descriptors[i];
      if (match.fair !== undefined && match.rule !== undefined && descriptor !== undefined) {
        const { fair } = match;
        const { hits = request.hits, entries } = descriptor;
        const asked = { domain: request.domain, hashTag: matched.hashTag, entries, match, fair, hits, nowUs: verdict.nowUs };
        if (hits > 0) this.recordLimits(asked, verdict, { first, isReport: descriptor.hits !== undefined });
      }
      first += match.limits.length;
    }
  }

  /** Sends and reads what is due. `all`: sends also what is not. It never rejects. */
  async look({ all = false }: { readonly all?: boolean } = {}): Promise<void> {
    const nowUs = this.seenUs + this.parts.clockUs() - this.seenAtUs;
    const limits = [...this.limits.values()];
    for (let i = 0; i < limits.length; i += AT_ONCE)
      await Promise.all(limits.slice(i, i + AT_ONCE).map((divided) => this.lookAt(divided, { nowUs, all })));
  }

  private recordLimits(
    asked: Omit<Asked, 'limit'>,
    { verdicts, overLimit, ...verdict }: GroupVerdict,
    { first, isReport }: Recorded,
  ): void {
    const { limits } = asked.match;
    for (let i = 0; i < limits.length; i += 1) {
      const share = limits[i];
      if (share?.role !== 'share') continue;
      const limit = beforeShare(share);
      const taken = [verdicts[first + limits.indexOf(limit)], verdicts[first + i]];
      if (overLimit && !(isReport && limit.overdraft !== undefined) && !couldFitLater(taken)) continue;
      this.count({ ...asked, limit }, verdict);
    }
  }

  private count(asked: Asked, { fallback, cached }: Pick<GroupVerdict, 'fallback' | 'cached'>): void {
    const { limit, fair, hits, nowUs } = asked;
    // The clock of a fallback is that of this process.
    if (fallback !== true && cached !== true) {
      this.seenUs = nowUs;
      this.seenAtUs = this.parts.clockUs();
    }
    const divided = this.dividedOf(asked);
    if (divided === undefined) return;
    divided.requestsPerUnit = configuredOf(asked).requestsPerUnit;
    divided.fair = fair;
    const startUs = windowStartUs(nowUs, limit.windowUs);
    divided.lastStartUs = startUs;
    let counts = divided.pending.get(startUs);
    if (counts === undefined) divided.pending.set(startUs, (counts = new Map<ByteString, number>()));
    const sent = memberOf(fair, asked.entries);
    const name = sent.length <= MEMBER_BYTES_MAX ? sent : digestOf(sent);
    const before = counts.get(name);
    if (before === undefined) this.countNew(counts, { name, hits, capacity: divided.requestsPerUnit });
    else counts.set(name, Math.min(divided.requestsPerUnit, before + hits));
  }

  /** More than the whole limit is as much as the limit: the level is the same. */
  private countNew(
    counts: PendingCounts,
    { name, hits, capacity }: { readonly name: ByteString; readonly hits: number; readonly capacity: number },
  ): void {
    const isFull = counts.size >= MEMBERS_MAX || this.pendingMembers >= PENDING_MAX;
    const counted = isFull ? NO_MEMBER : copyOf(name);
    if (!counts.has(counted)) this.pendingMembers += 1;
    counts.set(counted, Math.min(capacity, (counts.get(counted) ?? 0) + hits));
  }

  private dividedOf(asked: Asked): Divided | undefined {
    const bucket = sharedBucket(asked, this.heads);
    const known = this.limits.get(bucket);
    if (known !== undefined || this.limits.size >= LIMITS_MAX) return known;
    const { limit, fair } = asked;
    const divided: Divided = {
      bucket: copyOf(bucket),
      requestsPerUnit: configuredOf(asked).requestsPerUnit,
      windowUs: limit.windowUs,
      fair,
      pending: new Map(),
      sentUs: 0,
      lastStartUs: 0,
      readStartUs: 0,
      levelStartUs: 0,
      level: undefined,
    };
    this.limits.set(divided.bucket, divided);
    return divided;
  }

  private async lookAt(divided: Divided, { nowUs, all }: LookInput): Promise<void> {
    const { board, onError } = this.parts;
    const { bucket, windowUs, pending, lastStartUs } = divided;
    const endedUs = windowStartUs(nowUs, windowUs) - windowUs;
    try {
      const isDue = Math.abs(nowUs - divided.sentUs) >= Math.min(SEND_US_MAX, windowUs / SENDS_A_WINDOW);
      for (const [startUs, counts] of [...pending]) {
        if (!isDue && !all && startUs + windowUs > nowUs) continue;
        divided.sentUs = nowUs;
        pending.delete(startUs);
        this.pendingMembers -= counts.size;
        await board.add({ bucket, startUs, windowUs }, counts);
      }
      // The store's clock may have stepped back, as after a failover.
      const isUnread = endedUs > divided.readStartUs || endedUs < divided.readStartUs - windowUs;
      if (isUnread && nowUs >= endedUs + windowUs + board.graceUs) {
        divided.readStartUs = endedUs;
        const counts = await board.read({ bucket, startUs: endedUs, windowUs });
        divided.levelStartUs = endedUs;
        this.setLevel(divided, levelOfDemand(divided, divided.fair, counts));
      }
    } catch (error) {
      onError(error);
    }
    if (endedUs > divided.levelStartUs + STALE_WINDOWS * windowUs) this.setLevel(divided, undefined);
    // No request came in the window that ended, nor after it.
    if (lastStartUs < endedUs && pending.size === 0) {
      this.setLevel(divided, undefined);
      this.limits.delete(bucket);
    }
  }

  private setLevel(divided: Divided, level: WaterLevel | undefined): void {
    const { level: before } = divided;
    divided.level = level;
    if (before?.hits !== level?.hits || before?.weight !== level?.weight) this.version += 1;
  }
}

/** As long as a name may be, and no name that a configuration has a weight for. */
function digestOf(name: ByteString): ByteString {
  return `~${createHash('sha256').update(name, 'latin1').digest('hex')}`;
}
