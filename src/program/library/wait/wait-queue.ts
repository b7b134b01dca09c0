/**
 * Delays requests instead of denying them. A request that is denied stands in the line of its key, and so do those that come while there is
 * a line. Only the first of a line asks again, so that none takes hits before its turn. A wait ends denied as soon as it is certain that its
 * turn comes too late, and at the latest when its time is over.
 */

import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import { asError } from '../../../lib/errors';
import { ExpiryQueue } from '../../../lib/expiry-queue';
import type { WireRequest } from '../../../server/transport/messages/wire';
import { InvalidRequestError } from '../limiter/invalid-request-error';
import { unlessAborted } from '../limiter/unless-aborted';
import type { LimitResult, WaitOptions } from '../limiter/limiter';
import { WaitQueueFullError } from '../limiter/wait-queue-full-error';
import type { WaitClock } from './wait-clock';
import { WaitLine, type Place, type Waiter } from './wait-line';
import type { WaitBounds } from './wait-settings';

const MAX_MS_MAX = 86_400_000;

/** The size of a wait beside its text, in bytes: its place, its promise, and the listener of its signal. */
const WAITER_BYTES = 1_024;

/** Answers may say less than the time that is left; no line asks more often. */
const TURN_MS_MIN = 1;

/** Answers after which other work of the process has its turn. */
const ANSWERS_IN_A_ROW = 64;

export interface Answer {
  readonly result: LimitResult;
  /** When a denied request would fit, in milliseconds from now. Undefined: no wait helps. */
  readonly waitMs: number | undefined;
}

export interface AskOptions {
  /** The deadline of the call, if it has one. */
  readonly timeoutMs: number | undefined;
  /** How much longer the wait may last, in milliseconds. */
  readonly leftMs: number;
}

export interface WaitQueueOptions extends WaitBounds {
  readonly clock: WaitClock;
  /** Decides and charges a request. */
  readonly ask: (request: WireRequest, options: AskOptions) => Promise<Answer>;
  /** The time that an answer may take, in milliseconds: a wait asks again only if it has as much left. */
  readonly callMs: number;
  /** The result if nothing could decide. */
  readonly undecided: (error: Error) => LimitResult;
  /** The random time that processes add when they wait for one limit, so that they do not ask at the same moment. */
  readonly jitterMs: (waitMs: number) => number;
}

/** A wait before it stands in a line. */
type Asked = Omit<Waiter, 'answer' | 'fail'>;

export class WaitQueue {
  private readonly lines = new Map<string, WaitLine>();
  private readonly events = new ExpiryQueue<WaitLine>();
  private count = 0;
  private lastNumber = 0;
  private bytes = 0;
  private timer: { readonly atMs: number; readonly cancel: () => void } | undefined;
  private closedBy: Error | undefined;

  constructor(private readonly options: WaitQueueOptions) {}

  /** Waits at this moment. */
  get waiting(): number {
    return this.count;
  }

  /** Rejects with WaitQueueFullError, InvalidRequestError, or the reason of the signal. */
  async wait(wire: WireRequest, { maxMs, signal, timeoutMs }: WaitOptions): Promise<LimitResult> {
    if (!Number.isFinite(maxMs) || maxMs < 0 || maxMs > MAX_MS_MAX)
      throw new InvalidRequestError(`maxMs is ${String(maxMs)}; set milliseconds from 0 to ${MAX_MS_MAX}`);
    signal?.throwIfAborted();
    if (this.closedBy !== undefined) return this.options.undecided(this.closedBy);
    const [key, hits] = [keyOf(wire), hitsOf(wire)];
    const bytes = WAITER_BYTES + 2 * (key.length + hits.length);
    this.checkRoom(bytes);
    this.lastNumber += 1;
    const endMs = this.options.clock.nowMs() + maxMs;
    const asked: Asked = { wire, number: this.lastNumber, hits, timeoutMs, endMs, bytes };
    const line = this.lines.get(key);
    if (line !== undefined) return this.stand(line, asked, signal);
    const answer = await this.askAtOnce(asked, signal);
    if (!isDenied(answer) || this.isClosed()) return answer.result;
    signal?.throwIfAborted();
    const fitsMs = this.fitsMsOf(answer);
    if (fitsMs + this.options.callMs > endMs) return answer.result;
    const joined = this.lines.get(key) ?? new WaitLine(key, answer.result);
    this.lines.set(key, joined);
    return this.stand(joined, asked, signal, fitsMs);
  }

