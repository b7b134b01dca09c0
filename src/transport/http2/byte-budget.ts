/** Bytes that all connections together may hold of messages that have not come to their end. */

/** What a call is told that finds no room. */
export const TOO_MUCH_WAITS = 'too much is waiting for the end of its message';

/** Some sixteen of the largest messages; a decision's request comes in one piece and takes nothing from it. */
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
