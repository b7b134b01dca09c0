/** The counters of one rule's keys, and what they hold at the end of a period. */

import type { Limit } from '../../domain/rule/limit';
import type { KeyForm } from './key-text';
import { NearestKeys } from './nearest-keys';
import { SpaceSaving } from './space-saving';
import { compareKeys, cut, keysOfOwner, type KeyCount, type KeyOwner, type OwnerKeys, type QuestionSummary } from './summary';
import type { TopQuestion } from './top-keys';

/** The last decision about a key. */
class LastSeen {
  readonly limits: (Limit | undefined)[] = [];
  readonly remaining: Float64Array;
  readonly owners: LiveOwner[] = [];

  constructor(capacity: number) {
    this.remaining = new Float64Array(capacity);
  }

  note(place: number, { owner }: SeenKey, { limit, remaining }: KeyHits): void {
    this.limits[place] = limit;
    this.remaining[place] = remaining;
    this.owners[place] = owner;
  }

  clear(): void {
    this.limits.length = 0;
    this.owners.length = 0;
  }
}

/** The counters of one rule, or of all that share. */
export class Counters {
  readonly asked: SpaceSaving;
  readonly denied: SpaceSaving;
  readonly near: NearestKeys;
  readonly askedSeen: LastSeen;
  readonly deniedSeen: LastSeen;
  readonly nearSeen: LastSeen;
  isShared = false;
  /** Undefined: no candidate would have denied a key of the rule. Most rules have none, so that they need no memory for it. */
  private tried: TriedKeys | undefined;

  constructor(private readonly capacity: number) {
    this.asked = new SpaceSaving(capacity);
    this.denied = new SpaceSaving(capacity);
    this.near = new NearestKeys(capacity);
    this.askedSeen = new LastSeen(capacity);
    this.deniedSeen = new LastSeen(capacity);
    this.nearSeen = new LastSeen(capacity);
  }

  clear(): void {
    for (const each of [this.asked, this.denied, this.near, this.askedSeen, this.deniedSeen, this.nearSeen]) each.clear();
    this.tried = undefined;
  }

  get candidate(): TriedKeys | undefined {
    return this.tried;
  }

  openCandidate(): TriedKeys {
    return (this.tried ??= { keys: new SpaceSaving(this.capacity), seen: new LastSeen(this.capacity) });
  }
}

interface TriedKeys {
  readonly keys: SpaceSaving;
  readonly seen: LastSeen;
}

/** A rule as this process sees it. */
export class LiveOwner implements KeyOwner {
  /** Undefined: no hit in this period. */
  counters: Counters | undefined;
  /** The period of its last hit. */
  usedIn = 0;
  /** Whether it is a configured rule: others share counters, since requests name them. */
  isRule = false;

  constructor(
    readonly id: string,
    readonly domain: string,
    readonly rule: string,
    readonly form: KeyForm,
  ) {}

  entriesOf(key: string): string {
    return this.form.textOf(key);
  }
}

/** A key, and its last places, which are only hints. */
export interface SeenKey {
  owner: LiveOwner;
  key: string;
  /** `hashOfKey(key)`. */
  hash: number;
  /** Whether the key may be kept: otherwise it may be a slice of a long message. */
  isCopy: boolean;
  asked: number;
  denied: number;
  near: number;
  candidate: number;
}

/** The decision about one descriptor. */
export interface KeyHits {
  hits: number;
  limit: Limit;
  remaining: number;
  /** The descriptor denied its request. */
  denies: boolean;
  /** The share of the limit that is used, in thousandths, if the hits were admitted near the limit; otherwise 0. */
  share: number;
}

/** The keys of one period, by question. */
export type SealedKeys = Readonly<Record<TopQuestion, SealedQuestion>>;

interface SealedQuestion {
  readonly keys: readonly OwnedKey[];
  readonly total: number;
  readonly unlisted: number;
}

interface OwnedKey {
  readonly owner: LiveOwner;
  readonly count: KeyCount;
}

