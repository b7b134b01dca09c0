/** Schedules the reading of connections: each has a share of a turn of the event loop, and the rest of its input waits for a later turn. */

/** Time of one connection in a turn, before others are read: about a hundred plain calls. */
const SHARE_MS = 1;

/** Time in a turn for new input, and then for waiting input. */
const ARRIVED_MS_MAX = 8;
const WAITED_MS_MAX = 2;

/** Reading the clock costs as much as a small frame, so it is read once for this many; a large frame counts as one for each 128 bytes. */
const FRAMES_OF_A_LOOK = 32;

/** The rest of a connection's share. */
export class ReadShare {
  private endMs = 0;
  private frames = 0;

  constructor(private readonly nowMs: () => number) {}

  begin(nowMs: number): void {
    this.endMs = nowMs + SHARE_MS;
    this.frames = 0;
  }

  /** Reads the clock: for input that may cost much for its size. */
  isOver(): boolean {
    return this.nowMs() >= this.endMs;
  }

  /** Call after each frame with its size. */
  isSpent(bytes: number): boolean {
    this.frames += 1 + (bytes >>> 7);
    if (this.frames < FRAMES_OF_A_LOOK) return false;
    this.frames = 0;
    return this.nowMs() >= this.endMs;
  }
}

/** A connection that is read from. */
export interface TurnTaker {
  /** Whether input waits and may be processed. */
  mayBeRead(): boolean;
  /** Queues input behind what waits, and stops reading from the socket until all of it is processed. */
  keep(chunk: Buffer): void;
  /** Processes waiting input until the share is spent. */
  readOn(share: ReadShare, nowMs: number): void;
}

export interface ReadTurnsOptions<Taker extends TurnTaker> {
  readonly nowMs: () => number;
  /** Processes new input until the share is spent, and keeps the rest. */
  readonly read: (taker: Taker, chunk: Buffer, share: ReadShare, nowMs: number) => void;
  /** Time in a turn for new input, and then for waiting input, in milliseconds. Default: 8 and 2. */
  readonly arrivedMsMax?: number;
  readonly waitedMsMax?: number;
  /** Runs once in each turn that has input. */
  readonly schedule: (act: () => void) => void;
}

export class ReadTurns<Taker extends TurnTaker> {
  private readonly share: ReadShare;
  private readonly onTurnEnd = (): void => {
    this.endTurn();
  };
  private isTurn = false;
  private endMs = 0;
  /** Connections without a share since their input arrived, and those that had a share and have more input. */
  private readonly late = new Set<Taker>();
  private readonly begun = new Set<Taker>();

  constructor(private readonly options: ReadTurnsOptions<Taker>) {
    this.share = new ReadShare(options.nowMs);
  }

  /** New input: it is processed at once, or kept. */
  arrived(taker: Taker, chunk: Buffer): void {
    if (taker.mayBeRead()) {
      taker.keep(chunk);
      return;
    }
    const nowMs = this.options.nowMs();
    if (!this.isTurn) this.beginTurn(nowMs);
    if (nowMs >= this.endMs) {
      taker.keep(chunk);
      this.late.add(taker);
      return;
    }
    this.share.begin(nowMs);
    this.options.read(taker, chunk, this.share, nowMs);
    if (taker.mayBeRead()) this.begun.add(taker);
  }

  /** The kept input may be processed again. */
  wait(taker: Taker): void {
    if (!taker.mayBeRead()) return;
    this.begun.add(taker);
    if (!this.isTurn) this.beginTurn(this.options.nowMs());
  }

  private beginTurn(nowMs: number): void {
    this.isTurn = true;
    this.endMs = nowMs + (this.options.arrivedMsMax ?? ARRIVED_MS_MAX);
    this.options.schedule(this.onTurnEnd);
  }

  /** Connections that already had a share come first, so that late ones cannot starve them. */
  private endTurn(): void {
    this.isTurn = false;
    if (this.late.size === 0 && this.begun.size === 0) return;
    let nowMs = this.options.nowMs();
    const endMs = nowMs + (this.options.waitedMsMax ?? WAITED_MS_MAX);
    let taker = first(this.begun) ?? first(this.late);
    while (taker !== undefined) {
      if (taker.mayBeRead()) {
        this.share.begin(nowMs);
        taker.readOn(this.share, nowMs);
        if (taker.mayBeRead()) this.begun.add(taker);
        nowMs = this.options.nowMs();
      }
      if (nowMs >= endMs) break;
      taker = first(this.late) ?? first(this.begun);
    }
    if (this.late.size > 0 || this.begun.size > 0) this.beginTurn(nowMs);
  }
}

/** Removes and returns the one that has waited longest. */
function first<Taker>(takers: Set<Taker>): Taker | undefined {
  for (const taker of takers) {
    takers.delete(taker);
    return taker;
  }
  return undefined;
}
