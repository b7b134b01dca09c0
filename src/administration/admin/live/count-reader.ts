/** Reads the counters of the deciding process, and knows the rules of their rows. */

import type { LiveCounts, CountsPort, RuleName } from './live-counts';

export class CountReader {
  /** By row. */
  readonly names: RuleName[] = [];
  private pending: Promise<LiveCounts> | undefined;

  constructor(private readonly port: CountsPort) {}

  /** Two callers at a time share one reading. Rejects if the process does not answer. */
  read(): Promise<LiveCounts> {
    this.pending ??= this.readOnce().finally(() => {
      this.pending = undefined;
    });
    return this.pending;
  }

  private async readOnce(): Promise<LiveCounts> {
    const counts = await this.port.counts({ fromRow: this.names.length });
    for (const name of counts.rules.added) this.names.push(name);
    return counts;
  }
}
