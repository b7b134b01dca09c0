/** Collects the problems of a load, so that one run shows them all. */

import { ConfigError, formatProblems, type ConfigProblem, type ConfigWarning } from './config-error';
import { placeAt } from './line-starts';
import type { WarningRule } from './warning-rules';

/** A file of the wrong kind has a problem on every line: beyond this number Weir keeps the first of each file, and counts the rest. */
export const PROBLEMS_MAX = 1000;

/** Every start logs them. */
export const WARNINGS_MAX = 50;

/** The first problems and the first of each file, and the number of others. */
export interface FirstOf<T> {
  readonly kept: readonly T[];
  readonly omitted: number;
}

class FirstProblems<T extends ConfigProblem> implements FirstOf<T> {
  readonly kept: T[] = [];
  omitted = 0;
  private readonly files = new Set<string>();

  constructor(private readonly max: number) {}

  add(problem: T): void {
    if (this.kept.length >= this.max && this.files.has(problem.file)) {
      this.omitted += 1;
      return;
    }
    this.files.add(problem.file);
    this.kept.push(problem);
  }
}

export class ProblemList {
  private readonly problems: FirstProblems<ConfigProblem>;
  private readonly warnings: FirstProblems<ConfigWarning>;

  /** `max`: problems to keep, and warnings; default PROBLEMS_MAX. */
  constructor({ max = PROBLEMS_MAX }: { readonly max?: number | undefined } = {}) {
    this.problems = new FirstProblems(max);
    this.warnings = new FirstProblems(max);
  }

  add(problem: ConfigProblem): void {
    this.problems.add(problem);
  }

  addWarning(warning: ConfigWarning): void {
    this.warnings.add(warning);
  }

  /** Counts further problems without keeping them. */
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

  /** Lines for the log, in the form of problems; a last line counts the rest. */
  warningLines(): string[] {
    const { kept, omitted } = this.warnings;
    return formatProblems(kept.slice(0, WARNINGS_MAX), omitted + Math.max(0, kept.length - WARNINGS_MAX));
  }
}

/** A problem at an offset of a file. */
export interface FileProblem {
  readonly offset: number;
  readonly path: string;
  readonly message: string;
}

/** A place in a file. */
export interface PlacedInFile {
  readonly offset: number;
  readonly path: string;
  /** The problems of that file. */
  readonly problems: FileProblems;
}

/** Reports the problems of one file by their offsets. */
export class FileProblems {
  constructor(
    readonly file: string,
    /** Undefined for a document that never was text. */
    private readonly lineStarts: Int32Array | undefined,
    private readonly list: ProblemList,
  ) {}

  /** The same file, with a list of its own. */
  reportingTo(list: ProblemList): FileProblems {
    return new FileProblems(this.file, this.lineStarts, list);
  }

  report(problem: FileProblem): void {
    this.list.add(this.locate(problem));
  }

  /** Counts further problems without keeping them. */
  omit(count: number): void {
    this.list.omit(count);
  }

  /** Most warnings are about keys without effect, so that is the default rule. */
  warn({ rule = 'no-effect', ...warning }: FileProblem & { readonly rule?: WarningRule }): void {
    this.list.addWarning({ ...this.locate(warning), rule });
  }

  /** The line of an offset, from 1; 0 without lines. */
  lineAt(offset: number): number {
    return this.lineStarts === undefined ? 0 : placeAt(this.lineStarts, offset).line;
  }

  /** Describes a place, for a message about another place in this file or another. */
  placeOf({ offset, path, problems }: PlacedInFile): string {
    const line = problems.lineAt(offset);
    const place = line === 0 ? `at ${path}` : `on line ${line}`;
    return problems === this ? place : `${place} of ${problems.file}`;
  }

  private locate({ offset, path, message }: FileProblem): ConfigProblem {
    const { line, column } = this.lineStarts === undefined ? { line: 0, column: 0 } : placeAt(this.lineStarts, offset);
    return { file: this.file, line, column, path, message };
  }
}
