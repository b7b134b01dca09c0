/** A source that watches files: each time they have changed and come to rest, it hands in the whole set of them. */

import { watch, type FSWatcher } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { lookAt, readConfigFiles, type ConfigSource, type ReadFiles, type SourceState, type WatchedPlace } from './config-files';
import type { ConfigSet } from './rules-in-force';

/** How long files must look and read the same before they are taken as whole. */
const SETTLE_MS = 50;

/** As `SETTLE_MS`, where no files are left: somebody may be about to write them anew. */
const SETTLE_EMPTY_MS = 2_000;

/** How often files are looked at without having been told of a change: not every file system tells. */
const POLL_MS = 5_000;

/** Some file systems know times to two seconds only: what is younger may change and look the same. */
const YOUNG_MS = 2_500;

/** How long events are gathered before they are looked into. */
const EVENTS_MS = 10;

/** Most directories that are watched; a change in any other is found by looking. */
const WATCHERS_MAX = 256;

/** Files that have not come to rest for so long are told of. */
const RESTLESS_MS = 10_000;

/** Files that have not been read by then are told of: a share that hangs, a pipe that nobody writes into. */
const SLOW_MS = 5_000;

export interface FileSourceOptions {
  readonly source: ConfigSource;
  /** Awaited before the next set is handed in. */
  readonly offer: (set: ConfigSet) => Promise<unknown>;
  /** Told what the operator should know, as a sentence. */
  readonly onTrouble: (sentence: string) => void;
  readonly pollMs?: number;
  readonly settleMs?: number;
  readonly slowMs?: number;
}

interface Settled {
  readonly read: ReadFiles;
  readonly state: SourceState;
}

export class FileSource {
  private readonly watchers = new Map<string, FSWatcher>();
  private poll: NodeJS.Timeout | undefined;
  private soon: NodeJS.Timeout | undefined;
  private offered: ReadFiles | undefined;
  /** What the files of `offered` looked like: as long as they look so, none is read again. */
  private fingerprint: string | undefined;
  /** A change so soon after it may not have shown. */
  private isYoung = false;
  private isLooking = false;
  private isTold = false;
  /** Read even if nothing seems to have changed. */
  private isAsked = false;
  private isClosed = false;

  constructor(private readonly options: FileSourceOptions) {}

  /** Hands in what is there now, once, without waiting for it to come to rest. */
  async load(): Promise<void> {
    const state = await this.toldIfSlow(lookAt(this.options.source));
    const read = await this.toldIfSlow(readConfigFiles(this.options.source));
    await this.handIn({ read, state });
  }

  /** From now on changes are followed. */
  watch(): void {
    this.poll = setInterval(() => {
      this.look();
    }, this.options.pollMs ?? POLL_MS).unref();
    this.look();
  }

