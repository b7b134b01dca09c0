/** A live tail: where its samples come from, which decisions it wants, and what a sample of a decision holds. */

import type { AmountForm } from '../../../lib/text/amount';

/** Where samples come from: this process, or all workers. The tail is a number that its opener chooses. */
export interface TailSource {
  open(tail: number, filter: TailFilter, onSample: (sample: TailSample) => void): void;
  close(tail: number): void;
}

export interface TailFilter {
  /** Absent: all domains. */
  readonly domain?: string;
  /** A descriptor of the request must contain all of them. */
  readonly entries: readonly { readonly key: string; readonly value?: string }[];
  /** Only requests over their limit. */
  readonly deniedOnly: boolean;
  /** Most samples in a second. */
  readonly perSecond: number;
}

/** A decision: what was asked, what was decided, and by what. */
export interface TailSample {
  readonly atMs: number;
  /** The process that decided. */
  readonly pid: number;
  readonly domain: string;
  readonly overLimit: boolean;
  /** A block denied it, so no limit counted it. Absent: none did. */
  readonly blocked?: true;
  /** Why the store did not decide: `fallback` or `cached`. */
  readonly without?: 'fallback' | 'cached';
  readonly descriptors: readonly TailDescriptor[];
  /** Decisions that matched the filter since the sample before, without this one. */
  readonly skipped: number;
}

export interface TailDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly hits: number;
  /** Path of the rule; absent: no rule matched. */
  readonly rule?: string;
  /** The id of the block that denied the request. Absent: none selected this descriptor. */
  readonly block?: string;
  readonly overLimit: boolean;
  readonly limit?: TailLimit;
  readonly remaining?: number;
  /** The decisions that candidates would have made. Absent: there are none. */
  readonly candidates?: readonly (TailLimit & { readonly overLimit: boolean })[];
}

export interface TailLimit {
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly unitMultiplier: number;
  /** How people read the hits. Absent: as hits. */
  readonly show?: AmountForm;
}
