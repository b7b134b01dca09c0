/** Parses any YAML with the library, within bounds, or reports why it is invalid. */

import { Lexer, Parser, type CST, type Document, type YAMLError } from 'yaml';
import { composeBounded, TooManyErrorsError, YAML_ERRORS_MAX } from './bounded-composer';
import type { DocumentTape } from './document-tape';
import { describeErrors } from './plain-words';
import { FIELDS_MAX, TooWideError } from './plain-yaml';
import type { FileProblems } from '../problems/problem-list';
import { tapeOf } from './tape-writer';
import { YamlConverter } from './yaml-converter';

/** Levels of lists and maps: more than nested descriptors need, which take a list and a map each. */
export const YAML_DEPTH_MAX = 256;

/**
 * Undefined: the text is invalid YAML, and the problems are reported.
 *
 * @throws TooWideError
 */
export function parseAnyYaml(text: string, problems: FileProblems): DocumentTape | undefined {
  let documents: Document.Parsed[];
  try {
    if (text.length > LONG_TEXT) refuseByBeginning(text);
    documents = parseDocuments(text);
  } catch (error) {
    if (error instanceof TooManyErrorsError) {
      report(error.errors.slice(0, YAML_ERRORS_MAX), problems);
      problems.report({
        offset: error.lastOffset,
        path: '',
        message: `not valid YAML in over ${YAML_ERRORS_MAX} places; the rest of the file is not read`,
      });
    } else if (error instanceof TooDeepError) {
      problems.report({ offset: error.offset, path: '', message: error.message });
    } else {
      throw error;
    }
    return undefined;
  }
  const [document, second] = documents;
  const errors = [...(document?.errors ?? []), ...(document?.warnings ?? [])];
  report(errors, problems);
  if (second !== undefined) {
    problems.report({ offset: second.range[0], path: '', message: 'a second YAML document; put each into a file of its own' });
  }
  // A tree with syntax errors is a guess: reading it would only add misleading problems.
  if (errors.length > 0) return undefined;
  const root = new YamlConverter(text, problems).convertRoot(document?.contents ?? null);
  return root && tapeOf(root);
}

/** Thrown before the composer runs, which recurses for each level: a stack overflow there can end the process. */
class TooDeepError extends Error {
  constructor(readonly offset: number) {
    super(`the YAML is nested more than ${YAML_DEPTH_MAX} deep`);
  }
}

/** From this length on, parsing an invalid text takes seconds and hundreds of megabytes, because most errors appear only at the end. */
const LONG_TEXT = 1024 * 1024;

/** A file of the wrong kind is recognizable within this length. */
const BEGINNING = 64 * 1024;

/** Throws TooManyErrorsError or TooDeepError if even the beginning of a text is not YAML. */
function refuseByBeginning(text: string): void {
  try {
    parseDocuments(text.slice(0, BEGINNING));
  } catch (error) {
    // Errors at the very end, such as an open list, only come from the cut.
    if (!(error instanceof TooManyErrorsError) || error.lastOffset < BEGINNING) throw error;
  }
}

/** Items of a map in the parser: its fields, and most of its errors. */
const MAP_ITEMS_MAX = 8 * FIELDS_MAX;

/** The documents of the text: at most two, one more than is allowed. Throws TooManyErrorsError, TooDeepError or TooWideError. */
function parseDocuments(text: string): Document.Parsed[] {
  const documents: Document.Parsed[] = [];
  for (const document of composeBounded(tokensOf(text), text.length)) {
    documents.push(document);
    if (documents.length > 1) break;
  }
  return documents;
}

/** Throws TooDeepError or TooWideError. */
function* tokensOf(text: string): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    // The stack holds the document, the open collections, and possibly the scalar being read.
    if (parser.stack.length > YAML_DEPTH_MAX + 2) throw new TooDeepError(parser.offset);
    const open = parser.stack.at(-1);
    const isMap = open?.type === 'block-map' || (open?.type === 'flow-collection' && open.start.source === '{');
    if (isMap && open.items.length > MAP_ITEMS_MAX) throw new TooWideError(open.offset);
  }
  yield* parser.end();
}

/** The parser reports one missing bracket once for every level that it closes. */
function distinct(errors: readonly YAMLError[]): YAMLError[] {
  return [...new Map(errors.map((error) => [`${error.pos[0]} ${error.message}`, error])).values()];
}

function report(errors: readonly YAMLError[], problems: FileProblems): void {
  const described = describeErrors(distinct(errors), (offset) => problems.lineAt(offset));
  for (const { offset, message } of described) problems.report({ offset, path: '', message });
}
