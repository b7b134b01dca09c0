/** A store that gathers the takes of many callers and asks its store for all of them at once. */

import type { Group, Settlement } from '../bucket/take';
import type { BucketAlgorithm } from '../rule/limit';
import { storeErrorOf } from './ask-by-part';
import { RedirectError, TryAgainError } from './redirect-error';
import { overloadError, StoreError, type GroupOutcome, type SettleOutcome, type Store, type StoreErrorReason, type TakeOptions } from './store';

export interface BatchingOptions {
  /** Names what one command may serve, a slot of a Redis Cluster; all groups of a call are of one part. */
  readonly partOf: (group: Group) => number;
  /** Groups that may wait at once, sent or not; those beyond it fail at once. */
  readonly groupsMax: number;
  /** How long a command may take, in milliseconds. A caller with less time is given up by a timer of its own. */
  readonly timeoutMs: number;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Told of each group that fails here; of a command that fails, whoever is below is told. */
  readonly onGivenUp: (reason: StoreErrorReason) => void;
}

/** Takes of one command: a run of the script stays well below a millisecond. A group that has more goes alone. */
export const BATCH_TAKES_MAX = 100;

/** A log, and the slots of requests in flight, are read and written whole: so many of their hits cost about what a take does. */
const LOG_HITS_OF_TAKE = 1_000;

/** Commands of one part under way; while they are, calls gather for the next. */
export const BATCHES_IN_FLIGHT_MAX = 2;

/** What has a record for each hit. */
const WHOLE: readonly BucketAlgorithm[] = ['sliding_window_log', 'in_flight'];

/** A call that waits: for its turn, or for the answer to its command. */
interface Call {
  readonly groups: readonly Group[];
  /** What they cost, in takes. */
  readonly takes: number;
  readonly resolve: (outcomes: readonly GroupOutcome[]) => void;
  readonly reject: (error: unknown) => void;
  readonly arrivedMs: number;
  readonly timeoutMs: number;
  timer: NodeJS.Timeout | undefined;
  isSent: boolean;
  /** It has its answer. */
  isOver: boolean;
}

/** The calls of one part. */
interface Lane {
  waiting: Call[];
  inFlight: number;
  isScheduled: boolean;
  /** The last command was not answered in time. */
  isStalled: boolean;
}

/**
 * What one turn of the event loop has read goes together: no call waits for others to come. Only while commands are under
 * way do calls gather, as many as come until one returns. So a batch grows with the load, and an idle store asks at once.
 *
 * A command that fails fails all its calls. Settlements, and what a node is asked for out of turn, pass by.
 */
export class BatchingStore implements Store {
  /** By part: one, or as many as there are slots. */
  private readonly lanes = new Map<number, Lane>();
  private groups = 0;

