/** A document of a configuration: text still to be read, or what has been read of it, here or elsewhere. */

import { LineCounter } from 'yaml';
import type { ConfigProblem } from './config-error';
import type { ConfigNode } from './config-node';
import { FileProblems, ProblemList } from './problem-list';
import { parseYamlText, type ConfigFile, type ParsedFile } from './yaml-text';

export type ConfigDocument = ConfigFile | ReadDocument;

/** Plain data, so that it can come from another thread or process, or from what never was text. */
export interface ReadDocument {
  /** Every problem starts with it. */
  readonly name: string;
  /** Absent: it makes no sense, and the problems say why. */
  readonly root?: ConfigNode;
  /** The offsets in its text at which lines begin. Absent: it never was text, and its problems have a path but no line. */
  readonly lineStarts?: readonly number[];
  /** What is wrong with it already; default: nothing. */
  readonly problems?: readonly ConfigProblem[];
  /** How many more there are. */
  readonly omitted?: number;
}

/** Never throws on any text. */
export function readDocument(file: ConfigFile): ReadDocument {
  const list = new ProblemList();
  const { root, lines } = parseYamlText(file, list);
  const { kept: problems, omitted } = list.found();
  return { name: file.name, lineStarts: lines.lineStarts, problems, omitted, ...(root && { root }) };
}

/** What has been read, or is read now; what is wrong with it goes to the list. */
export function openDocument(document: ConfigDocument, list: ProblemList): Pick<ParsedFile, 'root' | 'problems'> {
  if ('text' in document) return parseYamlText(document, list);
  const { name, root, lineStarts, problems = [], omitted = 0 } = document;
  for (const problem of problems) list.add(problem);
  list.omit(omitted);
  const found = { problems: new FileProblems(name, lineStarts && linesFrom(lineStarts), list) };
  return root === undefined ? found : { root, ...found };
}

function linesFrom(lineStarts: readonly number[]): LineCounter {
  const lines = new LineCounter();
  lines.lineStarts = [...lineStarts];
  return lines;
}
