/** The outbox in Redis, for all processes: one script for each call. */

import { readList, readWhole } from '../store/redis/client/read-reply';
import { ReplyError } from '../store/redis/client/reply-error';
import type { RunScript } from '../store/redis/redis-store';
import { loadScript, type Script } from '../store/redis/script-loader';
import {
  LISTED_MAX,
  OUTBOX_BYTES_MAX,
  OUTBOX_EVENTS_MAX,
  type AddAnswer,
  type ClaimAnswer,
  type ClaimedEvent,
  type ClaimInput,
  type ListedEvent,
  type Mark,
  type MarkOutcome,
  type MarkResult,
  type Outbox,
  type OutboxBounds,
  type OutboxEvent,
  type OutboxFacts,
  type OutboxList,
  type Settlement,
} from './outbox';

export interface OutboxScripts {
  readonly add: Script;
  readonly claim: Script;
  readonly settle: Script;
  readonly list: Script;
}

export interface RedisOutboxOptions extends OutboxBounds {
  readonly run: RunScript;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Default: those of `lua/`. */
  readonly scripts?: OutboxScripts;
}

/** All keys are of one slot. The 1 is the version of the values. */
const KEY_START = 'weir:events:1{weir:events}';

const OUTCOMES: readonly (MarkOutcome | undefined)[] = [undefined, 'added', 'known', 'late', 'full'];

const ENDINGS: Readonly<Record<Settlement['ending'], string>> = { delivered: 'd', undelivered: 'u', again: 'r' };

/** Replies that begin with the facts have this many parts of them. */
const FACTS = 4;

export class RedisOutbox implements Outbox {
  private readonly scripts: OutboxScripts;
  private readonly keys: readonly string[];
  private readonly latest: string;
  private readonly markStart: string;

  constructor(private readonly options: RedisOutboxOptions) {
    const { scripts, keyPrefix } = options;
    this.scripts = scripts ?? {
      add: loadScript('event-add'),
      claim: loadScript('event-claim'),
      settle: loadScript('event-settle'),
      list: loadScript('event-list'),
    };
    const key = (name: string): string => `${keyPrefix}${KEY_START}${name}`;
    this.keys = ['state', 'due', 'ages', 'texts'].map(key);
    this.latest = key('latest');
    this.markStart = key('mark:');
  }

  add(marks: readonly Mark[]): Promise<AddAnswer> {
    const { eventsMax = OUTBOX_EVENTS_MAX, bytesMax = OUTBOX_BYTES_MAX } = this.options;
    const args = [String(eventsMax), String(bytesMax)];
    for (const mark of marks) args.push(String(mark.lateAfterMs ?? 0), staysText(mark), mark.id, mark.text);
    const keys = [...this.keys, ...marks.map(({ key }) => this.markStart + key)];
    const read = (reply: unknown): AddAnswer => {
      const parts = readList(reply);
      if (parts.length !== FACTS + 2 * marks.length) throw new ReplyError('it is not the outcome of these marks');
      return { ...readFacts(parts), results: marks.map((_, i) => readResult(parts[FACTS + 2 * i], parts[FACTS + 1 + 2 * i])) };
    };
    return this.options.run({ script: this.scripts.add, keys, args, read }, {});
  }

  claim({ max, leaseMs }: ClaimInput): Promise<ClaimAnswer> {
    const read = (reply: unknown): ClaimAnswer => {
      const parts = readList(reply);
      const claimed: ClaimedEvent[] = [];
      for (let i = FACTS + 1; i + 1 < parts.length; i += 2) {
        const event = readEvent(parts[i + 1]);
        if (event !== undefined) claimed.push({ number: readNumber(parts[i]), ...event });
      }
      return { ...readFacts(parts), gone: readWhole(parts[FACTS], 0, max), claimed };
    };
    return this.options.run({ script: this.scripts.claim, keys: this.keys, args: [String(max), String(leaseMs)], read }, {});
  }

  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const args = [String(LISTED_MAX)];
    for (const { number, ending, waitMs } of settlements) args.push(String(number), ENDINGS[ending], String(Math.round(waitMs)));
    const read = (reply: unknown) => readList(reply).map((each) => each === 1);
    return this.options.run({ script: this.scripts.settle, keys: [...this.keys, this.latest], args, read }, {});
  }

  read(): Promise<OutboxList> {
    const keys = [...this.keys, this.latest];
    return this.options.run({ script: this.scripts.list, keys, args: [String(LISTED_MAX)], read: readOutbox }, {});
  }
}

function staysText({ lateAfterMs, staysMs }: Mark): string {
  if (staysMs !== undefined) return String(Math.max(1, Math.ceil(staysMs)));
  return lateAfterMs === undefined ? '0' : '';
}

function readFacts(parts: readonly unknown[]): OutboxFacts {
  const nowMs = readNumber(parts[0]);
  const oldest = readNumber(parts[3]);
  return {
    nowMs,
    isNew: parts[1] === 1,
    events: readWhole(parts[2], 0, Number.MAX_SAFE_INTEGER),
    oldestMs: oldest === 0 ? 0 : Math.max(0, nowMs - oldest),
  };
}

function readResult(code: unknown, ends: unknown): MarkResult {
  const outcome = typeof code === 'number' ? OUTCOMES[code] : undefined;
  if (outcome === undefined) throw new ReplyError('it has an unknown outcome of a mark');
  const endsMs = readNumber(ends);
  return { outcome, endsMs: endsMs === 0 ? Infinity : endsMs };
}

function readOutbox(reply: unknown): OutboxList {
  const [events, oldest, delivered, undelivered, ...lists] = readList(reply);
  const [waiting = [], done = [], given = []] = lists.map((list) => readList(list).flatMap((text) => readListed(text) ?? []));
  const oldestAtMs = readNumber(oldest);
  return {
    events: readWhole(events, 0, Number.MAX_SAFE_INTEGER),
    ...(oldestAtMs > 0 && { oldestAtMs }),
    deliveredCount: readNumber(delivered),
    undeliveredCount: readNumber(undelivered),
    waiting,
    delivered: done,
    undelivered: given,
  };
}

function readNumber(part: unknown): number {
  if (typeof part !== 'string' || !/^\d{1,16}$/.test(part)) throw new ReplyError('it lacks a number');
  return Number(part);
}

/** Undefined: another hand wrote it. */
function readEvent(part: unknown): OutboxEvent | undefined {
  const [, tries, appended, id, text] = matchOf(part, /^(\d+) (\d+) (\S+) (.*)$/s);
  if (id === undefined || text === undefined) return undefined;
  return { tries: Number(tries), appendedMs: Number(appended), id, text };
}

function readListed(part: unknown): ListedEvent | undefined {
  const [, at, rest] = matchOf(part, /^(\d+) (.*)$/s);
  const event = readEvent(rest);
  return event && { atMs: Number(at), ...event };
}

function matchOf(part: unknown, pattern: RegExp): readonly string[] {
  return typeof part === 'string' ? (pattern.exec(part) ?? []) : [];
}
