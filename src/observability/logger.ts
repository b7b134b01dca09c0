/** The log: one line per event on standard error, for people or for machines. */

import pino, { type DestinationStream, type LoggerOptions } from 'pino';
import { prettyFactory } from 'pino-pretty';

/** The part of pino that the code may use. */
export type Logger = Pick<pino.Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

export type LogLevel = keyof Logger;

export interface LoggerConfig {
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  /** Number of the worker that logs, on each line; absent if there is one process only. */
  readonly worker?: number | undefined;
  /** Standard error if absent. Written to line by line, at once, so that nothing is lost at exit. */
  readonly destination?: { write(line: string): unknown };
}

const MESSAGE_KEY = '@message';
const TIMESTAMP_KEY = '@timestamp';

export function createLogger({ level, format, worker, destination = process.stderr }: LoggerConfig): Logger {
  const options: LoggerOptions = {
    level,
    // The process and the host are the log collector's to add.
    base: worker === undefined ? null : { worker },
    messageKey: MESSAGE_KEY,
    timestamp: () => `,"${TIMESTAMP_KEY}":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(options, format === 'json' ? { write: (line) => destination.write(line) } : prettyStream(destination));
}

function prettyStream(destination: { write(line: string): unknown }): DestinationStream {
  const isTerminal = 'isTTY' in destination && destination.isTTY === true;
  // In this process, not in a worker: a line is out when the call returns.
  const prettify = prettyFactory({
    colorize: isTerminal,
    singleLine: true,
    messageKey: MESSAGE_KEY,
    timestampKey: TIMESTAMP_KEY,
    translateTime: 'UTC:yyyy-mm-dd"T"HH:MM:ss.l"Z"',
  });
  return { write: (line) => destination.write(prettify(line)) };
}
