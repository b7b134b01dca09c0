/** A store that batches the takes of many callers into commands of its inner store. */

import { readTimeout } from '../../../lib/clock';
import { TRAITS } from '../../../domain/algorithm/algorithms';
import type { Group, Adjustment } from '../../../domain/bucket/take';
import { ANSWER_MS, lateError } from '../port/time-left';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../port/store';
import { PipelineWindow, type PipelineOptions } from './pipeline-window';
import { isMoving, overloadError, StoreError, storeErrorOf, type StoreErrorReason } from '../port/store-error';
import type { ServerName, StoreTrace } from '../port/store-trace';

export interface BatchingOptions {
  /** Names the part that a command may address, such as a slot of a Redis Cluster; all groups of a call belong to one part. */
  readonly partOf: (group: Group) => number;
  /** Most waiting groups, sent or not; further ones fail at once. */
  readonly groupsMax: number;
  /** Deadline of a command, in milliseconds. A caller with less time gets its own timer. */
  readonly timeoutMs: number;
  /** The extended deadline of a command at present. Default: `timeoutMs`. */
  readonly longestMs?: () => number;
  /** How long calls wait for others. Default: not at all. */
  readonly pipeline?: PipelineOptions;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Called for each group that fails here; failed commands are reported by the layers below. */
  readonly onGivenUp: (reason: StoreErrorReason) => void;
  /** The server that commands are sent to at present, for traces. */
  readonly server?: () => ServerName | undefined;
}

/** Most takes of a command: a run of the script stays well below a millisecond. A larger group is sent alone. */
export const BATCH_TAKES_MAX = 100;

/** Logs and slots of requests in flight are read and written whole: this number of their hits costs about as much as a take. */
const LOG_HITS_OF_TAKE = 1_000;

/** Most commands of one part under way; meanwhile calls collect for the next one. */
export const BATCHES_IN_FLIGHT_MAX = 2;

/** A call that waits to be sent, or for the answer to its command. */
interface Call {
  readonly groups: readonly Group[];
  /** Cost of the groups, in takes. */
  readonly takes: number;
  readonly resolve: (outcomes: readonly GroupOutcome[]) => void;
  readonly reject: (error: unknown) => void;
  readonly arrivedMs: number;
  readonly timeoutMs: number;
  timer: NodeJS.Timeout | undefined;
  /** Undefined: it is not sent yet. */
  sentMs: number | undefined;
  /** Groups of the command that carries it. */
  groupsOfCommand: number;
  /** Undefined: none of its requests is sampled. */
  readonly trace: StoreTrace | undefined;
  /** Whether it has its answer. */
  isOver: boolean;
}

/** The calls of one part. */
interface Lane {
  waiting: Call[];
  inFlight: number;
  isScheduled: boolean;
  /** Whether the last command timed out. */
  isStalled: boolean;
  /** Undefined: no call waits for others. */
  readonly window: PipelineWindow | undefined;
  /** The wait of the next command for further calls. */
  wait: { readonly timer: NodeJS.Timeout; readonly groups: number } | undefined;
}

/**
 * Calls that one turn of the event loop has read are sent together. While commands are under way, calls collect until one returns. So a batch
 * grows with the load, and an idle store is asked at once, unless `pipeline` lets calls wait for others.
 *
 * A command that fails fails all its calls. Adjustments are not batched.
 */
export class BatchingStore implements Store {
  /** By part: one, or one for each slot. */
  private readonly lanes = new Map<number, Lane>();
  private groups = 0;

  constructor(
    private readonly store: Store,
    private readonly options: BatchingOptions,
  ) {}

