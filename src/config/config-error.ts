/** What is wrong with a configuration, and where: the one error that loading it ends with. */

import type { WarningRule } from './warning-rules';

export interface ConfigProblem {
  /** The file as it can be opened, or the directory that was looked into. */
  readonly file: string;
  /** From 1; 0 if the problem is the file as a whole. */
  readonly line: number;
  /** From 1, in UTF-16 units; 0 with `line` 0. */
  readonly column: number;
  /** Where in the document, as `descriptors[0].rate_limit.unit`; `""` at its root. */
  readonly path: string;
  /** What is wrong and what to do about it. */
  readonly message: string;
}

/** What means nothing where it stands, or hardly what was meant: never a reason to refuse the configuration. */
export interface ConfigWarning extends ConfigProblem {
  readonly rule: WarningRule;
}

/** Every problem of the whole set of files; the message is one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  /** `omitted`: how many more problems there are than the list shows. */
  constructor(
    readonly problems: readonly ConfigProblem[],
    readonly omitted = 0,
  ) {
    super(formatProblems(problems, omitted).join('\n'));
  }
}

/** A line for each, and one for all that are omitted. */
export function formatProblems(problems: readonly ConfigProblem[], omitted: number): string[] {
  const lines = problems.map(formatProblem);
  if (omitted > 0) lines.push(`and ${omitted} more`);
  return lines;
}

function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return path === '' ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
}
