/** Cuts Lua 5.1 into tokens, so that a mutation never touches a comment and touches a string only on purpose. */

export type TokenKind = 'keyword' | 'name' | 'number' | 'string' | 'operator';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Offset into the text. */
  readonly at: number;
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(' '),
);

const TOKEN =
  /(?<skipped>\s+|--\[\[[^]*?\]\]|--[^\n]*)|(?<string>'[^'\n]*'|"[^"\n]*")|(?<number>\d+(?:\.\d+)?)|(?<word>[A-Za-z_]\w*)|(?<operator>\.\.\.?|[=~<>]=|[-+*/%^#<>=(){}[\];:,.])/y;

/**
 * @throws Error at text that is none of these: an escape in a string, or Lua that the project does not write
 */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) throw new Error(`no Lua token at "${text.slice(at, at + 20)}"`);
    const { skipped, string, number, word } = match.groups!;
    if (skipped !== undefined) continue;
    tokens.push({ kind: kindOf({ string, number, word }), text: match[0], at });
  }
  return tokens;
}

function kindOf({ string, number, word }: Readonly<Record<'string' | 'number' | 'word', string | undefined>>): TokenKind {
  if (string !== undefined) return 'string';
  if (number !== undefined) return 'number';
  if (word === undefined) return 'operator';
  return KEYWORDS.has(word) ? 'keyword' : 'name';
}
