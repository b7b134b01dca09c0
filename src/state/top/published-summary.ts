/** The published form of a window: JSON of a bounded length, which other instances read. */

import { UNIT_NAMES, type UnitName } from '../../domain/descriptor/unit';
import { cut, keysOfOwner, type KeyCount, type KeyOwner, type OwnerKeys, type QuestionSummary, type Summary } from './summary';
import { TOP_QUESTIONS, type TopLimit, type TopQuestion } from './top-keys';

/** Another form has another number, and is not read. */
const FORM = 2;

/** The longest text, in characters; all but a few are ASCII. */
export const PUBLISHED_CHARS_MAX = 65_536;

/** Keys, and rules, that are published for each question; less if the text would be too long. */
const PUBLISHED_KEYS = 256;

export interface Published {
  readonly summary: Summary;
  readonly coveredMs: number;
}

type WireKey = readonly [key: string, count: number, error: number, share: number, limit: number, remaining: number];
type WireOwner = readonly [domain: string, rule: string, isOwn: 0 | 1, total: number, unlisted: number, keys: readonly WireKey[]];
type WireLimit = readonly [name: string, requestsPerUnit: number, unit: number, unitMultiplier: number];

interface Wire {
  readonly form: number;
  readonly coveredMs: number;
  readonly limits: readonly WireLimit[];
  readonly questions: Readonly<Record<TopQuestion, { readonly rest: readonly [number, number]; readonly owners: readonly WireOwner[] }>>;
}

/** Thousandths, or -1 for an unknown share. */
const UNKNOWN = -1;

/** Leaves keys out until the text is short enough; its bounds say what may be missing. One key of one rule always fits. */
export function encodePublished(published: Published): string {
  let keysMax = PUBLISHED_KEYS;
  let text = encode(published, keysMax);
  while (text.length > PUBLISHED_CHARS_MAX && keysMax > 1) {
    keysMax /= 2;
    text = encode(published, keysMax);
  }
  return text;
}

function encode({ summary, coveredMs }: Published, keysMax: number): string {
  const limits = new Map<string, { readonly place: number; readonly limit: WireLimit }>();
  const placeOf = ({ name, requestsPerUnit, unit, unitMultiplier }: TopLimit): number => {
    const limit: WireLimit = [name, requestsPerUnit, UNIT_NAMES.indexOf(unit), unitMultiplier];
    const id = JSON.stringify(limit);
    const known = limits.get(id) ?? { place: limits.size, limit };
    limits.set(id, known);
    return known.place;
  };
  const questionOf = (question: TopQuestion) => {
    const { owners, rest } = summary[question];
    const sorted = Array.from(owners).sort(([, a], [, b]) => b.total - a.total || (b.keys[0]?.count ?? 0) - (a.keys[0]?.count ?? 0));
    let { total: restTotal, unlisted: restUnlisted } = rest;
    // A rule that is left out counts as one that shares counters.
    for (const [, { keys, total, unlisted }] of sorted.slice(keysMax)) {
      restTotal += total;
      for (const { share, count } of keys) restUnlisted = Math.max(restUnlisted, question === 'near' ? share : count);
      restUnlisted = Math.max(restUnlisted, unlisted);
    }
    const keysOfEach = Math.min(keysMax, keysOfOwner({ keysMax, owners: owners.size }));
    const shown = sorted.slice(0, keysMax).map(([owner, of]): WireOwner => {
      const { keys, unlisted } = cut(of.keys, { question, keysMax: keysOfEach, unlisted: of.unlisted });
      if (!of.isOwn) restUnlisted = Math.max(restUnlisted, unlisted);
      return [owner.domain, owner.rule, of.isOwn ? 1 : 0, of.total, unlisted, keys.map((key) => keyOf(owner, key))];
    });
    return { rest: [restTotal, restUnlisted] as const, owners: shown };
  };
  const keyOf = (owner: KeyOwner, { key, count, error, share, limit, remainingShare }: KeyCount): WireKey => [
    owner.entriesOf(key),
    count,
    error,
    share,
    limit === undefined ? UNKNOWN : placeOf(limit),
    remainingShare === undefined ? UNKNOWN : Math.floor(1_000 * remainingShare),
  ];
  const questions = {
    asked: questionOf('asked'),
    denied: questionOf('denied'),
    near: questionOf('near'),
    candidate_denied: questionOf('candidate_denied'),
  };
  const wire: Wire = { form: FORM, coveredMs: Math.round(coveredMs), questions, limits: Array.from(limits.values(), ({ limit }) => limit) };
  return JSON.stringify(wire);
}

