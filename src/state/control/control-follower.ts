/** Keeps the replica up to date: reads the change log again and again, and all records when the log does not continue. */

import { setTimeout as pause } from 'node:timers/promises';
import { monotonicNowMs } from '../../lib/clock';
import { asError } from '../../lib/errors';
import { Pace, runInSlices, SHORT_SLICE_MS } from '../../lib/slices';
import { CONTROL_KINDS, fieldOf, keyOf, type RecordKey, type StoredRecord } from './control-record';
import type { ControlData } from './control-data';
import type { ControlStore, LoggedChange, LogAnswer, Position, ScanPage, ScanQuery } from './control-store';

/** Interval between two reads of the log, in milliseconds: a change is in force everywhere after at most this time and a round trip. */
export const POLL_MS = 100;

/** Between two steps in which records that have ended are dropped, in milliseconds: nothing waits for that, and decisions go on. */
const DROP_PAUSE_MS = 1;

/** Without an answer for this long, the follower is behind: a second is promised, and one lost answer should not alarm. */
const BEHIND_MS = 1_000;

/** Reads that may fail before the start goes on without control data. */
const FIRST_TRIES = 3;

/** Answers of the log that may lead no further in one step: then the next step is later, and all records are not read without end. */
const STALLS_MAX = 3;

/** The longest wait after such a step, in milliseconds. */
const STALLED_MAX_MS = 10_000;

/** Error of the store's clock, in microseconds: an answer of the store takes time. */
const CLOCK_TOLERANCE_US = 1_000_000;

/** Records whose names are kept because they cannot be read; further ones are only counted once. */
const UNREADABLE_NAMES_MAX = 1_000;

/** Records of one page of a snapshot: its reply is parsed in about a millisecond. */
const PAGE_RECORDS = 250;

/** The state of the replica, for health, metrics and log. */
export interface FollowerState {
  /** `starting`: nothing was read yet. `behind`: the store does not answer. `lost`: the store lost records that this replica keeps. */
  readonly state: 'starting' | 'following' | 'behind' | 'lost';
  /** Records that the store lost and this replica keeps. */
  readonly lost: number;
  /** Records that the store should have and lacks, whether this replica keeps them or not. */
  readonly missing: number;
  /** Records of the store that this version of Weir cannot read. */
  readonly unreadable: number;
  /** Why the store does not answer. */
  readonly error?: string;
}

export interface ControlFollowerOptions {
  readonly store: Pick<ControlStore, 'changesAfter' | 'scan'>;
  readonly data: ControlData;
  /** The clock of this process, in microseconds since 1970. */
  readonly nowUs: () => number;
  readonly onState: (state: FollowerState) => void;
  /** Called with each change of the log, and with each record when all are read: a first write may be seen there alone. */
  readonly onChange?: ((change: LoggedChange) => void) | undefined;
  /** Called after all records were read. */
  readonly onSnapshot?: (read: { readonly records: number; readonly ms: number }) => void;
  /** Default: 100. */
  readonly pollMs?: number;
}

/** A reading of all records that has not ended. */
interface Reading {
  /** Where the log was before the reading. */
  readonly position: Position;
  /** Up to this version the store has what this replica knew before. */
  readonly common: number;
  readonly startedMs: number;
  /** Every page was read; it remains to see that the store still has them. */
  readonly isScanned: boolean;
}

export class ControlFollower {
  private at: Position | undefined;
  /** The store may fail meanwhile, and come back without what was read already. */
  private reading: Reading | undefined;
  /** The time by which the store's clock is ahead of this process's. */
  private offsetUs = 0;
  private upToDateAtUs: number | undefined;
  private shown = '';
  private error: string | undefined;
  private isEmptied = false;
  private missing = 0;
  /** Answers in a row that led no further. */
  private stalls = 0;
  private stalledMs = 0;
  /** Names of records that cannot be read. */
  private unreadable = new Set<string>();
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private dropping: Promise<void> | undefined;
  private expiryTimer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private readonly pace = new Pace(SHORT_SLICE_MS);

  constructor(private readonly options: ControlFollowerOptions) {}

  /** The version up to which the replica has every change; 0: there was none. */
  get version(): number {
    return this.at?.version ?? 0;
  }

  /** Identifies the history of the store; undefined: nothing was read, or nothing was ever written. */
  get epoch(): string | undefined {
    return this.at?.epoch;
  }

  /** Seconds since the replica was last known to be up to date. */
  get lagSeconds(): number {
    return this.upToDateAtUs === undefined ? 0 : Math.max(0, this.options.nowUs() - this.upToDateAtUs) / 1_000_000;
  }

