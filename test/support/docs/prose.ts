/** The prose of a file: the sentences of Markdown, or of the comments and strings of code, with their lines. */

import { readFileSync } from 'node:fs';
import ts from 'typescript';

/** A stretch of text without a break: a paragraph, an item of a list, a cell of a table, a comment. */
export interface Passage {
  readonly file: string;
  /** Its lines, the first of them with this number. */
  readonly line: number;
  readonly lines: readonly string[];
}

export interface Sentence {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Stands for code in a sentence: it counts as one word and matches no pattern. */
const CODE = 'CODE';

/** A tag of JSDoc, with its type and the name that it describes. */
const JSDOC_TAG = /^@(?:param|property|typedef)\s*(?:\{.*\})?\s*\[?\w+\]?\s*|^@\w+\s*(?:\{.*\})?\s*/;

/** A string with fewer words is not prose. */
const STRING_WORDS_MIN = 4;

/** The strings of a JavaScript or TypeScript file that are prose, with CODE for what a template inserts. */
export function stringPassages(file: string): Passage[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const passages: Passage[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text !== undefined && text.trim().split(/\s+/).length >= STRING_WORDS_MIN)
      passages.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1, lines: text.trim().split('\n') });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return passages;
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(CODE);
  return undefined;
}

/** The passages of a file, by its extension. */
export function passagesOf(file: string): Passage[] {
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('.md')) return markdownPassages(file, text);
  if (file.endsWith('.lua')) return commentPassages(file, text, /^\s*--+(?!\[|-? ?@)\s?(.*)$/);
  return commentPassages(file, text, /^\s*(?:\/\*\*|\*(?!\/)|\/\/)\s?(.*?)(?:\*\/)?\s*$/);
}

/** The sentences of a passage. Code and the targets of links are left out. */
export function sentencesOf({ file, line, lines }: Passage): Sentence[] {
  const sentences: Sentence[] = [];
  let text = '';
  let begins = line;
  const end = () => {
    if (text.trim() !== '') sentences.push({ file, line: begins, text: text.trim() });
    text = '';
  };
  for (const [index, each] of lines.entries()) {
    for (const piece of plain(each).split(/(?<=[.!?:]['")*]*)\s+/)) {
      if (text === '') begins = line + index;
      text += `${text === '' ? '' : ' '}${piece}`;
      if (/[.!?:]['")*]*$/.test(piece)) end();
    }
  }
  end();
  return sentences;
}

function plain(line: string): string {
  return line
    .replaceAll(/`[^`]*`/g, CODE)
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*/g, '');
}

function markdownPassages(file: string, text: string): Passage[] {
  const passages: Passage[] = [];
  let open: { line: number; lines: string[] } | undefined;
  let skipped: RegExp | undefined;
  const close = () => {
    if (open !== undefined) passages.push({ file, ...open });
    open = undefined;
  };
  for (const [index, line] of text.split('\n').entries()) {
    const number = index + 1;
    if (skipped !== undefined) {
      if (skipped.test(line)) skipped = undefined;
      continue;
    }
    const isCode = open === undefined && /^ {4}|^\t/.test(line);
    if (/^\s*```/.test(line)) {
      close();
      skipped = /^\s*```\s*$/;
    } else if (line.startsWith('<!-- begin')) {
      // Written by a run; its words are those of the program that writes it.
      close();
      skipped = /^<!-- end/;
    } else if (line.trim() === '' || isCode) {
      close();
    } else if (line.startsWith('|')) {
      close();
      for (const cell of line.replaceAll(/`[^`]*`/g, CODE).split('|'))
        if (/\w/.test(cell)) passages.push({ file, line: number, lines: [cell.trim()] });
    } else if (/^\s*(?:[-*]|\d+\.) |^#/.test(line)) {
      close();
      open = { line: number, lines: [line.replace(/^\s*(?:[-*]|\d+\.|#+) /, '')] };
      if (line.startsWith('#')) close();
    } else {
      open ??= { line: number, lines: [] };
      open.lines.push(line.trim());
    }
  }
  close();
  return passages;
}

function commentPassages(file: string, text: string, comment: RegExp): Passage[] {
  const passages: Passage[] = [];
  let open: { line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const [, comments = ''] = comment.exec(line) ?? [];
    const isTag = comments.startsWith('@');
    const said = isTag ? comments.replace(JSDOC_TAG, '') : comments;
    if (isTag && open !== undefined) {
      passages.push({ file, ...open });
      open = undefined;
    }
    if (said.trim() === '') {
      if (open !== undefined) passages.push({ file, ...open });
      open = undefined;
    } else {
      open ??= { line: index + 1, lines: [] };
      open.lines.push(said.trim());
    }
  }
  if (open !== undefined) passages.push({ file, ...open });
  return passages;
}
