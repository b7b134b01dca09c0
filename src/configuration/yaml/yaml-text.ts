/** Parses the YAML text of one file into a tape, or reports why it is invalid. */

import type * as AnyYaml from './any-yaml';
import type { DocumentTape } from './document-tape';
import { lineStartsOf } from '../problems/line-starts';
import { readPlainYaml, TooWideError } from './plain-yaml';
import { FileProblems, type ProblemList } from '../problems/problem-list';
import { TapeWriter } from './tape-writer';
import { findBadCharacter, withLineFeeds } from './yaml-characters';

export interface ConfigFile {
  /** The path as it can be opened; prefix of every problem. */
  readonly name: string;
  readonly text: string;
}

export interface ParsedFile {
  /** Absent: the text is invalid YAML, and the problems are reported. */
  readonly tape?: DocumentTape;
  readonly lineStarts: Int32Array;
}

/** Never throws, whatever the text. */
export function parseYamlText(file: ConfigFile, list: ProblemList): ParsedFile {
  const text = withLineFeeds(file.text);
  const lineStarts = lineStartsOf(text);
  const problems = new FileProblems(file.name, lineStarts, list);
  const bad = findBadCharacter(text);
  if (bad !== undefined) {
    problems.report({ ...bad, path: '' });
    return { lineStarts };
  }
  try {
    const writer = new TapeWriter();
    if (readPlainYaml(text, writer)) return { tape: writer.finish(), lineStarts };
    const tape = loadAnyYaml().parseAnyYaml(text, problems);
    return tape === undefined ? { lineStarts } : { tape, lineStarts };
  } catch (error) {
    if (!(error instanceof TooWideError)) throw error;
    problems.report({ offset: error.offset, path: '', message: error.message });
    return { lineStarts };
  }
}

/** Loads the library only on demand: it costs each thread 20 ms of processor time and 5 MB, and plain YAML does not need it. */
function loadAnyYaml(): typeof AnyYaml {
  // oxlint-disable-next-line typescript/no-require-imports -- an import() would make all that reads a text asynchronous
  return require('./any-yaml') as typeof AnyYaml;
}
