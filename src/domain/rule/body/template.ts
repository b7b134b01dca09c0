/** A text with placeholders, split when the configuration loads, so that filling it in is joining its pieces. */

import { toByteString } from '../../descriptor/byte-string';
import { didYouMean } from '../../../lib/text/did-you-mean';
import { show } from '../../../lib/quote';
import { isPlaceholderName, PLACEHOLDER_NAMES, saysWait, type Placeholder } from './placeholders';

export interface Template {
  /** Fixed texts and placeholders, in their order. */
  readonly pieces: readonly (string | Placeholder)[];
  /** The text is this placeholder and nothing else. */
  readonly only?: Placeholder;
  /** It says how long to wait, which has no value if no wait helps. */
  readonly saysWait: boolean;
}

/** Why a text cannot be a template, and what to do. */
export interface TemplateProblem {
  readonly problem: string;
}

/** `{{`, `}}`, a placeholder, a brace alone, or text without braces. */
const TOKEN = /\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g;

const ENTRY = 'entry.';

export function parseTemplate(text: string): Template | TemplateProblem {
  const pieces: (string | Placeholder)[] = [];
  for (const [token, name] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '}') return { problem: `has a single ${token}; write ${token}${token} to show one` };
    const piece = name === undefined ? plainText(token) : placeholderOf(name);
    if (typeof piece === 'object' && 'problem' in piece) return piece;
    const last = pieces.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') pieces[pieces.length - 1] = last + piece;
    else pieces.push(piece);
  }
  const [first] = pieces;
  const only = pieces.length === 1 && typeof first === 'object' ? first : undefined;
  const waits = pieces.some((piece) => typeof piece === 'object' && saysWait(piece));
  return { pieces, saysWait: waits, ...(only && { only }) };
}

export function isTemplateProblem(parsed: Template | TemplateProblem): parsed is TemplateProblem {
  return 'problem' in parsed;
}

function plainText(token: string): string {
  return token === '{{' || token === '}}' ? token.slice(1) : token;
}

function placeholderOf(name: string): Placeholder | TemplateProblem {
  if (isPlaceholderName(name)) return { name };
  if (name.startsWith(ENTRY) && name.length > ENTRY.length) return { name: 'entry', key: toByteString(name.slice(ENTRY.length)) };
  const meant = didYouMean(name, PLACEHOLDER_NAMES);
  const guess = meant === undefined ? '' : `did you mean {${meant}}? `;
  const all = [...PLACEHOLDER_NAMES, `${ENTRY}KEY`].map((each) => `{${each}}`).join(', ');
  return { problem: `has the unknown placeholder ${show(`{${name}}`)}; ${guess}use ${all}, or write {{ and }} for braces` };
}