  /** Groups that wait for their outcome, sent or not. */
  get callersWaiting(): number {
    return this.groups;
  }

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const [first] = groups;
    if (first === undefined) return this.store.take(groups, options);
    const { groupsMax, nowMs, partOf } = this.options;
    if (this.groups + groups.length > groupsMax) return this.takeUpTo(groupsMax - this.groups, groups, options);
    const takes = takesOf(groups);
    if (takes > BATCH_TAKES_MAX && groups.length > 1) return this.takeInPieces(groups, options);
    return new Promise((resolve, reject) => {
      const { timeoutMs = Infinity, trace } = options;
      const call: Call = {
        groups,
        takes,
        resolve,
        reject,
        arrivedMs: nowMs(),
        timeoutMs,
        timer: undefined,
        sentMs: undefined,
        groupsOfCommand: groups.length,
        trace,
        isOver: false,
      };
      this.groups += groups.length;
      this.limitTime(call, timeoutMs);
      const lane = this.laneOf(partOf(first));
      lane.waiting.push(call);
      lane.window?.onCall(call.arrivedMs);
      if (lane.wait === undefined) this.schedule(lane);
      else if (this.isUrgent(call) || lane.window?.isFull(groupsIn(lane.waiting))) this.endWait(lane);
    });
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.store.adjust(adjustments, options);
  }

  close(): Promise<void> {
    for (const lane of this.lanes.values()) {
      clearTimeout(lane.wait?.timer);
      lane.wait = undefined;
      lane.isScheduled = false;
      for (const call of lane.waiting.splice(0))
        this.fail(call, new StoreError('Redis is not connected', 'connection', { mayHaveRun: false }));
    }
    return this.store.close();
  }

  /** Takes as many groups as there is room for, and sheds the others. */
  private async takeUpTo(room: number, groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    const admitted = groups.slice(0, Math.max(0, room));
    const overload = overloadError(this.options.groupsMax);
    this.reportGivenUp(groups.length - admitted.length, 'overload');
    if (admitted.length === 0) throw overload;
    return [...(await this.takePiece(admitted, options)), ...groups.slice(admitted.length).map(() => overload)];
  }

  /** Splits a call that exceeds the size of a command. */
  private async takeInPieces(groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    return (await Promise.all(piecesOf(groups).map((piece) => this.takePiece(piece, options)))).flat();
  }

  /** Turns an error into outcomes of this piece, because other pieces may have been charged. */
  private takePiece(groups: readonly Group[], options: TakeOptions): Promise<readonly GroupOutcome[]> {
    return this.take(groups, options).catch((error: unknown) => groups.map(() => storeErrorOf(error)));
  }

  private reportGivenUp(groups: number, reason: StoreErrorReason): void {
    for (let reported = 0; reported < groups; reported += 1) this.options.onGivenUp(reason);
  }

  private laneOf(part: number): Lane {
    const known = this.lanes.get(part);
    if (known !== undefined) return known;
    const { pipeline } = this.options;
    const window = pipeline === undefined || pipeline.windowMs === 0 ? undefined : new PipelineWindow(pipeline);
    const lane: Lane = { waiting: [], inFlight: 0, isScheduled: false, isStalled: false, window, wait: undefined };
    this.lanes.set(part, lane);
    return lane;
  }

  /**
   * Sends after all input of this turn has been read, if the store is idle, otherwise after that of the next turn too: callers
   * that one answer has released return a turn apart, and as one command they cost one round trip.
   */
  private schedule(lane: Lane): void {
    if (lane.isScheduled || lane.waiting.length === 0 || lane.inFlight >= BATCHES_IN_FLIGHT_MAX) return;
    lane.isScheduled = true;
    const send = () => {
      this.sendOrWait(lane);
    };
    setImmediate(lane.inFlight === 0 ? send : () => setImmediate(send));
  }

  private sendOrWait(lane: Lane): void {
    const waitMs = this.waitMsOf(lane);
    if (waitMs === 0) {
      this.sendWaiting(lane);
      return;
    }
    const timer = readTimeout(waitMs, () => {
      this.endWait(lane);
    });
    lane.wait = { timer, groups: groupsIn(lane.waiting) };
  }

  /** How long the calls of a lane wait for others; 0: they are sent now. */
  private waitMsOf({ window, waiting, isStalled }: Lane): number {
    // A stalled lane gives up calls that have waited as long as a command may take.
    if (window === undefined || isStalled || waiting.some((call) => this.isUrgent(call))) return 0;
    return window.waitMs(groupsIn(waiting));
  }

  private endWait(lane: Lane): void {
    if (lane.wait === undefined) return;
    clearTimeout(lane.wait.timer);
    lane.window?.onWaited(groupsIn(lane.waiting) - lane.wait.groups);
    lane.wait = undefined;
    this.sendWaiting(lane);
  }

  /** Whether the call has less time left than a wait and a command may take. */
  private isUrgent({ arrivedMs, timeoutMs }: Call): boolean {
    const leftMs = arrivedMs + timeoutMs - this.options.nowMs();
    return leftMs < this.options.timeoutMs + (this.options.pipeline?.windowMs ?? 0);
  }

  private sendWaiting(lane: Lane): void {
    lane.isScheduled = false;
    while (lane.waiting.length > 0 && lane.inFlight < BATCHES_IN_FLIGHT_MAX) this.send(lane, this.nextBatch(lane));
  }

  /** Removes the calls of the next command from the waiting ones, and gives up calls that are too late. */
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
   * A caller whose time is over has gone. Others wait while the store answers, because load must not admit more hits; if it
   * does not answer, they wait no longer than the deadline of a command.
   */
  private isTooLate({ call, lane, nowMs }: { readonly call: Call; readonly lane: Lane; readonly nowMs: number }): boolean {
    const waitedMs = nowMs - call.arrivedMs;
    if (waitedMs >= call.timeoutMs) this.giveUp(call);
    else if (lane.isStalled && waitedMs >= this.options.timeoutMs)
      this.fail(call, lateError(this.options.timeoutMs, 'timeout', { mayHaveRun: false }));
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

  /** Sends one command and gives each call its part of the answer. Never rejects; resolves to the error, if any. */
  private async ask(batch: readonly Call[]): Promise<unknown> {
    const groups = groupsOf(batch);
    const sentMs = this.options.nowMs();
    for (const call of batch) {
      call.sentMs = sentMs;
      call.groupsOfCommand = groups.length;
    }
    try {
      const outcomes = await this.store.take(groups, this.timeOf(batch, sentMs));
      let at = 0;
      for (const call of batch) {
        const end = at + call.groups.length;
        if (this.end(call, undefined)) call.resolve(batch.length === 1 ? outcomes : outcomes.slice(at, end));
        at = end;
      }
      return undefined;
    } catch (error) {
      if (batch.length > 1 && isMoving(error)) {
        const answers = await Promise.all(batch.filter(({ isOver }) => !isOver).map((call) => this.ask([call])));
        return answers.find((answer) => answer !== undefined);
      }
      const reason = error instanceof StoreError ? error.reason : 'other';
      if (wasRefused(error)) for (const call of batch) call.sentMs = undefined;
      for (const call of batch) if (this.end(call, reason)) call.reject(error);
      return error;
    }
  }

  /** The least time left among callers without a timer of their own; if all have one, the most time left. */
  private timeOf(batch: readonly Call[], nowMs: number): TakeOptions | undefined {
    let leastMs = Infinity;
    let mostMs = -Infinity;
    for (const { timeoutMs, arrivedMs, timer } of batch) {
      const leftMs = arrivedMs + timeoutMs - nowMs;
      if (timer === undefined) leastMs = Math.min(leastMs, leftMs);
      else mostMs = Math.max(mostMs, leftMs);
    }
    const waitMs = leastMs === Infinity && batch.every(({ timer }) => timer !== undefined) ? mostMs : leastMs;
    return waitMs === Infinity ? undefined : { timeoutMs: Math.max(this.options.timeoutMs, waitMs) };
  }

  /** Sets a timer for a caller whose time ends before the deadline of the command. */
  private limitTime(call: Call, leftMs: number): void {
    const { timeoutMs, longestMs } = this.options;
    if (call.timer !== undefined || leftMs >= (longestMs === undefined ? timeoutMs : longestMs())) return;
    // With an extended deadline, a caller that could wait for a usual one keeps some time to receive its answer.
    const waitMs = leftMs < timeoutMs ? leftMs : Math.max(timeoutMs, leftMs - ANSWER_MS);
    call.timer = readTimeout(waitMs, () => {
      this.giveUp(call);
    });
  }

  private giveUp(call: Call): void {
    this.fail(call, lateError(call.timeoutMs, 'caller_timeout', { mayHaveRun: call.sentMs !== undefined }));
  }

  private fail(call: Call, error: StoreError): void {
    if (!this.end(call, error.reason)) return;
    this.reportGivenUp(call.groups.length, error.reason);
    call.reject(error);
  }

  /** False if it already has its answer. `failed` is why it gets none from the store. */
  private end(call: Call, failed: StoreErrorReason | undefined): boolean {
    if (call.isOver) return false;
    call.isOver = true;
    this.groups -= call.groups.length;
    clearTimeout(call.timer);
    const { trace, groups, arrivedMs, sentMs, groupsOfCommand } = call;
    if (trace !== undefined && sentMs !== undefined) {
      const { nowMs, server } = this.options;
      trace.onCommand(groups, { arrivedMs, sentMs, endedMs: nowMs(), groups: groupsOfCommand, failed, server: server?.() });
    }
    return true;
  }
}