  /** Ends all waits: the failure mode decides them. */
  close(reason: Error): void {
    this.closedBy ??= reason;
    for (const line of [...this.lines.values()]) {
      for (let place = line.first; place !== undefined; place = line.first)
        if (this.remove(place)) place.answer(this.options.undecided(reason));
      this.plan(line);
    }
  }

  private isClosed(): boolean {
    return this.closedBy !== undefined;
  }

  private checkRoom(bytes: number): void {
    const { waitersMax, waitBytesMax } = this.options;
    if (this.count >= waitersMax)
      throw new WaitQueueFullError(`${waitersMax} requests wait already; raise waitersMax, or answer this one at once`);
    if (this.bytes + bytes > waitBytesMax)
      throw new WaitQueueFullError(
        `the requests that wait leave less than ${bytes} of ${waitBytesMax} bytes; raise waitBytesMax, or answer this one at once`,
      );
  }

  /** The first request of a wait, which it makes if nobody stands in line. It takes as long as an answer takes, however short the wait may be. */
  private async askAtOnce({ wire, timeoutMs, endMs, bytes }: Asked, signal: AbortSignal | undefined): Promise<Answer> {
    const { ask, clock, callMs } = this.options;
    this.count += 1;
    this.bytes += bytes;
    try {
      const asking = ask(wire, { timeoutMs, leftMs: Math.max(callMs, endMs - clock.nowMs()) });
      return await (signal === undefined ? asking : unlessAborted(asking, signal));
    } finally {
      this.count -= 1;
      this.bytes -= bytes;
    }
  }

