/** A bound of bytes that all connections share: of incomplete messages, and of answers that wait for a peer. */

/** The message for a call that exceeds the budget. */
export const TOO_MUCH_WAITS = 'too many bytes of incomplete messages are waiting; retry later';

/** About sixteen of the largest messages. Requests for decisions arrive in one piece and use none of it. */
export const UNFINISHED_BYTES_MAX = 64 * 1024 * 1024;

export class ByteBudget {
  private used = 0;

  constructor(private readonly max = UNFINISHED_BYTES_MAX) {}

  take(bytes: number): boolean {
    if (this.used + bytes > this.max) return false;
    this.used += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.used -= bytes;
  }
}