/** Cost of the groups, in takes. */
function takesOf(groups: readonly Group[]): number {
  let takes = 0;
  for (const group of groups) takes += takesOfOne(group);
  return takes;
}

function takesOfOne(group: Group): number {
  let takes = 0;
  for (const { limit } of group.takes)
    takes += TRAITS[limit.algorithm].recordsMax !== undefined ? 1 + limit.capacity / LOG_HITS_OF_TAKE : 1;
  return takes;
}

function groupsIn(calls: readonly Call[]): number {
  let groups = 0;
  for (const call of calls) groups += call.groups.length;
  return groups;
}

/** Allocated at its final length, because every command needs it. */
function groupsOf(batch: readonly Call[]): readonly Group[] {
  const [first] = batch;
  if (first !== undefined && batch.length === 1) return first.groups;
  const groups = new Array<Group>(groupsIn(batch));
  let at = 0;
  for (const call of batch) {
    for (const group of call.groups) {
      groups[at] = group;
      at += 1;
    }
  }
  return groups;
}

/** Splits groups into pieces of at most one command. */
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

/** Whether a layer below refused the command, so that no server has seen it. */
function wasRefused(error: unknown): boolean {
  return error instanceof StoreError && !error.mayHaveRun && REFUSALS.includes(error.reason);
}

const REFUSALS: readonly StoreErrorReason[] = ['breaker', 'connection', 'overload'];
