/** Collects the problems of a load, so that one run shows them all. */

import type { LineCounter } from 'yaml';
import { ConfigError, type ConfigProblem } from './config-error';

/** A file of the wrong kind has a problem on every line; nobody reads further than this. */
export const PROBLEMS_MAX = 1000;

export class ProblemList {
  private readonly kept: ConfigProblem[] = [];
  private omitted = 0;

  add(problem: ConfigProblem): void {
    if (this.kept.length < PROBLEMS_MAX) this.kept.push(problem);
    else this.omitted += 1;
  }

  throwIfAny(): void {
    if (this.kept.length > 0) throw new ConfigError(this.kept, this.omitted);
  }
}

/** The problems of one file, told by offset. */
export class FileProblems {
  constructor(
    readonly file: string,
    private readonly lines: LineCounter,
    private readonly list: ProblemList,
  ) {}

  report({ offset, path, message }: { offset: number; path: string; message: string }): void {
    const { line, col } = this.lines.linePos(offset);
    this.list.add({ file: this.file, line, column: col, path, message });
  }

  /** The line, from 1, that an offset is on. */
  lineAt(offset: number): number {
    return this.lines.linePos(offset).line;
  }
}
