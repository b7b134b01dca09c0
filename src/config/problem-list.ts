/** Collects the problems of a load, so that one run shows them all. */

import type { LineCounter } from 'yaml';
import { ConfigError, formatProblems, type ConfigProblem } from './config-error';

/** A file of the wrong kind has a problem on every line; nobody reads further than this. */
export const PROBLEMS_MAX = 1000;

/** They go into the log of every start. */
export const WARNINGS_MAX = 50;

/** The first so many, and how many more there were. */
class FirstProblems {
  readonly kept: ConfigProblem[] = [];
  omitted = 0;

  constructor(private readonly max: number) {}

  add(problem: ConfigProblem): void {
    if (this.kept.length < this.max) this.kept.push(problem);
    else this.omitted += 1;
  }
}

export class ProblemList {
  private readonly problems = new FirstProblems(PROBLEMS_MAX);
  private readonly warnings = new FirstProblems(WARNINGS_MAX);

  add(problem: ConfigProblem): void {
    this.problems.add(problem);
  }

  /** What means nothing where it stands: never a reason to refuse the configuration. */
  addWarning(warning: ConfigProblem): void {
    this.warnings.add(warning);
  }

  /** So many more are known of than are told. */
  omit(count: number): void {
    this.problems.omitted += count;
  }

  /** The problems so far. */
  found(): { readonly kept: readonly ConfigProblem[]; readonly omitted: number } {
    return this.problems;
  }

  throwIfAny(): void {
    const { kept, omitted } = this.problems;
    if (kept.length > 0) throw new ConfigError(kept, omitted);
  }

  /** In the form of the problems; the last line may be how many more there are. */
  warningLines(): string[] {
    return formatProblems(this.warnings.kept, this.warnings.omitted);
  }
}

/** Where in a file, by offset, and what is to be said about it. */
export interface FileProblem {
  readonly offset: number;
  readonly path: string;
  readonly message: string;
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

  warn(warning: FileProblem): void {
    this.list.addWarning(this.locate(warning));
  }

  /** The line, from 1, that an offset is on; 0 if there are none. */
  lineAt(offset: number): number {
    return this.lines?.linePos(offset).line ?? 0;
  }

  private locate({ offset, path, message }: FileProblem): ConfigProblem {
    const { line, col } = this.lines?.linePos(offset) ?? { line: 0, col: 0 };
    return { file: this.file, line, column: col, path, message };
  }
}
