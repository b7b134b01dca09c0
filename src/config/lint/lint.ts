/** Looks at a configuration by every rule of warnings, a descriptor at a time. */

import { warnOfCost } from './cost-never-fits';
import type { DeclaredLevel } from './declared-level';
import { warnOfLongWindow } from './long-window-alone';
import { warnOfUnboundedMetric } from './unbounded-metric';
import { ReplacedNames } from './unknown-replaces';
import { warnOfUnreachable } from './unreachable-descriptor';

export interface LintOptions {
  /** The most hits that a request asks for; default 1. */
  readonly cost?: number;
  /** Told of every level, too. */
  readonly onLevel?: (level: DeclaredLevel) => void;
}

export class Lint {
  private readonly replacedNames = new ReplacedNames();

  constructor(private readonly options: LintOptions) {}

  /** With a rest after each descriptor. */
  *look(domain: string, level: DeclaredLevel): Generator<undefined, void> {
    const { cost = 1, onLevel } = this.options;
    for (const declared of level.declared) {
      warnOfUnreachable(declared, level);
      warnOfCost(declared, { cost });
      warnOfLongWindow(declared);
      warnOfUnboundedMetric(declared, level);
      this.replacedNames.add(domain, declared.spec);
      yield;
    }
    onLevel?.(level);
  }

  /** What is only known when all levels have been looked at. */
  finish(): void {
    this.replacedNames.warn();
  }
}
