/** A source that watches files: when they have changed and are stable, it offers the whole set. */

import { watch, type FSWatcher } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicNowMs } from '../../../lib/clock';
import { lookAt, readConfigFiles, type ConfigSource, type ReadFiles, type SourceState, type WatchedPlace } from './config-files';
import type { ConfigSet } from '../rules-in-force';
import { SLOW_MS, SLOW_PIPE_MS, reportedIfSlow } from './slow-reading';

/** How long files must stay the same before they count as complete. */
const UNCHANGED_MS = 50;

/** Like `UNCHANGED_MS`, for an empty set: a deployment may be about to write the files again. */
const UNCHANGED_EMPTY_MS = 2_000;

/** Interval of polling, because not every file system reports changes. */
const POLL_MS = 5_000;

/** Some file systems store times in steps of two seconds, so a more recent change may be invisible. */
const YOUNG_MS = 2_500;

/** How long events are collected before a look. */
const EVENTS_MS = 10;

/** Most watched directories; changes in others are found by polling. */
const WATCHERS_MAX = 256;

/** Files that keep changing for this long are reported. */
const RESTLESS_MS = 10_000;

export interface FileSourceOptions {
  readonly source: ConfigSource;
  /** Awaited before the next set is offered. */
  readonly offer: (set: ConfigSet) => Promise<unknown>;
  /** Receives sentences for the operator. */
  readonly onTrouble: (sentence: string) => void;
  readonly pollMs?: number;
  readonly unchangedMs?: number;
  readonly slowMs?: number;
}

interface Unchanged {
  readonly read: ReadFiles;
  readonly state: SourceState;
}

export class FileSource {
  private readonly watchers = new Map<string, FSWatcher>();
  private poll: NodeJS.Timeout | undefined;
  private soon: NodeJS.Timeout | undefined;
  private offered: ReadFiles | undefined;
  /** State of the files of `offered`: while it stays the same, no file is read again. */
  private fingerprint: string | undefined;
  /** The files are so recent that a change might not show in their times. */
  private isYoung = false;
  private isLooking = false;
  private isNotified = false;
  /** Forces a read without a visible change. */
  private isRequested = false;
  private isClosed = false;

  constructor(private readonly options: FileSourceOptions) {}

  /** Offers the current files once, without waiting for stability. */
  async load(): Promise<void> {
    const state = await this.reportingIfSlow(lookAt(this.options.source));
    const read = await this.reportingIfSlow(readConfigFiles(this.options.source), state);
    await this.handIn({ read, state });
  }

  /** Starts to follow changes. */
  watch(): void {
    this.poll = setInterval(() => {
      this.look();
    }, this.options.pollMs ?? POLL_MS).unref();
    this.look();
  }

  /** Offers the files once they are stable, changed or not. */
  reload(): void {
    this.isRequested = true;
    this.look();
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.poll);
    clearTimeout(this.soon);
    for (const watcher of this.watchers.values()) watcher.close();
    this.watchers.clear();
  }

  /** Checks for changes. Only one check runs at a time; a notification meanwhile causes another one. */
  private look(): void {
    this.isNotified = true;
    if (this.isLooking) return;
    this.isLooking = true;
    void this.lookWhileNotified()
      .catch((error: unknown) => {
        this.options.onTrouble(`the configuration could not be read again: ${String(error)}`);
      })
      .finally(() => {
        this.isLooking = false;
      });
  }

  private async lookWhileNotified(): Promise<void> {
    while (this.isNotified && !this.isClosed) {
      this.isNotified = false;
      const state = await lookAt(this.options.source);
      if (state.isReadOnce) {
        this.refuseToReadAgain();
        return;
      }
      // Changes before the watch began gave no notification.
      if (this.watchAll(state.places)) this.isNotified = true;
      if (state.fingerprint === this.fingerprint && !this.isYoung && !this.isRequested) continue;
      const unchanged = await this.readUnchanged();
      if (unchanged === undefined) return;
      if (this.isRequested || !isSame(unchanged.read, this.offered)) await this.handIn(unchanged);
      else this.remember(unchanged);
    }
  }

  private refuseToReadAgain(): void {
    if (this.isRequested)
      this.options.onTrouble(
        'the configuration is a pipe or a device, which Weir reads only once, at the start; use a file to allow reloads',
      );
    this.isRequested = false;
  }

  /** Waits until two looks and reads, some time apart, are the same. Undefined once closed. */
  private async readUnchanged(): Promise<Unchanged | undefined> {
    const { source, onTrouble, unchangedMs = UNCHANGED_MS } = this.options;
    const begunMs = monotonicNowMs();
    let isReported = false;
    for (;;) {
      const before = await this.reportingIfSlow(lookAt(source));
      const first = await this.reportingIfSlow(readConfigFiles(source));
      await sleep(isEmpty(first) ? Math.max(unchangedMs, UNCHANGED_EMPTY_MS) : unchangedMs);
      const read = await this.reportingIfSlow(readConfigFiles(source));
      const state = await this.reportingIfSlow(lookAt(source));
      if (this.isClosed) return undefined;
      if (before.fingerprint === state.fingerprint && isSame(first, read)) return { read, state };
      if (isReported || monotonicNowMs() - begunMs < RESTLESS_MS) continue;
      isReported = true;
      onTrouble(
        `the configuration keeps changing, so it is not loaded until it has been unchanged for ${unchangedMs} ms; replace files by renaming`,
      );
    }
  }

  /** A network share may hang on metadata as well as on reads. */
  private reportingIfSlow<T>(reading: Promise<T>, { isReadOnce = false } = {}): Promise<T> {
    const { source, onTrouble, slowMs = isReadOnce ? SLOW_PIPE_MS : SLOW_MS } = this.options;
    return reportedIfSlow(reading, { source, slowMs, onTrouble });
  }

  private async handIn(unchanged: Unchanged): Promise<void> {
    this.isRequested = false;
    this.remember(unchanged);
    const { files: documents, problems } = unchanged.read;
    await this.options.offer({ documents, problems });
  }

  private remember({ read, state }: Unchanged): void {
    this.offered = read;
    this.fingerprint = state.fingerprint;
    this.isYoung = Date.now() - state.changedMs < YOUNG_MS;
  }

  /** Watches directories only, because a replaced file takes its watcher with it. True if a watcher is new. */
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
      // The directory is gone, or the system allows no more watchers: polling finds its changes.
      return false;
    }
  }

  /** Collects the many events of one save. */
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
  return (
    b !== undefined &&
    JSON.stringify(a.problems) === JSON.stringify(b.problems) &&
    a.files.length === b.files.length &&
    a.files.every(({ name, text }, i) => name === b.files[i]?.name && text === b.files[i].text)
  );
}