  constructor(
    private readonly store: Store,
    private readonly options: BatchingOptions,
  ) {}

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const [first] = groups;
    if (first === undefined || options.asking === true) return this.store.take(groups, options);
    const { groupsMax, nowMs, partOf } = this.options;
    if (this.groups + groups.length > groupsMax) return this.takeUpTo(groupsMax - this.groups, groups, options);
    const takes = takesOf(groups);
    if (takes > BATCH_TAKES_MAX && groups.length > 1) return this.takeInPieces(groups, options);
    return new Promise((resolve, reject) => {
      const { timeoutMs = Infinity } = options;
      const call: Call = { groups, takes, resolve, reject, arrivedMs: nowMs(), timeoutMs, timer: undefined, isSent: false, isOver: false };
      this.groups += groups.length;
      this.limitTime(call, timeoutMs);
      const lane = this.laneOf(partOf(first));
      lane.waiting.push(call);
      this.schedule(lane);
    });
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    return this.store.settle(settlements, options);
  }

  close(): Promise<void> {
    for (const { waiting } of this.lanes.values()) {
      for (const call of waiting.splice(0)) this.fail(call, new StoreError('Redis is not connected', 'connection', { mayHaveRun: false }));
    }
    return this.store.close();
  }

  /** As many as there is room for; the others are shed. */
  private async takeUpTo(room: number, groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    const asked = groups.slice(0, Math.max(0, room));
    const overload = overloadError(this.options.groupsMax);
    this.tellGivenUp(groups.length - asked.length, 'overload');
    if (asked.length === 0) throw overload;
    return [...(await this.takePiece(asked, options)), ...groups.slice(asked.length).map(() => overload)];
  }

  /** A command is as large as it may be, whatever calls ask for. */
  private async takeInPieces(groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    return (await Promise.all(piecesOf(groups).map((piece) => this.takePiece(piece, options)))).flat();
  }

  /** What a piece failed of is its own: other pieces may have been charged. */
  private takePiece(groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    return this.take(groups, options).catch((error: unknown) => groups.map(() => storeErrorOf(error)));
  }

  private tellGivenUp(groups: number, reason: StoreErrorReason): void {
    for (let told = 0; told < groups; told += 1) this.options.onGivenUp(reason);
  }

  private laneOf(part: number): Lane {
    const known = this.lanes.get(part);
    if (known !== undefined) return known;
    const lane: Lane = { waiting: [], inFlight: 0, isScheduled: false, isStalled: false };
    this.lanes.set(part, lane);
    return lane;
  }

  /**
   * After all input of this turn has been read, if the store is idle. If it is not, after that of the next turn as well: those
   * that one answer sets free come back a turn apart, and as one command they cost one trip.
   */
  private schedule(lane: Lane): void {
    if (lane.isScheduled || lane.waiting.length === 0 || lane.inFlight >= BATCHES_IN_FLIGHT_MAX) return;
    lane.isScheduled = true;
    const send = () => { this.sendWaiting(lane); };
    setImmediate(lane.inFlight === 0 ? send : () => setImmediate(send));
  }

  private sendWaiting(lane: Lane): void {
    lane.isScheduled = false;
    while (lane.waiting.length > 0 && lane.inFlight < BATCHES_IN_FLIGHT_MAX) this.send(lane, this.nextBatch(lane));
  }

  /** Takes the calls of the next command out of those that wait, and gives up those that need no answer any more. */
  private nextBatch(lane: Lane): Call[] {
    const nowMs = this.options.nowMs();
    const batch: Call[] = [];
    let takes = 0;
    let taken = 0;
    for (const call of lane.waiting) {
      if (batch.length > 0 && takes + call.takes > BATCH_TAKES_MAX) break;
      taken += 1;
      if (call.isOver || this.isTooLate({ call, lane, nowMs })) continue;
      takes += call.takes;
      batch.push(call);
    }
    if (taken === lane.waiting.length) lane.waiting = [];
    else lane.waiting.splice(0, taken);
    return batch;
  }

  /**
   * A caller whose time is over has gone. Others wait as long as the store answers, since load makes no limit wider; while it
   * does not, no longer than a command may take.
   */
  private isTooLate({ call, lane, nowMs }: IsTooLateInput): boolean {
    const waitedMs = nowMs - call.arrivedMs;
    if (waitedMs >= call.timeoutMs) this.giveUp(call);
    else if (lane.isStalled && waitedMs >= this.options.timeoutMs) this.fail(call, tooLate(this.options.timeoutMs, 'timeout', { mayHaveRun: false }));
    else this.limitTime(call, call.timeoutMs - waitedMs);
    return call.isOver;
  }

  private send(lane: Lane, batch: readonly Call[]): void {
    if (batch.length === 0) return;
    lane.inFlight += 1;
    void this.ask(batch).then((outcome) => {
      lane.isStalled = outcome instanceof StoreError && outcome.reason === 'timeout';
      lane.inFlight -= 1;
      this.schedule(lane);
    });
  }

  /** One command, and to each call its own of what comes of it. Never rejects; resolves to what it failed of. */
  private async ask(batch: readonly Call[]): Promise<unknown> {
    for (const call of batch) call.isSent = true;
    try {
      const outcomes = await this.store.take(groupsOf(batch));
      let at = 0;
      for (const call of batch) {
        const end = at + call.groups.length;
        if (this.end(call)) call.resolve(batch.length === 1 ? outcomes : outcomes.slice(at, end));
        at = end;
      }
      return undefined;
    } catch (error) {
      if (batch.length > 1 && isOfSomeBuckets(error)) {
        const answers = await Promise.all(batch.filter(({ isOver }) => !isOver).map((call) => this.ask([call])));
        return answers.find((answer) => answer !== undefined);
      }
      for (const call of batch) if (this.end(call)) call.reject(error);
      return error;
    }
  }

  /** Gives the caller its answer when its time is over, if that is before the command's. */
  private limitTime(call: Call, leftMs: number): void {
    if (call.timer !== undefined || leftMs >= this.options.timeoutMs) return;
    // Timers run before input is read: an answer that lies here unread counts.
    call.timer = setTimeout(() => setImmediate(() => { this.giveUp(call); }), leftMs);
  }

  private giveUp(call: Call): void {
    this.fail(call, tooLate(call.timeoutMs, 'caller_timeout', { mayHaveRun: call.isSent }));
  }

  private fail(call: Call, error: StoreError): void {
    if (!this.end(call)) return;
    this.tellGivenUp(call.groups.length, error.reason);
    call.reject(error);
  }

  /** False if it has its answer already. */
  private end(call: Call): boolean {
    if (call.isOver) return false;
    call.isOver = true;
    this.groups -= call.groups.length;
    clearTimeout(call.timer);
    return true;
  }
}

interface IsTooLateInput {
  readonly call: Call;
  readonly lane: Lane;
  readonly nowMs: number;
}

/** What groups cost, in takes. */
function takesOf(groups: readonly Group[]): number {
  let takes = 0;
  for (const group of groups) takes += takesOfOne(group);
  return takes;
}

function takesOfOne(group: Group): number {
  let takes = 0;
  for (const { limit } of group.takes) takes += WHOLE.includes(limit.algorithm) ? 1 + limit.capacity / LOG_HITS_OF_TAKE : 1;
  return takes;
}

/** Made at its length: it is made for each command. */
function groupsOf(batch: readonly Call[]): readonly Group[] {
  const [first] = batch;
  if (first !== undefined && batch.length === 1) return first.groups;
  let length = 0;
  for (const call of batch) length += call.groups.length;
  const groups = new Array<Group>(length);
  let at = 0;
  for (const call of batch) {
    for (const group of call.groups) {
      groups[at] = group;
      at += 1;
    }
  }
  return groups;
}

/** The groups in pieces that are no larger than a command. */
function piecesOf(groups: readonly Group[]): Group[][] {
  const pieces: Group[][] = [];
  let piece: Group[] = [];
  let takes = 0;
  for (const group of groups) {
    const more = takesOfOne(group);
    if (piece.length > 0 && takes + more > BATCH_TAKES_MAX) {
      pieces.push(piece);
      piece = [];
      takes = 0;
    }
    piece.push(group);
    takes += more;
  }
  return [...pieces, piece];
}

/** Of a slot that is being moved some buckets are here and some there: each call is answered for its own alone. */
function isOfSomeBuckets(error: unknown): boolean {
  return error instanceof TryAgainError || (error instanceof RedirectError && error.redirect.kind === 'ask');
}

function tooLate(timeoutMs: number, reason: StoreErrorReason, options: { readonly mayHaveRun: boolean }): StoreError {
  return new StoreError(`the store did not answer within ${timeoutMs} ms`, reason, options);
}
