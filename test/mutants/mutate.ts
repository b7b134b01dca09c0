/** The mutants of a Lua file: each is the file with one small thing wrong. */

import type { LuaPart } from './lua-parts';
import { tokenize, type Token } from './lua-tokens';

export interface Mutant {
  /** Names it as long as the line it is on stays as it is: file, function, line, change. */
  readonly id: string;
  readonly part: LuaPart;
  readonly line: number;
  readonly change: string;
  /** The whole file, changed. */
  readonly text: string;
}

/** Text to be put in place of what stands from `from` to `to`. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
  readonly change: string;
}

/** What each operator and keyword becomes: the boundary moved, then the test turned around. */
const SWAPS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '==': ['~='],
  '~=': ['=='],
  and: ['or'],
  or: ['and'],
  not: [''],
  true: ['false'],
  false: ['true'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  max: ['min'],
  min: ['max'],
  ceil: ['floor'],
  floor: ['ceil'],
};

/** Strings that mean something to Redis or to Lua: a pattern's anchors, the order of bytes, the unit of a TTL. */
const STRING_SWAPS: readonly (readonly [RegExp, string])[] = [
  [/^'\^/, "'"],
  [/\$'$/, "'"],
  [/^'>/, "'<"],
  [/^'PX'$/, "'EX'"],
];

/** Functions whose answer is yes or no, in one `return`; what a whole file returns is behind them. */
const PREDICATE = /(?:is_unused|is_ahead)$/;

export function mutantsOf(part: LuaPart): readonly Mutant[] {
  const tokens = tokenize(part.text);
  const edits = [
    ...tokens.flatMap((token, i) => tokenEdits(token, { before: tokens[i - 1], after: tokens[i + 1] })),
    ...conditionEdits(tokens),
    ...statementEdits(part, tokens),
    ...ttlEdits(part),
  ].sort((a, b) => a.from - b.from);
  const lines = part.text.split('\n');
  const times = new Map<string, number>();
  return edits.map(({ from, to, by, change }) => {
    const line = part.text.slice(0, from).split('\n').length;
    const text = part.text.slice(0, from) + by + part.text.slice(to);
    const place = `${part.file} ${scopeOf(lines, line)}: ${lines[line - 1]!.trim()} | ${change}`;
    // The same change at several places of one line: numbered from the left.
    const time = (times.get(place) ?? 0) + 1;
    times.set(place, time);
    return { id: time === 1 ? place : `${place} #${time}`, part, line, change, text };
  });
}

function tokenEdits(token: Token, { before, after }: Neighbours): readonly Edit[] {
  const { kind, text, at } = token;
  const edit = (by: string): Edit => ({ from: at, to: at + text.length, by, change: `${text} -> ${by === '' ? 'nothing' : by}` });
  if (kind === 'number') return [edit(String(Number(text) + 1)), edit(text === '0' ? '(-1)' : String(Number(text) - 1))];
  if (kind === 'string') {
    return STRING_SWAPS.filter(([pattern]) => pattern.test(text)).map(([pattern, by]) => edit(text.replace(pattern, by)));
  }
  if (kind === 'name' && before?.text !== '.' && after?.text !== '(') return [];
  if (text === '-' && !endsOperand(before)) return [edit('')];
  // How a text of digits becomes a number: less 0 it is that number too.
  if (text === '+' && after?.text === '0') return [];
  return (SWAPS[text] ?? []).map(edit);
}

interface Neighbours {
  readonly before: Token | undefined;
  readonly after: Token | undefined;
}

/** Whether a minus behind this token takes two operands. */
function endsOperand(token: Token | undefined): boolean {
  if (token === undefined || token.kind === 'keyword') return false;
  return token.kind !== 'operator' || [')', ']', '}'].includes(token.text);
}

/** Conditions turned around: those without a comparison, which is turned around itself, and the answers of predicates. */
function conditionEdits(tokens: readonly Token[]): readonly Edit[] {
  const edits: Edit[] = [];
  let scope = '';
  for (const [i, token] of tokens.entries()) {
    if (token.text === 'function' && tokens[i + 1]?.kind === 'name') scope = tokens[i + 3]?.text ?? '';
    const until = { if: 'then', elseif: 'then', while: 'do', return: 'end' }[token.text];
    if (until === undefined || (token.text === 'return' && (!PREDICATE.test(scope) || i + 2 === tokens.length))) continue;
    const end = tokens.findIndex((other, j) => j > i && other.text === until);
    const inside = tokens.slice(i + 1, end);
    const isCompared = inside.some(({ text }) => ['<', '<=', '>', '>=', '==', '~=', 'not'].includes(text));
    if (isCompared && token.text !== 'return') continue;
    const [from, last] = [inside[0]!.at, inside.at(-1)!];
    edits.push({ ...wrapped({ from, to: last.at + last.text.length, tokens: inside }), change: `${token.text}: turned around` });
  }
  return edits;
}

function wrapped({ from, to, tokens }: { readonly from: number; readonly to: number; readonly tokens: readonly Token[] }) {
  return { from, to, by: `not (${tokens.map(({ text }) => (text === '.' ? text : ` ${text} `)).join('')})` };
}

/** Statements left out: assignments to what is there already, and calls. Each stands on a line of its own. */
function statementEdits({ text }: LuaPart, tokens: readonly Token[]): readonly Edit[] {
  const edits: Edit[] = [];
  let depth = 0;
  for (const token of tokens) {
    const isFirst = /(^|\n)[ ]*$/.test(text.slice(0, token.at));
    if (isFirst && depth === 0 && token.kind === 'name') {
      const end = text.indexOf('\n', token.at);
      edits.push({ from: token.at, to: end, by: '', change: 'statement dropped' });
    }
    if (['{', '('].includes(token.text)) depth += 1;
    if (['}', ')'].includes(token.text)) depth -= 1;
  }
  return edits;
}

/** What could be wrong with a TTL: too short by half, without its margin, or not there. By file. */
const TTL_EDITS: Readonly<Record<string, readonly { readonly piece: string; readonly by: string; readonly change: string }[]>> = {
  'include/buckets.lua': [
    { piece: ') / 1000)', by: ') / 2000)', change: 'TTL halved' },
    { piece: ' + EXPIRY_MARGIN_US', by: '', change: 'TTL without its margin' },
    { piece: ", 'PX', ttl_ms(bucket.expires_after_us)", by: '', change: 'no TTL' },
  ],
  'include/write-each.lua': [
    { piece: ') / 1000', by: ') / 2000', change: 'TTL halved' },
    { piece: ' + EXPIRY_MARGIN_US', by: '', change: 'TTL without its margin' },
    { piece: ", 'PX', ttl_ms", by: '', change: 'no TTL' },
  ],
};

function ttlEdits({ file, text }: LuaPart): readonly Edit[] {
  return (TTL_EDITS[file] ?? []).map(({ piece, by, change }) => {
    const from = text.indexOf(piece);
    if (from < 0) throw new Error(`${file} no longer holds "${piece}": say anew how its TTL is to be mutated`);
    return { from, to: from + piece.length, by, change };
  });
}

/** The function that a line is in; the house style begins and ends each in the first column. */
function scopeOf(lines: readonly string[], line: number): string {
  for (let i = line - 1; i >= 0; i -= 1) {
    const name = /^(?:local )?function (?:\w+\.)?(\w+)/.exec(lines[i]!)?.[1];
    if (name !== undefined) return name;
    if (i < line - 1 && lines[i] === 'end') break;
  }
  return 'main';
}
