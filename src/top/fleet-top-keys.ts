/** The top keys of all instances: publishes those of this process, and merges what all have published. */

import { Pace, runInSlices, SHORT_SLICE_MS } from '../lib/slices';
import { answerOf } from './answer';
import type { TopExchange } from './exchange';
import type { LocalTopKeys } from './local-top-keys';
import { decodePublished, encodePublished, inTexts, PublishedOwners } from './published-summary';
import type { Summary } from './summary';
import { TOP_MINUTES, type TopAnswer, type TopKeys, type TopMinutes, type TopQuery } from './top-keys';
import { mergeSummaries, PERIOD_MS } from './windows';

/** By window: periods from one publication to the next. Longer windows are sent less often. */
const PERIODS_A_PUBLICATION: Readonly<Record<TopMinutes, number>> = { 1: 1, 10: 3, 60: 12 };

/** Publications that may be missed before the text expires. */
const MISSED_MAX = 3;

/** Texts that are read and merged together: bounds the memory of a reading. */
const TEXTS_AT_ONCE = 8;

/** Keys kept while summaries of many instances are merged. */
const MERGED_KEYS_MAX = 4_096;

/** How long a merged window is used again, in milliseconds. */
const REUSE_MS = 2_000;

export interface FleetTopKeysOptions {
  readonly local: LocalTopKeys;
  readonly exchange: TopExchange;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

interface Merged extends Pick<TopAnswer, 'instances' | 'missing'> {
  readonly summary: Summary;
  /** When the oldest hits were counted. */
  readonly fromMs: number;
}

interface Reading {
  readonly atMs: number;
  readonly merged: Promise<Merged>;
}

export class FleetTopKeys implements TopKeys {
  private readonly readings = new Map<TopMinutes, Reading>();
  private periods = 0;
  private publishing: Promise<void> | undefined;

  constructor(private readonly options: FleetTopKeysOptions) {}

  /** Publishes the windows that are due. Must be called after the end of each period. Rejects with a StoreError if the store fails. */
  publish(): Promise<void> {
    // One at a time: while the store hangs, nothing more is sent to it.
    this.publishing ??= this.publishDue().finally(() => {
      this.publishing = undefined;
    });
    return this.publishing;
  }

  async top(query: TopQuery): Promise<TopAnswer> {
    const { summary, fromMs, instances, missing } = await this.read(query.minutes);
    return { ...answerOf({ summary, query }), coveredMs: this.options.nowMs() - fromMs, instances, missing };
  }

  private async publishDue(): Promise<void> {
    const { local, exchange, nowMs } = this.options;
    this.periods += 1;
    for (const minutes of TOP_MINUTES) {
      const every = PERIODS_A_PUBLICATION[minutes];
      // The first period publishes all: a new instance soon takes part.
      if (this.periods !== 1 && this.periods % every !== 0) continue;
      const { summary, fromMs } = await local.window(minutes);
      const text = encodePublished({ summary, coveredMs: nowMs() - fromMs });
      await exchange.publish({ minutes, text, ttlMs: (1 + MISSED_MAX) * every * PERIOD_MS });
    }
  }

  private read(minutes: TopMinutes): Promise<Merged> {
    const nowMs = this.options.nowMs();
    const known = this.readings.get(minutes);
    if (known !== undefined && nowMs - known.atMs < REUSE_MS) return known.merged;
    const merged = this.mergeAll(minutes);
    const reading = { atMs: nowMs, merged };
    this.readings.set(minutes, reading);
    // A failure is not used again.
    merged.catch(() => {
      if (this.readings.get(minutes) === reading) this.readings.delete(minutes);
    });
    return merged;
  }

  /** Takes this process's own window as it is, and all others as published. */
  private async mergeAll(minutes: TopMinutes): Promise<Merged> {
    const { local, exchange, nowMs } = this.options;
    const others = (await exchange.instances()).filter((instance) => instance !== exchange.name);
    const owners = new PublishedOwners();
    const own = await local.window(minutes);
    let { fromMs } = own;
    let summary = inTexts(own.summary, owners);
    let instances = 1;
    for (let from = 0; from < others.length; from += TEXTS_AT_ONCE) {
      const texts = await Promise.all(others.slice(from, from + TEXTS_AT_ONCE).map((instance) => exchange.read({ instance, minutes })));
      const read = texts.flatMap((text) => (text === undefined ? [] : (decodePublished(text, owners) ?? [])));
      instances += read.length;
      for (const { coveredMs } of read) fromMs = Math.min(fromMs, nowMs() - coveredMs);
      const steps = mergeSummaries([summary, ...read.map((each) => each.summary)], { keysMax: MERGED_KEYS_MAX });
      summary = await runInSlices(steps, new Pace(SHORT_SLICE_MS));
    }
    return { summary, fromMs, instances, missing: others.length + 1 - instances };
  }
}
