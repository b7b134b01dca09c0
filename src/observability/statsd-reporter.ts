/** Tells statsd what the metrics say, again and again, and nothing on the path of a request. */

import { setImmediate as turn } from 'node:timers/promises';
import { asError } from '../errors';
import type { Mogrified } from './mogrifier';
import type { MetricReading } from './reading';
import type { Seldom } from './seldom';
import type { StatsdConnection, TaggedLine } from './statsd-connection';
import { StatsdDifferences, type StatsdLine } from './statsd-differences';
import { toStats } from './statsd-names';

/** Lines that wait for one another: what is held for a server that takes nothing. */
export const LINES_AT_ONCE = 500;

export interface StatsdReporterOptions {
  readonly intervalMs: number;
  readonly read: () => Promise<readonly MetricReading[]>;
  readonly open: () => Promise<StatsdConnection>;
  /** A connection that stays open between flushes. */
  readonly keepsConnection: boolean;
  /** What becomes of a name, and which tags it has. */
  readonly name: (name: string) => Mogrified;
  readonly onFlush: (result: 'success' | 'error') => void;
  /** Told of what fails. */
  readonly problems: Pick<Seldom, 'say'>;
  /** The server, for people. */
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

  /** Never rejects. While a flush goes on, it is that one: what has been counted meanwhile is told by the next. */
  flush(): Promise<void> {
    this.flushing ??= this.flushOnce().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  /** Tells the last, and ends. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush();
    this.disconnect();
  }

  private async flushOnce(): Promise<void> {
    const { read, onFlush, problems, where } = this.options;
    try {
      // Taken first: what a flush can't tell is lost, since told an hour later it would be a rise that never was.
      const lines: StatsdLine[] = [];
      for (const metric of await read()) {
        for (const line of this.differences.take(toStats([metric]))) lines.push(line);
        // Requests first, however many rules there are.
        await turn();
      }
      await this.send(lines);
      onFlush('success');
    } catch (error) {
      this.disconnect();
      onFlush('error');
      const cause = asError(error).message;
      problems.say('statsd', `statsd at ${where} takes nothing (${cause}): what is counted meanwhile is not told there`);
    }
  }

  private async send(lines: readonly StatsdLine[]): Promise<void> {
    const connection = await this.connected();
    for (let from = 0; from < lines.length; from += LINES_AT_ONCE) {
      await connection.send(lines.slice(from, from + LINES_AT_ONCE).map((line) => this.named(line)));
      // A server that is given datagrams reads them meanwhile.
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
