/** Makes one path of its many spellings, as servers read them: another spelling must not get around a limit. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';

/** Paths that are normal already: almost all. */
const NORMAL = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,=:@-]+)+$/;

/** `http://host`, before the path of a whole URL. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i;

const ESCAPE = /%([0-9a-f]{2})/gi;

/** Stands for a `%` that begins no escape: no byte is this character. */
const LONE = '\uE000';

const LONE_PERCENT = /%(?![0-9a-f]{2})/gi;

/** A text decoded after it would make it an escape. */
const LONE_BEFORE_DIGITS = /\uE000(?=[0-9a-f]{2})/gi;

/** These stay escaped: decoded, they would separate something, begin another escape, or be invisible. */
const STAYS_ESCAPED = /[\0-\x1f\x7f/\\%;?#]/;

/**
 * The path of a request target, without query and fragment. Escapes are decoded once, `\` counts as `/`, parameters of segments (`;…`),
 * empty segments and a `/` at the end are removed, `.` and `..` are resolved. Undefined: the target has no path.
 */
export function normalPath(target: ByteString): ByteString | undefined {
  if (NORMAL.test(target)) return target;
  const [raw = ''] = target.replace(ORIGIN, '').split(/[?#]/, 1);
  const slashed = raw.replaceAll('\\', '/');
  if (!slashed.startsWith('/')) return raw === '' && ORIGIN.test(target) ? '/' : undefined;
  const segments: string[] = [];
  for (const segment of slashed.split('/')) {
    const end = segment.indexOf(';');
    const name = decoded(end === -1 ? segment : segment.slice(0, end));
    if (name === '..') segments.pop();
    else if (name !== '' && name !== '.') segments.push(name);
  }
  return `/${segments.join('/')}`;
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  const characters = segment.replace(LONE_PERCENT, LONE).replace(ESCAPE, (escape, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return STAYS_ESCAPED.test(character) ? escape.toUpperCase() : character;
  });
  return characters.replace(LONE_BEFORE_DIGITS, '%25').replaceAll(LONE, '%');
}
