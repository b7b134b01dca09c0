/** The state of a circuit breaker: closed; open for a fixed time; then half open, until the trial call ends. */

/** `gone`: the store is closed, and no call passes any more. */
export type CircuitState = 'closed' | 'open' | 'half_open' | 'gone';

export interface CircuitOptions {
  /** Time until an open circuit becomes half open, in milliseconds. */
  readonly openMs: number;
  /** Called after each change. */
  readonly onState: (state: CircuitState) => void;
}

/**
 * A timer ends the open state, because health and metrics must show that without a call. While half open, one call
 * may pass as a trial, after which the breaker closes or opens the circuit.
 */
export class Circuit {
  private state: CircuitState = 'closed';
  private mayPass = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: CircuitOptions) {}

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  get isHalfOpen(): boolean {
    return this.state === 'half_open';
  }

  /** Whether this call may pass as the trial; true once in each half-open state. */
  startTrial(): boolean {
    const { mayPass } = this;
    this.mayPass = false;
    return mayPass;
  }

  open(): void {
    if (this.state === 'open') return;
    this.change('open');
    this.timer = setTimeout(() => {
      this.change('half_open');
    }, this.options.openMs);
    this.timer.unref();
  }

  close(): void {
    if (this.state !== 'closed') this.change('closed');
  }

  /** Ends it for good. */
  shutDown(): void {
    this.change('gone');
  }

  private change(state: CircuitState): void {
    if (this.state === 'gone') return;
    clearTimeout(this.timer);
    this.state = state;
    this.mayPass = state === 'half_open';
    this.options.onState(state);
  }
}
