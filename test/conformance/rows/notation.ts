/** A short way to write requests and answers, for tables that people read. */

import type { DecidedRequest, AnsweredStatus, Asked, AskedDescriptor, AskedEntry, Unit } from '../model/asked';

const DESCRIPTOR = /^(\S*)((?: (?:x\d+|peek|back\d+|@\d+\/[a-z]+))*)$/;

/**
 * `a=1,b=2 x3 + c=4 peek`: descriptors between plus signs, entries between commas; `x3` three hits, `peek` none, `back2` two given
 * back, `@5/hour` a limit that is sent along. `()` has no entries, `domain> …` asks another domain than `d`, `3* …` three hits each.
 */
export function toAsked(text: string): Asked {
  const [, domain = 'd', hits, rest = ''] = /^(?:([^ ]*)> ?)?(?:(\d+)\* ?)?(.*)$/s.exec(text) ?? [];
  const descriptors = rest === '' ? [] : rest.split(' + ').map(toDescriptor);
  return { domain, descriptors, ...(hits !== undefined && { hits: Number(hits) }) };
}

function toDescriptor(text: string): AskedDescriptor {
  const parts = DESCRIPTOR.exec(text);
  if (parts === null) throw new Error(`${text} is no descriptor`);
  const [, entries = '', options = ''] = parts;
  const made = options.trim().split(' ').map(toOption);
  return { entries: entries === '()' ? [] : entries.split(',').map(toEntry), ...made.reduce((all, one) => ({ ...all, ...one }), {}) };
}

function toEntry(text: string): AskedEntry {
  const at = text.indexOf('=');
  return at < 0 ? { key: text, value: '' } : { key: text.slice(0, at), value: text.slice(at + 1) };
}

function toOption(text: string): Omit<AskedDescriptor, 'entries'> {
  if (text === '') return {};
  if (text === 'peek') return { hits: 0n };
  if (text.startsWith('x')) return { hits: BigInt(text.slice(1)) };
  if (text.startsWith('back')) return { hits: BigInt(text.slice(4)), isRefund: true };
  const [requestsPerUnit, unit] = text.slice(1).split('/');
  return { limit: { requestsPerUnit: Number(requestsPerUnit), unit: unit as Unit } };
}

/** `OK: 5/hour left 4 & none`; over: `OVER_LIMIT: over 5/hour left 0`. */
export function answeredText(answered: DecidedRequest): string {
  if ('error' in answered) return answered.message === undefined ? answered.error : `${answered.error}: ${answered.message}`;
  return `${answered.overallCode}: ${answered.statuses.map(statusText).join(' & ')}`;
}

function statusText({ code, limit, remaining }: AnsweredStatus): string {
  if (limit === undefined) return remaining === 0 ? 'none' : `unlimited ${remaining}`;
  return `${code === 'OK' ? '' : 'over '}${limit} left ${remaining}`;
}

/** Seconds until each descriptor's reset; none: `-`. */
export function resetsText(answered: DecidedRequest): string {
  return 'error' in answered ? '' : answered.statuses.map(({ resetSeconds }) => resetSeconds ?? '-').join(' & ');
}
