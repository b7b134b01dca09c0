/** The top keys of all instances: merges what each has published, and the own window of this process. */

import { Pace, runInSlices, SHORT_SLICE_MS } from '../../lib/slices';
import { answerOf } from './answer';
import type { TopExchange } from './exchange';
import { decodePublished, inTexts, PublishedOwners } from './published-summary';
import type { Summary } from './summary';
import type { TopAnswer, TopKeys, TopMinutes, TopQuery } from './top-keys';
import { mergeSummaries, type Window } from './windows';

/** Texts that are read and merged together: bounds the memory of a reading. */
const TEXTS_AT_ONCE = 8;

/** Keys kept while summaries of many instances are merged. */
const MERGED_KEYS_MAX = 4_096;

/** How long a merged window is used again, in milliseconds. */
const REUSE_MS = 2_000;

export interface PublishedTopKeysOptions {
  readonly exchange: Pick<TopExchange, 'instances' | 'read'>;
  /** This process, whose window is newer than what it published. Absent: it counts nothing itself. */
  readonly own?: { readonly name: string; window(minutes: TopMinutes): Promise<Window> };
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

export class PublishedTopKeys implements TopKeys {
  private readonly readings = new Map<TopMinutes, Reading>();

  constructor(private readonly options: PublishedTopKeysOptions) {}

  async top(query: TopQuery): Promise<TopAnswer> {
    const { summary, fromMs, instances, missing } = await this.read(query.minutes);
    return { ...answerOf({ summary, query }), coveredMs: this.options.nowMs() - fromMs, instances, missing };
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

  private async mergeAll(minutes: TopMinutes): Promise<Merged> {
    const { own, exchange, nowMs } = this.options;
    const all = await exchange.instances();
    const others = all.filter((instance) => instance !== own?.name);
    const owners = new PublishedOwners();
    const window = await own?.window(minutes);
    let fromMs = window?.fromMs ?? nowMs();
    let summary = window === undefined ? await merge([]) : inTexts(window.summary, owners);
    let instances = window === undefined ? 0 : 1;
    const live = others.length + instances;
    for (let from = 0; from < others.length; from += TEXTS_AT_ONCE) {
      const texts = await Promise.all(others.slice(from, from + TEXTS_AT_ONCE).map((instance) => exchange.read({ instance, minutes })));
      const read = texts.flatMap((text) => (text === undefined ? [] : (decodePublished(text, owners) ?? [])));
      instances += read.length;
      for (const { coveredMs } of read) fromMs = Math.min(fromMs, nowMs() - coveredMs);
      summary = await merge([summary, ...read.map((each) => each.summary)]);
    }
    return { summary, fromMs, instances, missing: live - instances };
  }
}

function merge(summaries: readonly Summary[]): Promise<Summary> {
  return runInSlices(mergeSummaries(summaries, { keysMax: MERGED_KEYS_MAX }), new Pace(SHORT_SLICE_MS));
}
