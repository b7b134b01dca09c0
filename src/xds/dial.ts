/** Watches a connection come about, for a bounded time. Whoever makes a call on the channel has it connect. */

import { connectivityState, type ChannelInterface } from '@grpc/grpc-js';

export interface DialOptions {
  readonly channel: ChannelInterface;
  readonly timeoutMs: number;
  readonly onDone: () => void;
  /** The time is over. */
  readonly onGivenUp: () => void;
}

export class Dial {
  isDone = false;
  isGivenUp = false;
  private isOver = false;
  private readonly deadline: number;

  constructor(private readonly options: DialOptions) {
    this.deadline = Date.now() + options.timeoutMs;
    this.look();
  }

  /** Before the channel is closed: nothing is told from now on. */
  end(): void {
    this.isOver = true;
  }

  // Not grpc-js's waitForReady, which has a channel that is closed connect again.
  private look(error?: Error): void {
    if (this.isOver) return;
    const { channel, onDone, onGivenUp } = this.options;
    const state = channel.getConnectivityState(false);
    if (state === connectivityState.READY) {
      this.isDone = true;
      onDone();
    } else if (error !== undefined) {
      this.isGivenUp = true;
      onGivenUp();
    } else {
      channel.watchConnectivityState(state, this.deadline, (late) => {
        this.look(late);
      });
    }
  }
}
