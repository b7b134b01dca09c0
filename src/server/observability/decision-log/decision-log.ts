/** The decision log: chooses the decisions that have a line, and gives the lines to the writer. */

import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import type { DecisionLine } from './decision-line';
import type { LineWriter } from './line-writer';

export interface DecisionLogOptions {
  /** The part of decisions that have a line. */
  readonly sample: number;
  readonly onlyDenied: boolean;
  readonly line: Pick<DecisionLine, 'of'>;
  readonly writer: Pick<LineWriter, 'add'>;
  /** A number from 0 to below 1. */
  readonly random: () => number;
}

export class DecisionLog {
  constructor(private readonly options: DecisionLogOptions) {}

  /** Called with every decision: one without a line costs a comparison or two. */
  record(decided: DecidedRequest): void {
    const { sample, onlyDenied, line, writer, random } = this.options;
    if (onlyDenied && decided.decision.overallCode === 'OK') return;
    if (sample < 1 && random() >= sample) return;
    writer.add(line.of(decided));
  }
}
