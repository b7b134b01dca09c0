/** Reads one file's YAML text into config nodes, or reports why it can't. */

import { Composer, Lexer, LineCounter, Parser, type CST, type Document, type YAMLError } from 'yaml';
import type { ConfigNode } from './config-node';
import { FileProblems, type ProblemList } from './problem-list';
import { findBadCharacter, withLineFeeds } from './yaml-characters';
import { YamlConverter } from './yaml-converter';

/** Levels of lists and maps: more than descriptors may be nested, each a list and a map deep. */
export const YAML_DEPTH_MAX = 256;

export interface ConfigFile {
  /** As it can be opened; every problem starts with it. */
  readonly name: string;
  readonly text: string;
}

export interface ParsedFile {
  /** Absent: the text can't be read as YAML, and the problems are reported. */
  readonly root?: ConfigNode;
  readonly problems: FileProblems;
  readonly lines: LineCounter;
}

/** Never throws on any text. */
export function parseYamlText(file: ConfigFile, list: ProblemList): ParsedFile {
  const text = withLineFeeds(file.text);
  const lines = linesOf(text);
  const problems = new FileProblems(file.name, lines, list);
  const bad = findBadCharacter(text);
  if (bad !== undefined) {
    problems.report({ ...bad, path: '' });
    return { problems, lines };
  }
  let documents: Document.Parsed[];
  try {
    if (text.length > LONG_TEXT) refuseByBeginning(text);
    documents = parseDocuments(text);
  } catch (error) {
    if (error instanceof TooManyErrorsError) {
      for (const each of distinct(error.errors.slice(0, YAML_ERRORS_MAX))) problems.report({ offset: each.pos[0], path: '', message: explain(each) });
      problems.report({ offset: error.lastOffset, path: '', message: `not valid YAML in over ${YAML_ERRORS_MAX} places; what is below this one is not read` });
    } else if (error instanceof TooDeepError) {
      problems.report({ offset: error.offset, path: '', message: error.message });
    } else {
      throw error;
    }
    return { problems, lines };
  }
  const [document, second] = documents;
  const errors = distinct([...(document?.errors ?? []), ...(document?.warnings ?? [])]);
  for (const error of errors) problems.report({ offset: error.pos[0], path: '', message: explain(error) });
  if (second !== undefined) {
    problems.report({ offset: second.range[0], path: '', message: 'a second YAML document; put each into a file of its own' });
  }
  // A tree with syntax errors in it is a guess: reading it on would only add misleading problems.
  if (errors.length > 0) return { problems, lines };
  const root = new YamlConverter(text, problems).convertRoot(document?.contents ?? null);
  return root === undefined ? { problems, lines } : { root, problems, lines };
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  let start = 0;
  do {
    lines.addNewLine(start);
    start = text.indexOf('\n', start) + 1;
  } while (start > 0);
  return lines;
}

/** Found before the composer runs: it recurses for each level, and out of stack it can take the process with it. */
class TooDeepError extends Error {
  constructor(readonly offset: number) {
    super(`the YAML is nested more than ${YAML_DEPTH_MAX} deep`);
  }
}

/** From here on it takes seconds, and hundreds of megabytes, to find out what is wrong: most errors show only once all is read. */
const LONG_TEXT = 1024 * 1024;

/** What a file of the wrong kind shows itself in. */
const BEGINNING = 64 * 1024;

/** Throws TooManyErrorsError or TooDeepError if even what a text begins with is no YAML. */
function refuseByBeginning(text: string): void {
  try {
    parseDocuments(text.slice(0, BEGINNING));
  } catch (error) {
    // What goes on behind the end, such as a list, is wrong there only because it is cut off.
    if (!(error instanceof TooManyErrorsError) || error.lastOffset < BEGINNING) throw error;
  }
}

/** The documents of the text, at most two: one more than is allowed. Throws TooManyErrorsError or TooDeepError. */
function parseDocuments(text: string): Document.Parsed[] {
  // Failsafe: each scalar stays the text it is until the field that it stands in says what it must be.
  // Unique keys are checked by the converter, which names both lines.
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, uniqueKeys: false });
  const checkErrors = boundErrors(composer);
  const documents: Document.Parsed[] = [];
  for (const document of composer.compose(tokensOf(text, checkErrors), true, text.length)) {
    documents.push(document);
    if (documents.length > 1) break;
  }
  return documents;
}

/** More than anybody reads: a file of the wrong kind has one on every line, and they are found many times slower than none. */
export const YAML_ERRORS_MAX = 100;

/** In over YAML_ERRORS_MAX places. */
class TooManyErrorsError extends Error {
  readonly errors: readonly YAMLError[];

  constructor(errors: readonly YAMLError[]) {
    super();
    this.errors = [...errors].sort((one, other) => one.pos[0] - other.pos[0]);
  }

  get lastOffset(): number {
    return this.errors.at(-1)?.pos[0] ?? 0;
  }
}

/** What has been found wrong; directives that nobody knows are only warned of. */
interface Found {
  readonly errors: readonly YAMLError[];
  readonly warnings: readonly YAMLError[];
}

/** What the library does not show of its composer. */
interface ComposerParts extends Found {
  onError: (...error: readonly unknown[]) => void;
  /** A document that has ended: what does not belong behind it is its error. */
  readonly doc: Found | null;
}

/** The composer goes on whatever is wrong, and has no bound of its own: a few megabytes of the wrong kind took half a minute. The answer is to be called for each token. */
function boundErrors(composer: Composer): () => void {
  const parts = composer as unknown as ComposerParts;
  const { onError } = parts;
  const check = (): void => {
    const { doc, errors, warnings } = parts;
    const count = errors.length + warnings.length + (doc === null ? 0 : doc.errors.length + doc.warnings.length);
    if (count <= YAML_ERRORS_MAX) return;
    throw new TooManyErrorsError([...(doc?.errors ?? []), ...(doc?.warnings ?? []), ...errors, ...warnings]);
  };
  // The composer catches what is thrown here, and tells that, too: nothing is added to what is too much already.
  parts.onError = (...error) => {
    check();
    onError(...error);
  };
  return check;
}

/** Throws TooDeepError, and what `checkErrors` throws if what was read is wrong in too many places. */
function* tokensOf(text: string, checkErrors: () => void): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    checkErrors();
    // The stack holds the document, the open collections, and perhaps the scalar being read.
    if (parser.stack.length > YAML_DEPTH_MAX + 2) throw new TooDeepError(parser.offset);
  }
  yield* parser.end();
}

/** The parser tells one missing bracket once for every level that it closes. */
function distinct(errors: readonly YAMLError[]): YAMLError[] {
  return [...new Map(errors.map((error) => [`${error.pos[0]} ${error.message}`, error])).values()];
}

function explain({ code, message }: YAMLError): string {
  if (code === 'TAG_RESOLVE_FAILED') return `${message}; tags have no meaning here, so remove it`;
  return `not valid YAML: ${message}`;
}
