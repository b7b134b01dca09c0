/** Reports the metrics to statsd at each interval, off the path of requests. */

import { setImmediate as turn } from 'node:timers/promises';
import { asError } from '../../../lib/errors';
import { runInSlices, Pace, SHORT_SLICE_MS } from '../../../lib/slices';
import type { Mogrified } from './mogrifier';
import type { MetricReading } from '../metrics/metrics-snapshot';
import type { ThrottledLog } from '../log/throttled-log';
import type { StatsdConnection } from './statsd-connection';
import { StatsdDifferences, type StatsdLine } from './statsd-differences';
import type { TaggedLine } from './statsd-lines';
import { toStats } from './statsd-names';

/** Lines per send: bounds what waits for a server that reads nothing. */
export const LINES_AT_ONCE = 500;

/** Names between two checks of the clock. */
const STATS_AT_ONCE = 32;

export interface StatsdReporterOptions {
  readonly intervalMs: number;
  readonly read: () => Promise<readonly MetricReading[]>;
  readonly open: () => Promise<StatsdConnection>;
  /** Whether the connection stays open between flushes. */
  readonly keepsConnection: boolean;
  /** Maps a name to the final name and its tags. */
  readonly name: (name: string) => Mogrified;
  readonly onFlush: (result: 'success' | 'error') => void;
  /** The log of failed flushes. */
  readonly problems: Pick<ThrottledLog, 'log'>;
  /** The server's name in messages. */
  readonly where: string;
}

export class StatsdReporter {
  private readonly differences = new StatsdDifferences();
  private connection: StatsdConnection | undefined;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;

  constructor(private readonly options: StatsdReporterOptions) {}

  start(): void {
    this.timer = setInterval(() => void this.flush(), this.options.intervalMs).unref();
  }

  /** Reports the changes since the last flush. Never rejects. During a flush it returns that flush; the next one reports what is counted meanwhile. */
  flush(): Promise<void> {
    this.flushing ??= this.flushOnce().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  /** Flushes a last time, and closes the connection. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush();
    this.disconnect();
  }

  private async flushOnce(): Promise<void> {
    const { read, onFlush, problems, where } = this.options;
    try {
      // Computed before the send: after a failed flush the growth is lost, because reporting it later would show a rise that never happened.
      const lines: StatsdLine[] = [];
      const pace = new Pace(SHORT_SLICE_MS);
      for (const metric of await read()) {
        const stats = await runInSlices(toStats([metric]), pace);
        for (let from = 0; from < stats.length; from += STATS_AT_ONCE) {
          for (const line of this.differences.take(stats.slice(from, from + STATS_AT_ONCE))) lines.push(line);
          if (pace.isOver) await pace.nextSlice();
        }
      }
      await this.send(lines);
      onFlush('success');
    } catch (error) {
      this.disconnect();
      onFlush('error');
      const cause = asError(error).message;
      problems.log('statsd', `cannot send metrics to statsd at ${where} (${cause}): the counts of this interval are lost`);
    }
  }

  private async send(lines: readonly StatsdLine[]): Promise<void> {
    const connection = await this.connected();
    for (let from = 0; from < lines.length; from += LINES_AT_ONCE) {
      await connection.send(lines.slice(from, from + LINES_AT_ONCE).map((line) => this.named(line)));
      // Gives a UDP server time to read the datagrams.
      await turn();
    }
    if (!this.options.keepsConnection) this.disconnect();
  }

  private async connected(): Promise<StatsdConnection> {
    if (this.connection?.isOpen === true) return this.connection;
    this.disconnect();
    this.connection = await this.options.open();
    return this.connection;
  }

  private named({ kind, name, value }: StatsdLine): TaggedLine {
    return { kind, value, ...this.options.name(name) };
  }

  private disconnect(): void {
    this.connection?.close();
    this.connection = undefined;
  }
}
