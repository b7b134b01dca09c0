/** The texts of events: what is kept in an outbox, and the CloudEvent that is made of it. */

import { copyOf, toText } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import type { JsonObject } from '../../domain/rule/rule';
import type { SharedEntry } from '../../domain/rule/shared-entry';
import { EVENT_BYTES_MAX, type OutboxEvent } from './outbox';

/** Every kind of event. */
export const EVENT_TYPES = {
  threshold: 'weir.limit.threshold',
  block: 'weir.block.written',
  pass: 'weir.pass.written',
  penalty: 'weir.penalty.begun',
  rolloutStop: 'weir.rollout.stopped',
  degraded: 'weir.instance.degraded',
  recovered: 'weir.instance.recovered',
} as const;

export type EventType = (typeof EVENT_TYPES)[keyof typeof EVENT_TYPES];

/** Longer values are shortened: callers choose them, up to 64 KiB each. */
const VALUE_CHARS_MAX = 256;

/** Further entries of a descriptor are left out. */
const ENTRIES_MAX = 16;

export interface EventContent {
  readonly type: EventType;
  readonly subject: string;
  readonly atMs: number;
  readonly data: JsonObject;
}

/** How events show values of requests: as the decision log does. */
export interface EventPrivacy {
  /** The value of an entry, or its hash. */
  value(key: ByteString, value: ByteString): string;
  /** A level of the path of a rule, which may name the value of its entry. */
  level(level: string, entry: Entry | undefined): string;
  /** Identifies a bucket, and does not show its values if they are hashed. Printable ASCII without spaces. */
  digest(text: string): string;
  /** Whether some values are hashed. */
  readonly hashes: boolean;
}

/** Without its descriptor, if it is too long with it. */
export function eventText({ type, subject, atMs, data }: EventContent): string {
  const write = (shown: JsonObject): string =>
    JSON.stringify({ type, subject: subject.slice(0, VALUE_CHARS_MAX), time: new Date(atMs).toISOString(), data: shown });
  const text = write(data);
  if (Buffer.byteLength(text) <= EVENT_BYTES_MAX) return text;
  const { descriptor: _descriptor, entries: _entries, rule: _rule, reason: _reason, ...rest } = data;
  return write({ ...rest, shortened: true });
}

/** An entry whose value shares its bucket with others has none. */
export function shownEntries(
  entries: readonly Entry[],
  { privacy, shared = [] }: { readonly privacy: EventPrivacy; readonly shared?: readonly (SharedEntry | undefined)[] | undefined },
): readonly JsonObject[] {
  return entries.slice(0, ENTRIES_MAX).map(({ key, value }, i) => {
    const shownKey = shorten(toText(key));
    return shared[i] === undefined ? { key: shownKey, value: shorten(privacy.value(key, value)) } : { key: shownKey };
  });
}

/** A copy, because a slice of a message would keep all of it. */
export function shorten(text: string): string {
  return text.length <= VALUE_CHARS_MAX ? text : `${copyOf(text.slice(0, VALUE_CHARS_MAX - 1))}…`;
}

/** The event as a receiver gets it: CloudEvents 1.0 in JSON. */
export function cloudEvent({ id, text }: Pick<OutboxEvent, 'id' | 'text'>, source: string): string {
  const { type, subject, time, data } = JSON.parse(text) as Readonly<Record<'type' | 'subject' | 'time' | 'data', unknown>>;
  return JSON.stringify({ specversion: '1.0', id, source, type, subject, time, datacontenttype: 'application/json', data });
}
