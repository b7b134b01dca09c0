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
    if (!(error instanceof TooDeepError)) throw error;
    problems.report({ offset: error.offset, path: '', message: error.message });
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
  const documents: Document.Parsed[] = [];
  for (const document of composer.compose(tokensOf(text, lines), true, text.length)) {
    documents.push(document);
    if (documents.length > 1) break;
  }
  return documents;
}

/** Throws TooDeepError. */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
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
