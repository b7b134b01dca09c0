/** Events of control data: blocks and passes that were written, penalties that began, rollouts that a guard took back. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { JsonObject } from '../../domain/rule/rule';
import { US_PER_MS } from '../../lib/time-units';
import { fieldOf, isPenalty, keyOf, OVERRIDE_ROLLOUT, type ControlRecord, type EntrySelector } from '../control/control-record';
import type { LoggedChange } from '../control/control-store';
import { GUARD_AUTHOR } from '../rollout/stopped-rollout';
import { EVENT_TYPES, eventText, shorten, type EventPrivacy, type EventType } from './event-text';
import type { Mark } from './outbox';

/** Every process sees every change, and a process that starts may see old ones: later than this they are none, in milliseconds. */
const LATE_MS = 600_000;

export interface ControlMarkOptions {
  readonly privacy: EventPrivacy;
  /** In milliseconds since 1970. */
  readonly nowMs: number;
}

/** The mark of a change; undefined: the change is too old, or has no event. The version is the time of its write in microseconds. */
export function controlMark({ version, record }: LoggedChange, { privacy, nowMs }: ControlMarkOptions): Mark | undefined {
  const type = record && typeOf(record);
  if (record === undefined || type === undefined) return undefined;
  const atMs = Math.floor(version / US_PER_MS);
  // The store decides. Twice the time, because its clock may differ from this one.
  if (nowMs > atMs + 2 * LATE_MS) return undefined;
  const key = keyOf(record);
  const name = `${privacy.digest(`${record.kind} ${fieldOf(key)}`)}.${version}`;
  const data = dataOf(record, privacy);
  return {
    key: name,
    id: `control.${name}`,
    text: eventText({ type, subject: `${shorten(key.domain)}/${shorten(key.name)}`, atMs, data }),
    lateAfterMs: atMs + LATE_MS,
  };
}

function typeOf(record: ControlRecord): EventType | undefined {
  if (record.kind === 'block') return isPenalty(keyOf(record)) ? EVENT_TYPES.penalty : EVENT_TYPES.block;
  if (record.kind === 'pass') return EVENT_TYPES.pass;
  const rollout = record.kind === 'rollout' ? record : record.kind === 'override' ? record.rollout : undefined;
  return rollout?.stopped === true && record.author === GUARD_AUTHOR ? EVENT_TYPES.rolloutStop : undefined;
}

function dataOf(record: ControlRecord, privacy: EventPrivacy): JsonObject {
  const { domain, untilMs, reason, author } = record;
  // The reason of a penalty names the path of its rule, which may have values.
  const showsReason = reason !== undefined && !(privacy.hashes && isPenalty(keyOf(record)));
  return {
    domain: shorten(domain),
    ...(record.kind === 'rollout' ? { rule: shorten(record.rule) } : {}),
    ...(record.kind === 'override' ? { rule: shorten(`${OVERRIDE_ROLLOUT}${record.id}`) } : {}),
    ...(record.kind === 'block' || record.kind === 'pass' ? { id: record.id } : {}),
    ...('entries' in record && { entries: record.entries.map((entry) => shownSelector(entry, privacy)) }),
    ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
    ...(showsReason && { reason }),
    ...(author !== undefined && { author }),
  };
}

function shownSelector({ key, value }: EntrySelector, privacy: EventPrivacy): JsonObject {
  const shownKey = shorten(key);
  return value === undefined ? { key: shownKey } : { key: shownKey, value: shorten(privacy.value(toByteString(key), toByteString(value))) };
}
