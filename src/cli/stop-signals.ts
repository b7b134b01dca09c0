/** The signals that end a process of Weir: the first one once it serves asks for a drain, any other ends it at once. */

import { constants } from 'node:os';

const DRAINING = ['SIGTERM', 'SIGINT'] as const;

/** Never a drain. */
const AT_ONCE = ['SIGQUIT'] as const;

const HANG_UP = 'SIGHUP';

type StopSignal = (typeof DRAINING)[number] | (typeof AT_ONCE)[number] | typeof HANG_UP;

/** As shells tell that a signal has ended a process. */
const EXIT_CODE_BASE = 128;

/** The first process of a container. */
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

  /** Resolves with the first signal that comes from now on, which then does not end the process. */
  untilTold(): Promise<string> {
    return new Promise((resolve) => {
      this.drain = resolve;
    });
  }

  /** From now on a hang-up ends nothing. */
  onHangUp(listener: () => void): void {
    this.hangUp = listener;
  }

  /** As if nobody had listened, which whoever has started the process can tell. */
  private endBy(signal: StopSignal): void {
    // The kernel keeps from the first process of a container what a signal does by itself: there it would do nothing.
    if (this.self.pid === FIRST_PID) {
      this.self.exit(EXIT_CODE_BASE + constants.signals[signal]);
      return;
    }
    this.self.removeAllListeners(signal);
    this.self.kill(this.self.pid, signal);
  }
}

/** Of this process, from when this file is loaded: what comes while the others are is heard as soon as they are. */
export const stopSignals = new StopSignals(process);
