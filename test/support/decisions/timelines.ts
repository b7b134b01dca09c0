/** The hand-checked timelines of `test/vectors/`, one step at a time, for whoever decides. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { BucketAlgorithm } from '../../../src/domain/algorithm/algorithms';
import { slotIdOf } from '../../../src/domain/bucket/slot-id';
import { NEVER } from '../../../src/domain/algorithm/engine';
import type { Group, GroupVerdict, Take } from '../../../src/domain/bucket/take';
import type { Code } from '../../../src/domain/decide/decision';

interface VectorLimit {
  readonly requests_per_unit: number;
  readonly window_us: number;
  readonly capacity: number;
}

/** Hits of an admission (0: a check), or of a usage report. */
type VectorHits = number | { readonly report: number } | SlotHits;

/** Hits of requests in flight: 1 takes a slot, -1 releases it, whatever the verdict; perhaps of one request, by its id. */
interface SlotHits {
  readonly slots: number;
  readonly id?: string;
}

/** Time since the start (µs), hits, then what is expected: code, remaining (negative: the debt), reset (µs), why; perhaps another limit. */
type VectorRow = readonly [number, VectorHits, Code, number, number, string, VectorLimit?];

interface VectorFile {
  readonly algorithm: BucketAlgorithm;
  readonly start_us: number;
  readonly timelines: readonly VectorTimeline[];
}

interface VectorTimeline {
  readonly name: string;
  readonly limit: VectorLimit;
  /** Of its usage reports. */
  readonly overdraft_max?: number;
  readonly rows: readonly VectorRow[];
}

export interface Step {
  readonly nowUs: number;
  readonly group: Group;
  readonly expected: StepOutcome;
}

export interface StepOutcome {
  readonly why: string;
  readonly code: Code;
  /** Negative: the debt. */
  readonly remaining: number;
  readonly resetUs: number;
}

export interface Timeline {
  readonly name: string;
  readonly steps: readonly Step[];
}

const VECTORS_DIR = path.join(__dirname, '..', '..', 'vectors');

/** All timelines, named `algorithm: timeline`. */
export function loadTimelines(): readonly Timeline[] {
  return readdirSync(VECTORS_DIR).flatMap((file) => {
    const vectors = JSON.parse(readFileSync(path.join(VECTORS_DIR, file), 'utf8')) as VectorFile;
    return vectors.timelines.map(({ name, limit, overdraft_max: overdraftMax = 0, rows }) => ({
      name: `${vectors.algorithm}: ${name}`,
      steps: rows.map(([atUs, hits, code, remaining, resetUs, why, otherLimit]): Step => {
        const { requests_per_unit: requestsPerUnit, window_us: windowUs, capacity } = otherLimit ?? limit;
        const take = {
          bucketKey: `vector:${vectors.algorithm}`,
          limit: { algorithm: vectors.algorithm, requestsPerUnit, windowUs, capacity },
          ...toHits(hits, overdraftMax),
          mode: 'enforced' as const,
          descriptor: 0,
        };
        const group = { takes: [take], shadow: false, quotaAlwaysFits: false };
        return { nowUs: vectors.start_us + atUs, group, expected: { why, code, remaining, resetUs } };
      }),
    }));
  });
}

function toHits(hits: VectorHits, overdraftMax: number): Pick<Take, 'hits' | 'overdraftMax' | 'slotId'> {
  if (typeof hits === 'number') return { hits };
  if ('report' in hits) return { hits: hits.report, overdraftMax };
  const { slots, id } = hits;
  return { hits: slots, ...(slots < 0 && { overdraftMax: 0 }), ...(id !== undefined && { slotId: slotIdOf(id) }) };
}

/** What a timeline says about a verdict, with the row's reason so that a difference explains itself. */
export function toStepOutcome({ overLimit, verdicts }: GroupVerdict, why: string): StepOutcome {
  const { fits, remaining, debt = 0, retryAfterUs, resetAfterUs } = verdicts[0]!;
  const resetUs = fits || retryAfterUs === NEVER ? resetAfterUs : retryAfterUs;
  return { why, code: overLimit ? 'OVER_LIMIT' : 'OK', remaining: remaining - debt, resetUs };
}
