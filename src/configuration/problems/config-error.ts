/** The error of a rejected configuration: every problem with its place. */

import type { WarningRule } from './warning-rules';

export interface ConfigProblem {
  /** The file's path as it can be opened, or the directory that was searched. */
  readonly file: string;
  /** From 1; 0 if the problem concerns the whole file. */
  readonly line: number;
  /** From 1, in UTF-16 units; 0 with `line` 0. */
  readonly column: number;
  /** Path within the document, such as `descriptors[0].rate_limit.unit`; `""` at its root. */
  readonly path: string;
  /** Says what is wrong and what to do about it. */
  readonly message: string;
}

/** A key without effect, or a probable mistake: never a reason to reject the configuration. */
export interface ConfigWarning extends ConfigProblem {
  readonly rule: WarningRule;
}

/** Every problem of the whole set of files; the message has one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  /** `omitted`: the number of problems beyond the list. */
  constructor(
    readonly problems: readonly ConfigProblem[],
    readonly omitted = 0,
  ) {
    super(formatProblems(problems, omitted).join('\n'));
  }
}

/** A line for each problem, and one for all that are omitted. */
export function formatProblems(problems: readonly ConfigProblem[], omitted: number): string[] {
  const lines = problems.map(formatProblem);
  if (omitted > 0) lines.push(`and ${omitted} more`);
  return lines;
}

/** Most problems of one load in the log; `weir check` shows the rest. */
export const LISTED_PROBLEMS_MAX = 20;

/** `7 problems in 2 files`. */
export function countProblems({ problems, omitted }: ConfigError): string {
  const count = problems.length + omitted;
  const files = new Set(problems.map(({ file }) => file)).size;
  return `${count} ${count === 1 ? 'problem' : 'problems'} in ${files} ${files === 1 ? 'file' : 'files'}`;
}

/** A log line about one problem, or, without one, about all that are left. */
export interface ProblemLine {
  readonly sentence: string;
  readonly problem?: ConfigProblem;
}

/** At most `LISTED_PROBLEMS_MAX` problems, the first of each file before any second one; a last line counts the rest. */
export function listProblems({ problems, omitted }: ConfigError): readonly ProblemLine[] {
  const files = new Set<string>();
  const isFirst = problems.map(({ file }) => {
    const isNew = !files.has(file);
    files.add(file);
    return isNew;
  });
  const inOrder = [...problems.filter((_, index) => isFirst[index]), ...problems.filter((_, index) => isFirst[index] !== true)];
  const left = problems.length + omitted - LISTED_PROBLEMS_MAX;
  const lines = inOrder.slice(0, LISTED_PROBLEMS_MAX).map((problem) => ({ sentence: formatProblem(problem), problem }));
  return left > 0 ? [...lines, { sentence: `and ${left} more; weir check shows them` }] : lines;
}

function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return path === '' ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
}