/** Rules as text: the same object for each domain and rule, so that summaries of several instances merge. */
export class PublishedOwners {
  private readonly owners = new Map<string, KeyOwner>();

  of({ domain, rule }: Pick<KeyOwner, 'domain' | 'rule'>): KeyOwner {
    const id = JSON.stringify([domain, rule]);
    const owner = this.owners.get(id) ?? { domain, rule, entriesOf: (entries) => entries };
    this.owners.set(id, owner);
    return owner;
  }
}

/** The summary with texts as keys, as `decodePublished` returns it. */
export function inTexts(summary: Summary, texts: PublishedOwners): Summary {
  const of = (question: TopQuestion): QuestionSummary => {
    const { owners, rest } = summary[question];
    const read = new Map<KeyOwner, OwnerKeys>();
    for (const [owner, keys] of owners) {
      addOwner(read, texts.of(owner), { ...keys, keys: keys.keys.map((key) => ({ ...key, key: owner.entriesOf(key.key) })) });
    }
    return { owners: read, rest };
  };
  return { asked: of('asked'), denied: of('denied'), near: of('near'), candidate_denied: of('candidate_denied') };
}

/** Two rules of a domain have one path if the key of one has a star; they count as one. */
function addOwner(owners: Map<KeyOwner, OwnerKeys>, owner: KeyOwner, { isOwn, total, unlisted, keys }: OwnerKeys): void {
  const known = owners.get(owner);
  owners.set(owner, {
    isOwn: isOwn && known?.isOwn !== false,
    total: total + (known?.total ?? 0),
    unlisted: Math.max(unlisted, known?.unlisted ?? 0),
    keys: [...(known?.keys ?? []), ...keys],
  });
}

/** Undefined: the text is of another form, or damaged. */
export function decodePublished(text: string, owners: PublishedOwners): Published | undefined {
  if (text.length > PUBLISHED_CHARS_MAX) return undefined;
  try {
    const wire = JSON.parse(text) as Wire;
    if (wire.form !== FORM) return undefined;
    const limits = wire.limits.map(readLimit);
    const of = (question: TopQuestion) => readQuestion(wire.questions[question], { owners, limits });
    const summary = Object.fromEntries(TOP_QUESTIONS.map((question) => [question, of(question)])) as Record<TopQuestion, QuestionSummary>;
    return { summary, coveredMs: wholeOf(wire.coveredMs) };
  } catch {
    // Another program's text, or one that was cut.
    return undefined;
  }
}

function readQuestion(
  { rest, owners: shown }: Wire['questions'][TopQuestion],
  { owners, limits }: { readonly owners: PublishedOwners; readonly limits: readonly TopLimit[] },
): QuestionSummary {
  const read = new Map<KeyOwner, OwnerKeys>();
  for (const [domain, rule, isOwn, total, unlisted, keys] of shown) {
    const owner = owners.of({ domain: textOf(domain), rule: textOf(rule) });
    addOwner(read, owner, {
      isOwn: isOwn === 1,
      total: wholeOf(total),
      unlisted: wholeOf(unlisted),
      keys: keys.map((key) => readKey(key, limits)),
    });
  }
  return { owners: read, rest: { total: wholeOf(rest[0]), unlisted: wholeOf(rest[1]) } };
}

function readKey([key, count, error, share, limit, remaining]: WireKey, limits: readonly TopLimit[]): KeyCount {
  return {
    key: textOf(key),
    count: wholeOf(count),
    error: wholeOf(error),
    share: wholeOf(share),
    limit: limits[limit],
    remainingShare: remaining === UNKNOWN ? undefined : wholeOf(remaining) / 1_000,
  };
}

function readLimit([name, requestsPerUnit, unit, unitMultiplier]: WireLimit): TopLimit {
  return { name: textOf(name), requestsPerUnit: wholeOf(requestsPerUnit), unit: unitOf(unit), unitMultiplier: wholeOf(unitMultiplier) };
}

function unitOf(place: number): UnitName {
  const unit = UNIT_NAMES[place];
  if (unit === undefined) throw new Error('an unknown unit');
  return unit;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('not a text');
  return value;
}

function wholeOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new Error('not a whole number');
  return value;
}