export interface SealedPart {
  readonly owner: LiveOwner;
  readonly keys: SealedKeys;
}

/** `owner`: the only one of these counters; undefined: they are shared. */
export function sealed(counters: Counters, owner: LiveOwner | undefined): SealedKeys {
  const { asked, denied, near, askedSeen, deniedSeen, nearSeen, candidate } = counters;
  return {
    asked: sealedHits(asked, { seen: askedSeen, only: owner }),
    denied: sealedHits(denied, { seen: deniedSeen, only: owner }),
    near: sealedNear(near, { seen: nearSeen, only: owner }),
    candidate_denied: candidate === undefined ? NOTHING : sealedHits(candidate.keys, { seen: candidate.seen, only: owner }),
  };
}

const NOTHING: SealedQuestion = { keys: [], total: 0, unlisted: 0 };

interface SealInput {
  readonly seen: LastSeen;
  readonly only: LiveOwner | undefined;
}

function sealedHits({ keys, counts, errors, total, unlisted }: SpaceSaving, input: SealInput): SealedQuestion {
  const of = (counter: number): Counted => ({ count: counts[counter] ?? 0, error: errors[counter] ?? 0, share: 0 });
  return { keys: sealedKeys(keys, { ...input, of }), total, unlisted };
}

function sealedNear({ keys, counts, shares, total, unlisted }: NearestKeys, input: SealInput): SealedQuestion {
  const of = (slot: number): Counted => ({ count: counts[slot] ?? 0, error: 0, share: shares[slot] ?? 0 });
  return { keys: sealedKeys(keys, { ...input, of }), total, unlisted };
}

type Counted = Pick<KeyCount, 'count' | 'error' | 'share'>;

function sealedKeys(keys: readonly string[], { seen, only, of }: SealInput & { readonly of: (place: number) => Counted }): OwnedKey[] {
  return keys.flatMap((key, place) => {
    const owner = seen.owners[place];
    if (owner === undefined) return [];
    const limit = seen.limits[place];
    const { count, error, share } = of(place);
    const remainingShare = limit === undefined ? undefined : shareOf(seen.remaining[place] ?? 0, limit.capacity);
    return [{ owner, count: { key: only === undefined ? key.slice(owner.id.length) : key, count, error, share, limit, remainingShare } }];
  });
}

interface SummaryInput {
  readonly parts: readonly SealedPart[];
  readonly rest: SealedKeys;
  readonly keysMax: number;
}

export function summaryOf(question: TopQuestion, { parts, rest, keysMax }: SummaryInput): QuestionSummary {
  const shared = new Map<LiveOwner, OwnedKey[]>();
  for (const key of rest[question].keys) shared.set(key.owner, [...(shared.get(key.owner) ?? []), key]);
  const keysOfEach = keysOfOwner({ keysMax, owners: parts.length + shared.size });
  const cutTo = (keys: readonly OwnedKey[], unlisted: number) =>
    cut(keys.map(({ count }) => count).sort(compareKeys), { question, keysMax: keysOfEach, unlisted });
  let { unlisted: restUnlisted } = rest[question];
  const owners = new Map<KeyOwner, OwnerKeys>();
  for (const [owner, keys] of shared) {
    const kept = cutTo(keys, 0);
    restUnlisted = Math.max(restUnlisted, kept.unlisted);
    owners.set(owner, { isOwn: false, total: 0, ...kept });
  }
  // Owners without a key are taken too: they say that no key of the rule is missing.
  for (const { owner, keys } of parts) {
    const { total, unlisted } = keys[question];
    owners.set(owner, { isOwn: true, total, ...cutTo(keys[question].keys, unlisted) });
  }
  return { owners, rest: { total: rest[question].total, unlisted: restUnlisted } };
}

function shareOf(remaining: number, capacity: number): number {
  return capacity === 0 ? 0 : Math.min(1, Math.max(0, remaining / capacity));
}
