/** Spares calls their deadline while Weir does not answer: all fail at once, except one trial after another. */

import { Circuit } from '../../../state/resilience/circuit';

/** A pause of this process lets many calls fail together, which says nothing about Weir: failures count only over this time, in milliseconds. */
const FAILING_MS = 250;
const FAILURES_MIN = 8;

/** Time between trials, in milliseconds. */
const TRIAL_MS = 250;

export interface AbsenceCircuitOptions {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class AbsenceCircuit {
  private readonly circuit = new Circuit({ openMs: TRIAL_MS, onState: () => undefined });
  private failures = 0;
  private firstFailureMs = 0;

  constructor(private readonly options: AbsenceCircuitOptions) {}

  mayCall(): boolean {
    return this.circuit.isClosed || this.circuit.startTrial();
  }

  recordAnswer(): void {
    this.failures = 0;
    this.circuit.close();
  }

  recordFailure(): void {
    const nowMs = this.options.nowMs();
    if (this.failures === 0) this.firstFailureMs = nowMs;
    this.failures += 1;
    if (this.failures >= FAILURES_MIN && nowMs - this.firstFailureMs >= FAILING_MS) this.circuit.open();
  }

  /** The caller gave the call up. If it was the trial, another one follows. */
  recordAbort(): void {
    if (!this.circuit.isClosed) this.circuit.open();
  }

  /** Ends its timer. */
  close(): void {
    this.circuit.shutDown();
  }
}
