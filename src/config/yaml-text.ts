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
  const lines = new LineCounter();
  const problems = new FileProblems(file.name, lines, list);
  const text = withLineFeeds(file.text);
  const bad = findBadCharacter(text);
  if (bad !== undefined) {
    lines.lineStarts = lineStartsOf(text);
    problems.report({ ...bad, path: '' });
    return { problems, lines };
  }
  let documents: Document.Parsed[];
  try {
    documents = parseDocuments(text, lines);
  } catch (error) {
    if (error instanceof TooManyErrorsError) {
      for (const each of distinct(error.errors.slice(0, YAML_ERRORS_MAX))) problems.report({ offset: each.pos[0], path: '', message: explain(each) });
      const offset = error.errors[YAML_ERRORS_MAX]?.pos[0] ?? 0;
      problems.report({ offset, path: '', message: `not valid YAML in over ${YAML_ERRORS_MAX} places; what is below this one is not read` });
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

/** What the lexer would find. */
function lineStartsOf(text: string): number[] {
  return [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
}

/** Found before the composer runs: it recurses for each level, and out of stack it can take the process with it. */
class TooDeepError extends Error {
  constructor(readonly offset: number) {
    super(`the YAML is nested more than ${YAML_DEPTH_MAX} deep`);
  }
}

/** The documents of the text, at most two: one more than is allowed. */
function parseDocuments(text: string, lines: LineCounter): Document.Parsed[] {
  // Failsafe: each scalar stays the text it is until the field that it stands in says what it must be.
  // Unique keys are checked by the converter, which names both lines.
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, uniqueKeys: false });
  const checkErrors = boundErrors(composer);
  const documents: Document.Parsed[] = [];
  for (const document of composer.compose(tokensOf(text, { lines, checkErrors }), true, text.length)) {
    documents.push(document);
    if (documents.length > 1) break;
  }
  return documents;
}

/** More than anybody reads: a file of the wrong kind has one on every line, and they are found many times slower than none. */
export const YAML_ERRORS_MAX = 100;

/** Throws TooManyErrorsError. */
class TooManyErrorsError extends Error {
  constructor(readonly errors: readonly YAMLError[]) {
    super();
  }
}

/** What the library does not show of its composer. */
interface ComposerParts {
  onError: (...error: readonly unknown[]) => void;
  readonly errors: readonly YAMLError[];
}

/** The composer goes on whatever is wrong, and has no bound of its own: a few megabytes of the wrong kind took half a minute. The answer is to be called for each token. */
function boundErrors(composer: Composer): () => void {
  const parts = composer as unknown as ComposerParts;
  const { onError } = parts;
  const check = (): void => {
    if (parts.errors.length > YAML_ERRORS_MAX) throw new TooManyErrorsError(parts.errors);
  };
  parts.onError = (...error) => {
    onError(...error);
    check();
  };
  return check;
}

interface TokensOptions {
  /** Told where each line begins. */
  readonly lines: LineCounter;
  /** Throws if what was read is wrong in too many places. */
  readonly checkErrors: () => void;
}

/** Throws TooDeepError. */
function* tokensOf(text: string, { lines, checkErrors }: TokensOptions): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
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
