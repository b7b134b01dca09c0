/** Warns of keys and values that look like regular expressions: they are compared literally, except a `*`. */

import { joinPath, show } from '../../../lib/quote';
import type { Declared } from './declared-level';

/** Rarely found outside of regular expressions. */
const EXPRESSION = /^\^|[^\\][$]$|\.[*+]|\[[^\]]+\][*+?{]|\\[dwsbDWSB./]|\(\?[:=!]|\([^)]*\|[^)]*\)/;

/** Longer texts are skipped, because the search takes time quadratic in the length. */
const LENGTH_MAX = 256;

/** Literal characters of an expression, with `.*` or `.+` between them. */
const SIMPLE = /^(?:[^\\^$.|?*+()[\]{}]|\\[./-]|\.[*+])*$/;

export function warnOfExpression({ spec }: Declared): void {
  for (const [field, text] of [
    ['key', spec.key],
    ['value', spec.value],
  ] as const) {
    if (text.length > LENGTH_MAX || !EXPRESSION.test(text)) continue;
    const wildcard = asWildcard(text);
    const advice = wildcard === undefined ? 'list the values, or match the prefix or suffix that they share' : `write ${wildcard}`;
    const message = `${show(text)} looks like a regular expression, but is compared literally; only a * stands for other text (any, or none): ${advice}`;
    spec.problems.warn({ rule: 'regular-expression', offset: spec.offset, path: joinPath(spec.path, field), message });
  }
}

/** The wildcard that matches the same texts; undefined if none does. */
function asWildcard(expression: string): string | undefined {
  const [isFromStart, isToEnd] = [expression.startsWith('^'), /(?<!\\)\$$/.test(expression)];
  const body = expression.slice(isFromStart ? 1 : 0, isToEnd ? -1 : undefined);
  if (!SIMPLE.test(body)) return undefined;
  const text = `${isFromStart ? '' : '*'}${body.replaceAll(/\.[*+]/g, '*').replaceAll(/\\(.)/g, '$1')}${isToEnd ? '' : '*'}`;
  return show(text.replaceAll(/\*+/g, '*'));
}
