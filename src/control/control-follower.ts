/** Keeps the replica up to date: reads the change log again and again, and all records when the log does not continue. */

import { asError } from '../lib/errors';
import { Pace, runInSlices, SHORT_SLICE_MS } from '../lib/slices';
import { CONTROL_KINDS, keyOf, type StoredRecord } from './control-record';
import type { ControlData } from './control-data';
import type { ControlStore, LoggedChange, LogAnswer, Position, ScanPage } from './control-store';

/** Interval between two reads of the log, in milliseconds: a change is in force everywhere after at most this time and a round trip. */
export const POLL_MS = 100;

/** Without an answer for this long, the follower is behind: a second is promised, and one lost answer should not alarm. */
const BEHIND_MS = 1_000;

/** Reads that may fail before the start goes on without control data. */
const FIRST_TRIES = 3;

/** Records of one page of a snapshot: its reply is parsed in about a millisecond. */
const PAGE_RECORDS = 250;

/** The state of the replica, for health, metrics and log. */
export interface FollowerState {
  /** `starting`: nothing was read yet. `behind`: the store does not answer. `lost`: the store lost records that this replica keeps. */
  readonly state: 'starting' | 'following' | 'behind' | 'lost';
  /** Records that the store lost and this replica keeps. */
  readonly lost: number;
  /** Why the store does not answer. */
  readonly error?: string;
}

export interface ControlFollowerOptions {
  readonly store: Pick<ControlStore, 'changesAfter' | 'scan'>;
  readonly data: ControlData;
  /** The clock of this process, in microseconds since 1970. */
  readonly nowUs: () => number;
  readonly onState: (state: FollowerState) => void;
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
  private position: Position | undefined;
  /** The store may fail meanwhile, and come back without what was read already. */
  private reading: Reading | undefined;
  /** What the store's clock is ahead of this process's. */
  private offsetUs = 0;
  private upToDateAtUs: number | undefined;
  private shown = '';
  private error: string | undefined;
  private isEmptied = false;
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private readonly pace = new Pace(SHORT_SLICE_MS);

  constructor(private readonly options: ControlFollowerOptions) {}

  /** The version up to which the replica has every change; 0: there was none. */
  get version(): number {
    return this.position?.version ?? 0;
  }

  /** Identifies the history of the store; undefined: nothing was read, or nothing was ever written. */
  get epoch(): string | undefined {
    return this.position?.epoch;
  }

  /** Seconds since the replica was last known to be up to date. */
  get lagSeconds(): number {
    return this.upToDateAtUs === undefined ? 0 : Math.max(0, this.options.nowUs() - this.upToDateAtUs) / 1_000_000;
  }

  get state(): FollowerState {
    const { data } = this.options;
    const error = this.error === undefined ? undefined : { error: this.error };
    const lost = this.isEmptied ? data.size : data.lost;
    if (this.upToDateAtUs === undefined) return { state: 'starting', lost, ...error };
    if (this.lagSeconds * 1_000 > BEHIND_MS) return { state: 'behind', lost, ...error };
    return { state: lost > 0 ? 'lost' : 'following', lost };
  }

