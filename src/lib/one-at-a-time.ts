/** Runs shared work once for several concurrent callers. */

/**
 * Runs one piece of work at a time. Calls during a run share the next run, which begins after them, so each
 * gets a result that is not older than its call.
 */
export class OneAtATime<T> {
  private running: Promise<unknown> | undefined;
  private next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  run(): Promise<T> {
    if (this.next !== undefined) return this.next;
    if (this.running === undefined) return this.begin();
    this.next = this.running.then(() => {
      this.next = undefined;
      return this.begin();
    });
    return this.next;
  }

  private begin(): Promise<T> {
    const result = this.work();
    const running = result
      .catch(() => undefined)
      .then(() => {
        if (this.running === running) this.running = undefined;
      });
    this.running = running;
    return result;
  }
}
