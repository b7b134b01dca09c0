/** A page of the exceptions in force: found, ordered and examined in slices, however many records there are. */

import { fieldOf, keyOf, type ControlRecord, type StoredRecord } from '../../../state/control/control-record';
import { FirstItems } from '../../../lib/first-items';
import { Pace } from '../../../lib/slices';
import type { AdminBackend } from '../backend';
import { effectOfStored, type EffectInput, type EffectState, type RecordEffect } from '../effect/record-effect';
import { EXCEPTION_KINDS, exceptionsIn, kindOf, type ExceptionKind } from './exception-kinds';

export interface ExceptionFilter {
  /** In any of the names, entries, plans and notes, whatever the case of its letters. */
  readonly text?: string;
  readonly kind?: ExceptionKind;
  readonly domain?: string;
  readonly author?: string;
  readonly state?: EffectState;
}

export const EXCEPTION_ORDERS = ['ends', 'newest'] as const;

export interface ExceptionQuery extends ExceptionFilter {
  /** `ends`: what ends first, and last what has no end. `newest`: what was written last. */
  readonly order: (typeof EXCEPTION_ORDERS)[number];
  /** Most items. */
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

export interface Exception {
  readonly kind: ExceptionKind;
  readonly stored: StoredRecord;
  readonly effect: RecordEffect;
}

export interface ExceptionPage {
  readonly items: readonly Exception[];
  /** Absent: this page is the last. A page may be short, or empty, before that. */
  readonly next?: string;
}

export const CURSOR = new RegExp(`^(?:-?\\d{1,16}|none)\\.(?:${EXCEPTION_KINDS.join('|')})\\.[^\\s]{1,2000}$`);

/** Most records whose effect is examined for one page: about a second where each of them takes long. */
export const EXAMINED_MAX = 1_000;

/** Looks at the clock once for this many records. */
const RECORDS_OF_A_LOOK = 64;

/** A place in the order. */
interface Place {
  /** Smaller: earlier. */
  readonly rank: number;
  readonly kind: ExceptionKind;
  readonly field: string;
}

interface Found extends Place {
  readonly stored: StoredRecord;
}

interface ListInput {
  readonly controlView: Pick<AdminBackend['controlView'], 'exceptions'>;
  readonly effectInput: EffectInput;
  /** Default: slices of a few milliseconds. */
  readonly pace?: Pick<Pace, 'isOver' | 'nextSlice'>;
}

export async function listExceptions(
  query: ExceptionQuery,
  { controlView, effectInput, pace = new Pace() }: ListInput,
): Promise<ExceptionPage> {
  const { state, limit, cursor } = query;
  const first = new FirstItems<Found>({ max: state === undefined ? limit : Math.max(limit, EXAMINED_MAX), compare });
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const accepts = recordFilter(query);
  let looked = 0;
  for (const stored of exceptionsIn(controlView, query.kind)) {
    looked += 1;
    if (looked % RECORDS_OF_A_LOOK === 0 && pace.isOver) await pace.nextSlice();
    if (!accepts(stored.record)) continue;
    const found = { ...placeOf(stored.record, query.order), stored };
    if (after === undefined || compare(found, after) > 0) first.add(found);
  }
  const { items: found, hasMore } = first.finish();
  const items: Exception[] = [];
  for (const [index, place] of found.entries()) {
    if (pace.isOver) await pace.nextSlice();
    const effect = effectOfStored(place.stored, effectInput);
    if (state === undefined || effect.state === state) items.push({ kind: place.kind, stored: place.stored, effect });
    if (items.length === limit && index < found.length - 1) return { items, next: cursorText(place) };
  }
  const last = found.at(-1);
  return { items, ...(hasMore && last !== undefined && { next: cursorText(last) }) };
}

function recordFilter({ text, domain, author }: ExceptionFilter): (record: ControlRecord) => boolean {
  const wanted = text?.toLowerCase();
  return (record) =>
    (domain === undefined || record.domain === domain) &&
    (author === undefined || record.author === author) &&
    (wanted === undefined || textOf(record).toLowerCase().includes(wanted));
}

/** Everything of the record that somebody may remember. */
function textOf(record: ControlRecord): string {
  const { domain, reason = '', author = '' } = record;
  const entries =
    'entries' in record ? record.entries.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`)).join(',') : '';
  const plan = record.kind === 'tenant' ? record.plan : '';
  return [domain, keyOf(record).name, entries, plan, reason, author].join('\n');
}

function placeOf(record: ControlRecord, order: ExceptionQuery['order']): Place {
  const { untilMs = Infinity, createdAtMs = -Infinity } = record;
  return { rank: Math.round(order === 'ends' ? untilMs : -createdAtMs), kind: kindOf(record), field: fieldOf(keyOf(record)) };
}

function compare(one: Place, other: Place): number {
  if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
  if (one.kind !== other.kind) return EXCEPTION_KINDS.indexOf(one.kind) - EXCEPTION_KINDS.indexOf(other.kind);
  if (one.field === other.field) return 0;
  return one.field < other.field ? -1 : 1;
}

function cursorText({ rank, kind, field }: Place): string {
  return `${Number.isFinite(rank) ? rank : 'none'}.${kind}.${field}`;
}

/** The reverse; the text matches `CURSOR`. */
function parseCursor(text: string): Place {
  const [rank = '', kind = '', ...field] = text.split('.');
  return {
    rank: rank === 'none' ? Infinity : Number(rank),
    kind: EXCEPTION_KINDS.find((each) => each === kind) ?? EXCEPTION_KINDS[0],
    field: field.join('.'),
  };
}