  /** `fitsMs`: when the request fits, if that is known. */
  private stand(line: WaitLine, asked: Asked, signal: AbortSignal | undefined, fitsMs?: number): Promise<LimitResult> {
    // The first of the line asks again only when it is too late for this one.
    if (!line.isAsking && line.first !== undefined && line.turnMs + this.options.callMs > asked.endMs) return Promise.resolve(line.denial);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.abort(place, signal?.reason as Error);
      };
      const answer = (result: LimitResult): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve(result);
      };
      const fail = (reason: Error): void => {
        signal?.removeEventListener('abort', onAbort);
        reject(reason);
      };
      const place = line.join({ ...asked, answer, fail });
      this.count += 1;
      this.bytes += asked.bytes;
      signal?.addEventListener('abort', onAbort);
      if (line.first === place && fitsMs !== undefined) this.setTurn(place, fitsMs);
      this.plan(line);
    });
  }

  /** Asks for the first wait of a line, and for the next ones while they need not wait. */
  private async advance(line: WaitLine): Promise<void> {
    const { callMs } = this.options;
    line.isAsking = true;
    let answers = 0;
    let refused: Place | undefined;
    for (let place = line.first; place !== undefined; place = line.first) {
      const isHopeless = place.hits === refused?.hits && place.endMs < line.turnMs + callMs;
      if (isHopeless || this.isTooLate(place)) {
        this.endDenied(place);
        continue;
      }
      const end = await this.askFor(place);
      if (end === 'waits') break;
      refused = end === 'refused' ? place : undefined;
      answers += 1;
      if (answers % ANSWERS_IN_A_ROW === 0) await nextTurnOfLoop();
    }
    line.isAsking = false;
    this.plan(line);
  }

  /** `waits`: it is still the first of its line, whose turn is set. */
  private async askFor(place: Place): Promise<'waits' | 'refused' | 'answered'> {
    const { line, wire, timeoutMs } = place;
    const { ask, clock, callMs } = this.options;
    line.beginToAsk(place);
    this.plan(line);
    let answer: Answer;
    try {
      answer = await ask(wire, { timeoutMs, leftMs: place.endMs - clock.nowMs() });
    } catch (error) {
      if (this.remove(place)) place.fail(asError(error));
      return 'answered';
    }
    if (!isDenied(answer)) {
      this.answerFirst(place, answer.result);
      return 'answered';
    }
    line.denial = answer.result;
    const fitsMs = this.fitsMsOf(answer);
    line.turnMs = fitsMs;
    if (!line.has(place)) return 'answered';
    if (fitsMs + callMs > place.endMs) {
      this.endDenied(place);
      return 'refused';
    }
    line.waitAgain(place);
    this.setTurn(place, fitsMs);
    return 'waits';
  }

  /** When a denied request fits, on the clock of waits. */
  private fitsMsOf({ waitMs }: Answer): number {
    return waitMs === undefined ? Infinity : this.options.clock.nowMs() + Math.max(TURN_MS_MIN, waitMs);
  }

  /** The turn of the first wait of a line. None behind it has its turn earlier. */
  private setTurn({ line, endMs }: Place, fitsMs: number): void {
    const { clock, callMs, jitterMs } = this.options;
    const slackMs = endMs - callMs - fitsMs;
    line.turnMs = fitsMs + Math.min(jitterMs(fitsMs - clock.nowMs()), slackMs / 2);
    this.endThose(line, (each) => each < line.turnMs + callMs);
  }

  /** An answer would come after its end. Timers are late on a busy machine, so half of the time of a call is enough. */
  private isTooLate({ endMs }: Place): boolean {
    const { clock, callMs } = this.options;
    return endMs < clock.nowMs() + callMs / 2;
  }

  /** If the wait has been aborted while its request was on its way, the next one gets what that took, if it wants the same. */
  private answerFirst(place: Place, result: LimitResult): void {
    const { first } = place.line;
    const receiver = first?.hits === place.hits ? first : place;
    if (this.remove(receiver)) receiver.answer(result);
    place.line.waitAgain(place);
  }

  private endThose(line: WaitLine, isOver: (endMs: number) => boolean): void {
    for (let place = line.firstToEnd; place !== undefined && isOver(place.endMs); place = line.firstToEnd) this.endDenied(place);
  }

  /** Ends a wait with the last denial of its line. */
  private endDenied(place: Place): void {
    if (this.remove(place)) place.answer(place.line.denial);
  }

  private abort(place: Place, reason: Error): void {
    const { line } = place;
    const wasFirst = line.first === place;
    if (!this.remove(place)) return;
    place.fail(reason);
    const isTurnOfOther = wasFirst && !line.isAsking && wantsOther(line, place);
    if (isTurnOfOther) void this.advance(line);
    else this.plan(line);
  }

  /** False: the wait has ended already. */
  private remove(place: Place): boolean {
    if (!place.line.leave(place)) return false;
    this.count -= 1;
    this.bytes -= place.bytes;
    return true;
  }

  /** Sets when to look at a line again, and the timer for the line that is next. A line without waits goes. */
  private plan(line: WaitLine): void {
    if (line.event !== undefined) this.events.remove(line.event);
    line.event = undefined;
    if (line.first === undefined && !line.isAsking) this.lines.delete(line.key);
    const atMs = line.isAsking ? line.firstToEnd?.endMs : line.first && line.turnMs;
    if (atMs !== undefined) line.event = this.events.add(atMs, line);
    this.setTimer();
  }

  private setTimer(): void {
    const atMs = this.events.first?.until;
    if (this.timer?.atMs === atMs) return;
    this.timer?.cancel();
    this.timer = undefined;
    if (atMs === undefined) return;
    const { clock } = this.options;
    const cancel = clock.after(Math.max(0, Math.ceil(atMs - clock.nowMs())), () => {
      this.timer = undefined;
      this.lookAtLines();
    });
    this.timer = { atMs, cancel };
  }

  private lookAtLines(): void {
    const nowMs = this.options.clock.nowMs();
    for (let event = this.events.first; event !== undefined && event.until <= nowMs; event = this.events.first) {
      const { key: line } = event;
      if (line.isAsking) {
        this.endThose(line, (endMs) => endMs <= nowMs);
        this.plan(line);
      } else {
        this.endThose(line, (endMs) => endMs < nowMs);
        void this.advance(line);
      }
    }
    this.setTimer();
  }
}

/** A limit denied it, and the failure mode did not decide. */
function isDenied({ result }: Answer): boolean {
  return !result.allowed && result.decidedBy === 'weir';
}

/** Whether the first wait of a line wants other hits than this one, so that it may fit already. */
function wantsOther({ first }: WaitLine, { hits }: Place): boolean {
  return first !== undefined && first.hits !== hits;
}

/** Requests that count against the same limits. */
function keyOf({ domain, descriptors = [] }: WireRequest): string {
  return JSON.stringify([domain, descriptors.map(({ entries, limit }) => [entries, limit])]);
}

function hitsOf({ hits_addend: hits, descriptors = [] }: WireRequest): string {
  return JSON.stringify([hits, descriptors.map(({ hits_addend: own, is_negative_hits: isNegative }) => [own?.value, isNegative])]);
}
