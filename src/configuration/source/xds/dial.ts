/** Watches a connection attempt for a bounded time. The caller starts it by making a call on the channel. */

import { connectivityState, type ChannelInterface } from '@grpc/grpc-js';

export interface DialOptions {
  readonly channel: ChannelInterface;
  readonly timeoutMs: number;
  readonly onDone: () => void;
  /** Called when the time is over. */
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

  /** Called before the channel is closed; no callback runs after it. */
  end(): void {
    this.isOver = true;
  }

  // Not grpc-js's waitForReady, which makes a closed channel connect again.
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
