/** Collects the problems of a load, so that one run shows them all. */

import type { LineCounter } from 'yaml';
import { ConfigError, formatProblems, type ConfigProblem, type ConfigWarning } from './config-error';
import type { WarningRule } from './warning-rules';

/** A file of the wrong kind has a problem on every line; nobody reads further than this. */
export const PROBLEMS_MAX = 1000;

/** They go into the log of every start. */
export const WARNINGS_MAX = 50;

/** The first so many, and how many more there were. */
export interface FirstOf<T> {
  readonly kept: readonly T[];
  readonly omitted: number;
}

class FirstProblems<T> implements FirstOf<T> {
  readonly kept: T[] = [];
  omitted = 0;

  add(problem: T): void {
    if (this.kept.length < PROBLEMS_MAX) this.kept.push(problem);
    else this.omitted += 1;
  }
}

export class ProblemList {
  private readonly problems = new FirstProblems<ConfigProblem>();
  private readonly warnings = new FirstProblems<ConfigWarning>();

  add(problem: ConfigProblem): void {
    this.problems.add(problem);
  }

  addWarning(warning: ConfigWarning): void {
    this.warnings.add(warning);
  }

  /** So many more are known of than are told. */
  omit(count: number): void {
    this.problems.omitted += count;
  }

  /** The problems so far. */
  found(): FirstOf<ConfigProblem> {
    return this.problems;
  }

  warned(): FirstOf<ConfigWarning> {
    return this.warnings;
  }

  throwIfAny(): void {
    const { kept, omitted } = this.problems;
    if (kept.length > 0) throw new ConfigError(kept, omitted);
  }

  /** For the log, in the form of the problems; the last line may be how many more there are. */
  warningLines(): string[] {
    const { kept, omitted } = this.warnings;
    return formatProblems(kept.slice(0, WARNINGS_MAX), omitted + Math.max(0, kept.length - WARNINGS_MAX));
  }
}

/** Where in a file, by offset, and what is to be said about it. */
export interface FileProblem {
  readonly offset: number;
  readonly path: string;
  readonly message: string;
}

/** What stands at a place in a file. */
export interface PlacedInFile {
  readonly offset: number;
  readonly path: string;
  /** Of the file. */
  readonly problems: FileProblems;
}

/** The problems of one file, told by offset. */
export class FileProblems {
  constructor(
    readonly file: string,
    /** Undefined: it never was text. */
    private readonly lines: LineCounter | undefined,
    private readonly list: ProblemList,
  ) {}

  report(problem: FileProblem): void {
    this.list.add(this.locate(problem));
  }

  /** Most of what is warned of is without effect: that is the rule unless another is named. */
  warn({ rule = 'no-effect', ...warning }: FileProblem & { readonly rule?: WarningRule }): void {
    this.list.addWarning({ ...this.locate(warning), rule });
  }

  /** The line, from 1, that an offset is on; 0 if there are none. */
  lineAt(offset: number): number {
    return this.lines?.linePos(offset).line ?? 0;
  }

  /** Where something stands, for a message about something else of this file or of another. */
  placeOf({ offset, path, problems }: PlacedInFile): string {
    const line = problems.lineAt(offset);
    const place = line === 0 ? `at ${path}` : `on line ${line}`;
    return problems === this ? place : `${place} of ${problems.file}`;
  }

  private locate({ offset, path, message }: FileProblem): ConfigProblem {
    const { line, col } = this.lines?.linePos(offset) ?? { line: 0, col: 0 };
    return { file: this.file, line, column: col, path, message };
  }
}