  /** Hands in what is there, once it is at rest, changed or not. */
  reload(): void {
    this.isAsked = true;
    this.look();
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.poll);
    clearTimeout(this.soon);
    for (const watcher of this.watchers.values()) watcher.close();
    this.watchers.clear();
  }

  /** Something may have changed. One look at a time; who is told meanwhile looks once more. */
  private look(): void {
    this.isTold = true;
    if (this.isLooking) return;
    this.isLooking = true;
    void this.lookWhileTold()
      .catch((error: unknown) => {
        this.options.onTrouble(`the configuration could not be read again: ${String(error)}`);
      })
      .finally(() => {
        this.isLooking = false;
      });
  }

  private async lookWhileTold(): Promise<void> {
    while (this.isTold && !this.isClosed) {
      this.isTold = false;
      const state = await lookAt(this.options.source);
      if (state.isReadOnce) {
        this.refuseToReadAgain();
        return;
      }
      // What changed before it was watched was not told.
      if (this.watchAll(state.places)) this.isTold = true;
      if (state.fingerprint === this.fingerprint && !this.isYoung && !this.isAsked) continue;
      const settled = await this.settle();
      if (settled === undefined) return;
      if (this.isAsked || !isSame(settled.read, this.offered)) await this.handIn(settled);
      else this.remember(settled);
    }
  }

  private refuseToReadAgain(): void {
    if (this.isAsked) this.options.onTrouble('the configuration is a pipe or a device, which is read once, at the start; name a file to have it read again');
    this.isAsked = false;
  }

  /** Waits until the files are at rest: they look and read the same twice, some time apart. Undefined once closed. */
  private async settle(): Promise<Settled | undefined> {
    const { source, onTrouble, settleMs = SETTLE_MS } = this.options;
    const begunMs = performance.now();
    let isTold = false;
    for (;;) {
      const before = await this.toldIfSlow(lookAt(source));
      const first = await this.toldIfSlow(readConfigFiles(source));
      await sleep(isEmpty(first) ? Math.max(settleMs, SETTLE_EMPTY_MS) : settleMs);
      const read = await this.toldIfSlow(readConfigFiles(source));
      const state = await this.toldIfSlow(lookAt(source));
      if (this.isClosed) return undefined;
      if (before.fingerprint === state.fingerprint && isSame(first, read)) return { read, state };
      if (isTold || performance.now() - begunMs < RESTLESS_MS) continue;
      isTold = true;
      onTrouble(`the configuration keeps changing, and is read again once it is left alone for ${settleMs} ms; replace files by renaming`);
    }
  }

  /** A share may hang where its files are looked at, as well as where they are read. */
  private toldIfSlow<T>(reading: Promise<T>): Promise<T> {
    const { source, onTrouble, slowMs = SLOW_MS } = this.options;
    const slow = setTimeout(() => {
      onTrouble(`the configuration in ${source.kind === 'path' ? source.path : source.directory} is waited for: reading it has taken ${slowMs} ms so far`);
    }, slowMs).unref();
    return reading.finally(() => {
      clearTimeout(slow);
    });
  }

  private async handIn(settled: Settled): Promise<void> {
    this.isAsked = false;
    this.remember(settled);
    const { files: documents, problems } = settled.read;
    await this.options.offer({ documents, problems });
  }

  private remember({ read, state }: Settled): void {
    this.offered = read;
    this.fingerprint = state.fingerprint;
    this.isYoung = Date.now() - state.changedMs < YOUNG_MS;
  }

  /** Of directories only: a file that is replaced takes its watcher with it. Answers whether one is new. */
  private watchAll(places: readonly WatchedPlace[]): boolean {
    const wanted = new Map(places.slice(0, WATCHERS_MAX).map((place) => [`${place.directory} ${place.identity}`, place]));
    for (const [key, watcher] of this.watchers) {
      if (wanted.has(key)) continue;
      watcher.close();
      this.watchers.delete(key);
    }
    const missing = [...wanted].filter(([key]) => !this.watchers.has(key));
    return missing.map(([key, place]) => this.watchOne(key, place)).some((isWatched) => isWatched);
  }

  private watchOne(key: string, { directory, entry }: WatchedPlace): boolean {
    try {
      const watcher = watch(directory, { persistent: false }, (_, name) => {
        if (entry === undefined || name === null || name === entry) this.lookSoon();
      });
      watcher.on('error', () => {
        watcher.close();
        this.watchers.delete(key);
      });
      this.watchers.set(key, watcher);
      return true;
    } catch {
      // The directory is gone, or this machine allows no more watchers: its changes are found by looking.
      return false;
    }
  }

  /** One save is many events. */
  private lookSoon(): void {
    this.soon ??= setTimeout(() => {
      this.soon = undefined;
      this.look();
    }, EVENTS_MS).unref();
  }
}

function isEmpty({ files, problems }: ReadFiles): boolean {
  return files.length === 0 && problems.length === 0;
}

function isSame(a: ReadFiles, b: ReadFiles | undefined): boolean {
  return b !== undefined && JSON.stringify(a.problems) === JSON.stringify(b.problems) && a.files.length === b.files.length && a.files.every(({ name, text }, i) => name === b.files[i]?.name && text === b.files[i].text);
}
