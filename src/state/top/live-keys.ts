/** The counters of the current period: one set for each of the busiest rules, one that all others share. */

import { createHash } from 'node:crypto';
import { copyOf, toText } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import type { Rule } from '../../domain/rule/rule';
import { Counters, LiveOwner, sealed, summaryOf, type KeyHits, type SealedPart, type SeenKey } from './counters';
import { KeyForm, shortenText } from './key-text';
import { hashOfKey, type SpaceSaving } from './space-saving';
import type { Summary } from './summary';
import type { TopQuestion } from './top-keys';

/** Rules with counters of their own. */
export const OWN_RULES_MAX = 64;

/** Rules with a name of their own; the rest count as one rule named `other`. */
export const OWNERS_MAX = 4_096;

/** Longest id of a rule in clear text. */
const ID_CHARS_MAX = 512;

const OTHER = 'other';

/** For a key that is not remembered. */
export const NO_HINTS = { asked: -1, denied: -1, near: -1, candidate: -1 } as const;

/** Counters without a use, kept for the next rule. */
const SPARE_MAX = 8;

export class LiveKeys {
  private readonly owners = new Map<string, LiveOwner>();
  private readonly own = new Set<LiveOwner>();
  private readonly spare: Counters[] = [];
  private readonly shared: Counters;
  private period = 0;

  constructor(private readonly options: { readonly capacity: number }) {
    this.shared = new Counters(options.capacity);
    this.shared.isShared = true;
  }

  /** The owner of a rule's keys; the same for equal paths. */
  ownerOf(input: OwnerInput): LiveOwner {
    const { domain, path, entries, rule } = input;
    const form = new KeyForm({ path, entries, shared: rule?.shareThreshold });
    const id = shortId(JSON.stringify([domain, path, form.signature]));
    const known = this.owners.get(id);
    if (known === undefined && this.owners.size >= OWNERS_MAX) return this.openOther();
    const owner = known ?? new LiveOwner(id, shortenText(toText(domain)), shortenText(path.join('.')), form);
    owner.isRule ||= rule !== undefined;
    this.owners.set(id, owner);
    return owner;
  }

  /** The rule of all rules without a name of their own. */
  private openOther(): LiveOwner {
    const owner = this.owners.get(OTHER) ?? new LiveOwner(OTHER, OTHER, '', new KeyForm({ path: [], entries: [] }));
    this.owners.set(OTHER, owner);
    return owner;
  }

  count(seen: SeenKey, decided: KeyHits): void {
    const counters = seen.owner.counters ?? this.open(seen);
    if (counters.isShared) countIn(counters, sharedKey(seen), decided);
    else countIn(counters, seen, decided);
  }

  /** Counts hits that the candidate of a limit would have denied. */
  countCandidate(seen: SeenKey, decided: KeyHits): void {
    const counters = seen.owner.counters ?? this.open(seen);
    const { keys, seen: last } = counters.openCandidate();
    const key = counters.isShared ? sharedKey(seen) : seen;
    const place = countHits(keys, key, { hint: key.candidate, hits: decided.hits });
    if (place < 0) return;
    if (key.isCopy) key.candidate = place;
    last.note(place, key, decided);
  }

  /**
   * Ends the period: returns what was counted in it. A generator, because many rules take milliseconds; a hit meanwhile counts in
   * the period that ends or in the next one.
   */
  *seal({ keysMax }: { readonly keysMax: number }): Generator<undefined, Summary> {
    const { shared } = this;
    const rest = sealed(shared, undefined);
    const own = [...this.own];
    for (const owner of this.owners.values()) if (owner.counters === shared) owner.counters = undefined;
    shared.clear();
    yield;
    const parts: SealedPart[] = [];
    for (const owner of own) {
      const { counters } = owner;
      if (counters === undefined) continue;
      parts.push({ owner, keys: sealed(counters, owner) });
      owner.counters = undefined;
      this.own.delete(owner);
      counters.clear();
      if (this.spare.length < SPARE_MAX) this.spare.push(counters);
      yield;
    }
    this.period += 1;
    const of = (question: TopQuestion) => summaryOf(question, { parts, rest, keysMax });
    return { asked: of('asked'), denied: of('denied'), near: of('near'), candidate_denied: of('candidate_denied') };
  }

  /** Forgets rules without a hit in the last periods. */
  prune({ periods }: { readonly periods: number }): void {
    for (const [id, owner] of this.owners) if (owner.usedIn < this.period - periods) this.owners.delete(id);
  }

  /** Finds counters for the first hit of a rule in this period. */
  private open(seen: SeenKey): Counters {
    // A pruned owner may still be known to a rule.
    const current = this.owners.get(seen.owner.id);
    if (current === undefined) this.owners.set(seen.owner.id, seen.owner);
    else seen.owner = current;
    const { owner } = seen;
    owner.usedIn = this.period;
    if (owner.counters !== undefined) return owner.counters;
    if (!owner.isRule || this.own.size >= OWN_RULES_MAX) return (owner.counters = this.shared);
    this.own.add(owner);
    return (owner.counters = this.spare.pop() ?? new Counters(this.options.capacity));
  }
}

/** Requests that bring their limit choose the keys in an id, so a long one is its SHA-256. Other ids begin with a bracket. */
function shortId(id: string): string {
  return id.length <= ID_CHARS_MAX ? id : createHash('sha256').update(id).digest('hex');
}

/** The id of the rule keeps its keys apart from those of others. */
function sharedKey({ owner, key: own }: SeenKey): SeenKey {
  const key = `${owner.id}${own}`;
  return { owner, key, hash: hashOfKey(key), isCopy: false, ...NO_HINTS };
}

function countIn({ asked, denied, near, askedSeen, deniedSeen, nearSeen }: Counters, seen: SeenKey, decided: KeyHits): void {
  const { hits } = decided;
  const askedAt = countHits(asked, seen, { hint: seen.asked, hits });
  if (askedAt >= 0) {
    if (seen.isCopy) seen.asked = askedAt;
    askedSeen.note(askedAt, seen, decided);
  }
  if (decided.denies) {
    const deniedAt = countHits(denied, seen, { hint: seen.denied, hits });
    if (deniedAt < 0) return;
    if (seen.isCopy) seen.denied = deniedAt;
    deniedSeen.note(deniedAt, seen, decided);
  } else if (decided.share > 0) {
    const counted = near.count(seen.key, seen.near, decided);
    const nearAt = counted < 0 ? near.insert(ownKey(seen), decided) : counted;
    if (nearAt < 0) return;
    if (seen.isCopy) seen.near = nearAt;
    nearSeen.note(nearAt, seen, decided);
  }
}

/** Returns the counter, or -1: the key has none. */
function countHits(sketch: SpaceSaving, seen: SeenKey, { hint, hits }: { readonly hint: number; readonly hits: number }): number {
  const counter = sketch.count(seen, hint, hits);
  if (counter >= 0) return counter;
  return sketch.filter(seen, hits) ? sketch.enter({ key: ownKey(seen), hash: seen.hash }, hits) : counter;
}

function ownKey({ key, isCopy }: SeenKey): string {
  return isCopy ? key : copyOf(key);
}

export interface OwnerInput {
  readonly domain: ByteString;
  readonly path: readonly string[];
  readonly entries: readonly Entry[];
  /** Undefined: the request brings its limit. */
  readonly rule: Pick<Rule, 'shareThreshold'> | undefined;
}
