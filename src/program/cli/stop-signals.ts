/** Handles the signals that end a Weir process: the first one after the start requests a drain, any other ends the process at once. */

import { constants } from 'node:os';

const DRAINING = ['SIGTERM', 'SIGINT'] as const;

/** Signals that never drain. */
const AT_ONCE = ['SIGQUIT'] as const;

const HANG_UP = 'SIGHUP';

type StopSignal = (typeof DRAINING)[number] | (typeof AT_ONCE)[number] | typeof HANG_UP;

/** Shells report a process ended by a signal with this number plus the signal's. */
const EXIT_CODE_BASE = 128;

/** PID of the first process of a container. */
const FIRST_PID = 1;

export interface StopSignalsProcess {
  readonly pid: number;
  on(signal: StopSignal, listener: () => void): unknown;
  removeAllListeners(signal: StopSignal): unknown;
  kill(pid: number, signal: StopSignal): unknown;
  exit(code: number): unknown;
}

export class StopSignals {
  private drain: ((signal: string) => void) | undefined;
  private hangUp: (() => void) | undefined;

  constructor(private readonly self: StopSignalsProcess) {
    for (const signal of DRAINING) {
      self.on(signal, () => {
        const { drain } = this;
        this.drain = undefined;
        if (drain === undefined) this.endBy(signal);
        else drain(signal);
      });
    }
    for (const signal of AT_ONCE) {
      self.on(signal, () => {
        this.endBy(signal);
      });
    }
    self.on(HANG_UP, () => {
      if (this.hangUp === undefined) this.endBy(HANG_UP);
      else this.hangUp();
    });
  }

  /** Resolves with the next signal, which then does not end the process. */
  untilSignal(): Promise<string> {
    return new Promise((resolve) => {
      this.drain = resolve;
    });
  }

  /** From now on SIGHUP calls the listener and does not end the process. */
  onHangUp(listener: () => void): void {
    this.hangUp = listener;
  }

  /** Ends the process by the default action of the signal, so that its parent sees the signal. */
  private endBy(signal: StopSignal): void {
    // The kernel does not apply default actions of signals to PID 1.
    if (this.self.pid === FIRST_PID) {
      this.self.exit(EXIT_CODE_BASE + constants.signals[signal]);
      return;
    }
    this.self.removeAllListeners(signal);
    this.self.kill(this.self.pid, signal);
  }
}

/** The handlers of this process. They exist from the import of this file on, so that a signal during the other imports counts. */
export const stopSignals = new StopSignals(process);