  /** Starts, and resolves when everything was read once, after some failures, or after `waitMs`. */
  async start({ waitMs }: { readonly waitMs: number }): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
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
    await this.running;
  }

  private async readFirst(): Promise<void> {
    for (let tries = 0; tries < FIRST_TRIES && this.upToDateAtUs === undefined && !this.isClosed; tries += 1) await this.step();
  }

  private schedule(): void {
    if (this.isClosed) return;
    this.timer = setTimeout(() => {
      void this.step().then(() => {
        this.schedule();
      });
    }, this.options.pollMs ?? POLL_MS);
  }

  /** One at a time; never rejects. */
  private step(): Promise<void> {
    this.running ??= this.follow()
      .catch((error: unknown) => {
        this.error = asError(error).message;
      })
      .then(() => {
        this.running = undefined;
        this.expire();
        this.show();
      });
    return this.running;
  }

  private async follow(): Promise<void> {
    const { store, data, nowUs } = this.options;
    let isLast = false;
    while (!isLast && !this.isClosed) {
      const askedUs = nowUs();
      const answer = await store.changesAfter(this.reading?.position ?? this.position);
      this.offsetUs = answer.nowUs - askedUs;
      isLast = await this.apply(answer);
      await runAll(data.discardLost(answer.discardedUpTo));
      if (!isLast) continue;
      this.upToDateAtUs = askedUs;
      this.error = undefined;
    }
  }

  /** Whether these were the last changes. */
  private async apply(answer: LogAnswer): Promise<boolean> {
    const { reading } = this;
    if (answer.kind === 'empty') {
      // The replica keeps what it knows, also what it read before the store failed. It knows nothing of a store that was never written.
      this.isEmptied = this.options.data.size > 0;
      return true;
    }
    if (answer.kind === 'gap') {
      // The log was only trimmed: these are the records that were read.
      if (reading?.isScanned === true && answer.common === Infinity) await this.endReading(reading);
      const isFirst = this.position === undefined && reading === undefined;
      const common = isFirst ? Infinity : Math.min(answer.common, reading?.common ?? Infinity);
      await this.readAll({ position: answer.position, common });
      return false;
    }
    await this.applyAll(answer.changes);
    if (reading?.isScanned === false) {
      await this.readAll({ position: answer.position, common: reading.common });
      return false;
    }
    if (reading !== undefined) await this.endReading(reading);
    this.position = answer.position;
    // Not before all records were read: until then the lost ones are not known one by one.
    this.isEmptied = false;
    return answer.isLast;
  }

  /** Reads every page. The next answer of the log says whether they are of one history; only then `endReading` drops what they lack. */
  private async readAll({ position, common }: Pick<Reading, 'position' | 'common'>): Promise<void> {
    const { store, data } = this.options;
    const reading: Reading = { position, common, startedMs: performance.now(), isScanned: false };
    this.reading = reading;
    data.beginSnapshot();
    for (const kind of CONTROL_KINDS) {
      let page: Promise<ScanPage> | undefined = store.scan({ kind, limit: PAGE_RECORDS });
      while (page !== undefined && !this.isClosed) {
        const { records, next }: ScanPage = await page;
        // The store reads the next page meanwhile.
        page = next === undefined ? undefined : store.scan({ kind, limit: PAGE_RECORDS, cursor: next });
        page?.catch(ignore);
        await this.applyPage(records);
      }
    }
    if (!this.isClosed) this.reading = { ...reading, isScanned: true };
  }

  private async endReading({ common, position, startedMs }: Reading): Promise<void> {
    const { data, onSnapshot } = this.options;
    await runAll(data.endSnapshot(common));
    this.position = position;
    this.reading = undefined;
    onSnapshot?.({ records: data.size, ms: performance.now() - startedMs });
  }

  private async applyPage(records: readonly StoredRecord[]): Promise<void> {
    for (const { record, version } of records) {
      this.options.data.apply({ key: keyOf(record), record, version });
      if (this.pace.isOver) await this.pace.nextSlice();
    }
  }

  private async applyAll(changes: readonly LoggedChange[]): Promise<void> {
    const pace = new Pace(SHORT_SLICE_MS);
    for (const change of changes) {
      this.options.data.apply(change);
      if (pace.isOver) await pace.nextSlice();
    }
  }

  private expire(): void {
    const { data, nowUs } = this.options;
    // The rest ends at the next step.
    data.expire(nowUs() + this.offsetUs);
  }

  private show(): void {
    const { state } = this;
    const text = JSON.stringify([state.state, state.lost, state.error]);
    if (text === this.shown) return;
    this.shown = text;
    this.options.onState(state);
  }
}

/** The page is awaited later. */
function ignore(): void {
  // Its error is thrown there.
}

async function runAll(steps: Generator<undefined, void>): Promise<void> {
  await runInSlices(steps, new Pace(SHORT_SLICE_MS));
}