  get state(): FollowerState {
    const { data } = this.options;
    const error = this.error === undefined ? undefined : { error: this.error };
    const lost = this.isEmptied ? data.size : data.lost;
    const counts = { lost, missing: this.missing, unreadable: this.unreadable.size };
    if (this.upToDateAtUs === undefined) return { state: 'starting', ...counts, ...error };
    if (this.lagSeconds * 1_000 > BEHIND_MS) return { state: 'behind', ...counts, ...error };
    return { state: lost > 0 || this.missing > 0 ? 'lost' : 'following', ...counts };
  }

  /** Whether the store lost a record that this replica keeps. */
  isLost(key: RecordKey): boolean {
    const { data } = this.options;
    return this.isEmptied ? data.get(key) !== undefined : data.isLost(key);
  }

  /** Up to which the replica has every change; undefined: of a store without any data. */
  get position(): Position | undefined {
    return this.isEmptied ? undefined : this.at;
  }

  /** Starts, and resolves when everything was read once, after some failures, or after `waitMs`. */
  async start({ waitMs }: { readonly waitMs: number }): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    this.scheduleExpiry();
    await Promise.race([this.readFirst(), waited]);
    clearTimeout(timer);
    this.schedule();
  }

  /** Reads the log now, and resolves when the replica has every change that was written before. */
  async catchUp(): Promise<void> {
    await this.running;
    await this.step();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.expiryTimer);
    await this.running;
    await this.dropping;
  }

  private async readFirst(): Promise<void> {
    for (let tries = 0; tries < FIRST_TRIES && this.upToDateAtUs === undefined && !this.isClosed; tries += 1) await this.step();
  }

  private schedule(): void {
    if (this.isClosed) return;
    const waitMs = Math.max(this.options.pollMs ?? POLL_MS, this.stalledMs);
    this.timer = setTimeout(() => {
      void this.step().then(() => {
        this.schedule();
      });
    }, waitMs);
  }

  /** A record ends when its time has come, not at the next poll, and also while all records are read. */
  private scheduleExpiry(): void {
    if (this.isClosed) return;
    const restMs = Math.ceil(((this.options.data.nextExpiryUs ?? Infinity) - this.storeNowUs) / 1_000);
    const waitMs = Math.min(this.options.pollMs ?? POLL_MS, Math.max(0, restMs));
    this.expiryTimer = setTimeout(() => {
      this.expire();
      void Promise.resolve(this.dropping).then(() => {
        this.scheduleExpiry();
      });
    }, waitMs);
  }

  private get storeNowUs(): number {
    return this.options.nowUs() + this.offsetUs;
  }

  /** One at a time; never rejects. */
  private step(): Promise<void> {
    this.running ??= this.follow()
      .catch((error: unknown) => {
        this.error = asError(error).message;
      })
      .then(() => {
        this.expire();
        this.running = undefined;
        this.show();
      });
    return this.running;
  }

  private async follow(): Promise<void> {
    const { store, data, nowUs } = this.options;
    let isLast = false;
    this.stalls = 0;
    while (!isLast && !this.isClosed) {
      if (this.stalls > STALLS_MAX) {
        this.stalledMs = Math.min(STALLED_MAX_MS, 2 * Math.max(this.stalledMs, POLL_MS));
        throw new Error('the change log and the version of the data do not fit together');
      }
      const askedUs = nowUs();
      const answer = await store.changesAfter(this.reading?.position ?? this.at);
      this.offsetUs = answer.nowUs - askedUs;
      if (this.reading === undefined) await this.readAgainIfStepped();
      isLast = await this.apply(answer);
      await runAll(data.discardLost(answer.discardedUpTo));
      if (!isLast) continue;
      this.upToDateAtUs = askedUs;
      this.error = undefined;
      this.stalledMs = 0;
    }
  }

  /** A clock of the store that stepped forward and back has ended records that have not ended: they are read again. */
  private async readAgainIfStepped(): Promise<void> {
    const { at: position } = this;
    if (position === undefined || this.storeNowUs >= this.options.data.endedUpToUs - CLOCK_TOLERANCE_US) return;
    await this.readAll({ position, common: 0 });
  }

  /** Whether these were the last changes. */
  private async apply(answer: LogAnswer): Promise<boolean> {
    const { reading } = this;
    if (answer.kind === 'empty') {
      // The replica keeps what it knows, also what it read before the store failed. It knows nothing of a store that was never written.
      this.isEmptied = this.options.data.size > 0;
      this.missing = 0;
      this.unreadable.clear();
      return true;
    }
    if (answer.kind === 'gap') {
      if (reading?.isScanned === true) this.stalls += 1;
      // The log was only trimmed: these are the records that were read.
      if (reading?.isScanned === true && answer.common === Infinity) await this.endReading(reading);
      const isFirst = this.at === undefined && reading === undefined;
      const known = answer.missing > 0 ? 0 : answer.common;
      const common = isFirst ? Infinity : Math.min(known, reading?.common ?? Infinity);
      this.missing = answer.missing;
      await this.readAll({ position: answer.position, common });
      return false;
    }
    if (!answer.isLast && answer.changes.length === 0) this.stalls += 1;
    await this.applyAll(answer.changes);
    if (reading?.isScanned === false) {
      await this.readAll({ position: answer.position, common: reading.common });
      return false;
    }
    if (reading !== undefined) await this.endReading(reading);
    this.at = answer.position;
    // Not before all records were read: until then the lost ones are not known one by one.
    this.isEmptied = false;
    const isLosing = answer.isLast && answer.missing > this.missing;
    if (answer.isLast) this.missing = answer.missing;
    if (!isLosing) return answer.isLast;
    // The log names no loss: which records are gone is seen by reading all of them. A missing record is lost, since no change deleted it.
    await this.readAll({ position: answer.position, common: 0 });
    return false;
  }

  /** Reads every page. The next answer of the log says whether they are of one history; only then `endReading` drops what they lack. */
  private async readAll({ position, common }: Pick<Reading, 'position' | 'common'>): Promise<void> {
    const { data } = this.options;
    const reading: Reading = { position, common, startedMs: monotonicNowMs(), isScanned: false };
    this.reading = reading;
    data.beginSnapshot();
    this.unreadable = new Set();
    for (const kind of CONTROL_KINDS) {
      let page = this.beginPage({ kind, limit: PAGE_RECORDS });
      while (page !== undefined) {
        const { records, unreadable = [], next }: ScanPage = await page;
        // The store reads the next page meanwhile.
        page = next === undefined ? undefined : this.beginPage({ kind, limit: PAGE_RECORDS, cursor: next });
        for (const { kind: of, key, problem } of unreadable) this.noteUnreadable(key === undefined ? `${of} ${problem}` : nameOf(key));
        await this.applyPage(records);
      }
    }
    if (!this.isClosed) this.reading = { ...reading, isScanned: true };
  }

  /** Undefined once this is closed: a page that fails while nobody awaits it would end the process. */
  private beginPage(query: ScanQuery): Promise<ScanPage> | undefined {
    if (this.isClosed) return undefined;
    const page = this.options.store.scan(query);
    page.catch(ignore);
    return page;
  }

  private async endReading({ common, position, startedMs }: Reading): Promise<void> {
    const { data, onSnapshot } = this.options;
    await runAll(data.endSnapshot(common));
    this.at = position;
    this.reading = undefined;
    onSnapshot?.({ records: data.size, ms: monotonicNowMs() - startedMs });
  }

  private async applyPage(records: readonly StoredRecord[]): Promise<void> {
    for (const stored of records) {
      this.options.data.applyUnlessEnded(stored, this.storeNowUs);
      this.options.onChange?.({ key: keyOf(stored.record), ...stored });
      if (this.pace.isOver) await this.pace.nextSlice();
    }
  }

  private async applyAll(changes: readonly LoggedChange[]): Promise<void> {
    const pace = new Pace(SHORT_SLICE_MS);
    for (const change of changes) {
      this.options.data.apply(change);
      this.options.onChange?.(change);
      if (change.unreadable !== undefined) this.noteUnreadable(nameOf(change.key));
      else this.unreadable.delete(nameOf(change.key));
      if (pace.isOver) await pace.nextSlice();
    }
  }

  private noteUnreadable(name: string): void {
    if (this.unreadable.size < UNREADABLE_NAMES_MAX) this.unreadable.add(name);
  }

  /** From now on what has ended decides nothing; what is too much to drop at once is dropped later. */
  private expire(): void {
    if (!this.options.data.expire(this.storeNowUs)) return;
    this.dropping ??= this.dropRest().then(() => {
      this.dropping = undefined;
    });
  }

  private async dropRest(): Promise<void> {
    do await pause(DROP_PAUSE_MS);
    while (!this.isClosed && this.options.data.expire(this.storeNowUs));
  }

  private show(): void {
    const { state } = this;
    const text = JSON.stringify([state.state, state.lost, state.missing, state.unreadable, state.error]);
    if (text === this.shown) return;
    this.shown = text;
    this.options.onState(state);
  }
}

function nameOf(key: RecordKey): string {
  return `${key.kind} ${fieldOf(key)}`;
}

/** The page is awaited later. */
function ignore(): void {
  // Its error is thrown there.
}

async function runAll(steps: Generator<undefined, void>): Promise<void> {
  await runInSlices(steps, new Pace(SHORT_SLICE_MS));
}
