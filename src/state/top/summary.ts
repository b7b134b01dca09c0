/** A summary of top keys over some time or some processes, and how summaries are merged. */

import type { TopLimit, TopQuestion } from './top-keys';

/** A rule whose keys are counted. One object for each rule of a merge. */
export interface KeyOwner {
  readonly domain: string;
  readonly rule: string;
  /** The entries of a key, as people read them. */
  entriesOf(key: string): string;
}

export interface KeyCount {
  readonly key: string;
  /** Hits, never too low; for `near`, hits of the periods that list the key. */
  readonly count: number;
  /** By how much the count may be too high; 0 for `near`. */
  readonly error: number;
  /** `near`: the largest share used, in thousandths; otherwise 0. */
  readonly share: number;
  readonly limit: TopLimit | undefined;
  /** Share of the limit left when the key was seen last; undefined: not known. */
  readonly remainingShare: number | undefined;
}

/** The keys of one rule. */
export interface OwnerKeys {
  /** In descending order, see `compareKeys`. */
  readonly keys: readonly KeyCount[];
  /** False: the rule shared its counters with others, so `rest` of the summary has its total and bound. */
  readonly isOwn: boolean;
  /** Hits of all keys of the rule. */
  readonly total: number;
  /** The most that a key of the rule has that is not listed: hits, or for `near` the share. */
  readonly unlisted: number;
}

/** The answer to one question. */
export interface QuestionSummary {
  readonly owners: ReadonlyMap<KeyOwner, OwnerKeys>;
  /** The rules that shared counters. */
  readonly rest: { readonly total: number; readonly unlisted: number };
}

export type Summary = Readonly<Record<TopQuestion, QuestionSummary>>;

/** The fewest keys of a rule that a summary keeps. */
const KEYS_OF_OWNER_MIN = 16;

/** How many keys of each rule are kept, so that a summary has at most about `keysMax`. */
export function keysOfOwner({ keysMax, owners }: { readonly keysMax: number; readonly owners: number }): number {
  return Math.max(KEYS_OF_OWNER_MIN, Math.floor(keysMax / Math.max(1, owners)));
}

/** Descending: by share for `near`, otherwise by the certain hits; then by the possible hits, then by key. */
export function compareKeys(a: KeyCount, b: KeyCount): number {
  return b.share - a.share || b.count - b.error - (a.count - a.error) || b.count - a.count || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

export interface MergeInput {
  readonly question: TopQuestion;
  /** The oldest first: what was seen last counts. */
  readonly summaries: readonly QuestionSummary[];
  readonly keysMax: number;
}

/** Summaries merged in one step: bounds its time. */
const SUMMARIES_A_STEP = 4;

/**
 * Merges summaries of different hits. The bounds add up: with m counters everywhere a count is too high by at most the N / m of all
 * hits (Agarwal et al., "Mergeable Summaries", 2012). A generator, because many summaries take milliseconds.
 */
export function* merge({ question, summaries, keysMax }: MergeInput): Generator<undefined, QuestionSummary> {
  let merged = yield* mergeStep({ question, summaries: summaries.slice(0, SUMMARIES_A_STEP), keysMax });
  for (let from = SUMMARIES_A_STEP; from < summaries.length; from += SUMMARIES_A_STEP - 1) {
    merged = yield* mergeStep({ question, summaries: [merged, ...summaries.slice(from, from + SUMMARIES_A_STEP - 1)], keysMax });
  }
  return merged;
}

/** Yields after each rule. */
function* mergeStep({ question, summaries, keysMax }: MergeInput): Generator<undefined, QuestionSummary> {
  const add = question === 'near' ? Math.max : sum;
  const owners = new Set(summaries.flatMap((summary) => [...summary.owners.keys()]));
  const keysOfEach = keysOfOwner({ keysMax, owners: owners.size });
  const merged = new Map<KeyOwner, OwnerKeys>();
  let restUnlisted = summaries.reduce((unlisted, { rest }) => add(unlisted, rest.unlisted), 0);
  for (const owner of owners) {
    const of = mergeOwner({ question, owner, summaries, keysMax: keysOfEach });
    merged.set(owner, of);
    if (!of.isOwn) restUnlisted = Math.max(restUnlisted, of.unlisted);
    yield;
  }
  return { owners: merged, rest: { total: summaries.reduce((total, { rest }) => total + rest.total, 0), unlisted: restUnlisted } };
}

interface Merging {
  count: number;
  /** Certain hits. */
  certain: number;
  /** The sum of what an absent key could have in the summaries that list this one. */
  bounds: number;
  share: number;
  last: KeyCount;
}

function mergeOwner({ question, owner, summaries, keysMax }: MergeInput & { readonly owner: KeyOwner }): OwnerKeys {
  const isNear = question === 'near';
  const add = isNear ? Math.max : sum;
  const byKey = new Map<string, Merging>();
  let unlisted = 0;
  let total = 0;
  let isOwn = false;
  for (const { owners, rest } of summaries) {
    const of = owners.get(owner);
    const bound = of?.isOwn === true ? of.unlisted : rest.unlisted;
    unlisted = add(unlisted, bound);
    if (of === undefined) continue;
    isOwn ||= of.isOwn;
    total += of.total;
    for (const each of of.keys) {
      const known = byKey.get(each.key);
      if (known === undefined) {
        byKey.set(each.key, { count: each.count, certain: each.count - each.error, bounds: bound, share: each.share, last: each });
        continue;
      }
      known.count += each.count;
      known.certain += each.count - each.error;
      known.bounds += bound;
      known.share = Math.max(known.share, each.share);
      known.last = each;
    }
  }
  const keys = Array.from(byKey, ([key, { count, certain, bounds, share, last }]): KeyCount => {
    const { limit, remainingShare } = last;
    const most = isNear ? count : count + unlisted - bounds;
    return { key, count: most, error: isNear ? 0 : most - certain, share, limit, remainingShare };
  }).sort(compareKeys);
  return { isOwn, total, ...cut(keys, { question, keysMax, unlisted }) };
}

interface CutInput {
  readonly question: TopQuestion;
  readonly keysMax: number;
  readonly unlisted: number;
}

/** Keeps the first keys; the others count as unlisted. */
export function cut(keys: readonly KeyCount[], { question, keysMax, unlisted }: CutInput): Pick<OwnerKeys, 'keys' | 'unlisted'> {
  if (keys.length <= keysMax) return { keys, unlisted };
  const dropped = keys.slice(keysMax).reduce((most, { share, count }) => Math.max(most, question === 'near' ? share : count), 0);
  return { keys: keys.slice(0, keysMax), unlisted: Math.max(unlisted, dropped) };
}

function sum(a: number, b: number): number {
  return a + b;
}
