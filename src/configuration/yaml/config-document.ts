/** A document of a configuration: its text, or the tape that was made of it here or elsewhere. */

import type { ConfigProblem } from '../problems/config-error';
import type { ConfigNode } from './config-node';
import { rootOf, type DocumentTape } from './document-tape';
import { FileProblems, ProblemList } from '../problems/problem-list';
import { parseYamlText, type ConfigFile } from './yaml-text';

export type ConfigDocument = ConfigFile | ReadDocument;

/** Plain data, so that it can come from another thread or process, or be built without text. */
export interface ReadDocument {
  /** Prefix of every problem. */
  readonly name: string;
  /** Absent: the document is invalid, and the problems say why. */
  readonly tape?: DocumentTape;
  /** The offsets of line starts in its text. Absent: it never was text, and its problems have a path but no line. */
  readonly lineStarts?: Int32Array;
  /** Problems found so far; default: none. */
  readonly problems?: readonly ConfigProblem[];
  /** Number of further problems. */
  readonly omitted?: number;
}

export interface OpenDocument {
  readonly root?: ConfigNode;
  readonly problems: FileProblems;
}

/** Never throws, whatever the text. `max`: see ProblemList. */
export function readDocument(file: ConfigFile, { max }: { readonly max?: number | undefined } = {}): ReadDocument {
  const list = new ProblemList({ max });
  const { tape, lineStarts } = parseYamlText(file, list);
  const { kept: problems, omitted } = list.found();
  return { name: file.name, lineStarts, problems, omitted, ...(tape && { tape }) };
}

/** Reads the document unless that is done already; its problems go to the list. */
export function openDocument(
  document: ConfigDocument,
  { list, max }: { readonly list: ProblemList; readonly max?: number | undefined },
): OpenDocument {
  const { name, tape, lineStarts, problems = [], omitted = 0 } = 'text' in document ? readDocument(document, { max }) : document;
  for (const problem of problems) list.add(problem);
  list.omit(omitted);
  const found = { problems: new FileProblems(name, lineStarts, list) };
  return tape === undefined ? found : { root: rootOf(tape), ...found };
}
