/** The log: one line per event on standard error, for people or for programs. */

import pino, { type DestinationStream, type LoggerOptions } from 'pino';
import type PinoPretty from 'pino-pretty';

/** The methods of pino that the code may use. */
export type Logger = Pick<pino.Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

export type LogLevel = keyof Logger;

export interface LoggerConfig {
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  /** Number of the worker, on each line; absent without workers. */
  readonly worker?: number | undefined;
  /** Default: standard error, written synchronously line by line, so that an exit loses nothing. */
  readonly destination?: { write(line: string): unknown };
}

const MESSAGE_KEY = '@message';
const TIMESTAMP_KEY = '@timestamp';

export function createLogger({ level, format, worker, destination = process.stderr }: LoggerConfig): Logger {
  const options: LoggerOptions = {
    level,
    // The log collector adds the process and the host.
    base: worker === undefined ? null : { worker },
    messageKey: MESSAGE_KEY,
    timestamp: () => `,"${TIMESTAMP_KEY}":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(options, format === 'json' ? { write: (line) => destination.write(line) } : prettyStream(destination));
}

function prettyStream(destination: { write(line: string): unknown }): DestinationStream {
  const isTerminal = 'isTTY' in destination && destination.isTTY === true;
  // Loaded on demand: its 40 modules take 15 ms of CPU, and lines of JSON do without it.
  // oxlint-disable-next-line typescript/no-require-imports -- an import() would make all that opens a log asynchronous
  const { prettyFactory } = require('pino-pretty') as typeof PinoPretty;
  // Formats in this process, not in a worker thread, so that a line is written when the call returns.
  const prettify = prettyFactory({
    colorize: isTerminal,
    singleLine: true,
    // The sentence has the values of the fields; the fields are for programs.
    include: `level,${TIMESTAMP_KEY},${MESSAGE_KEY},worker,err`,
    messageKey: MESSAGE_KEY,
    timestampKey: TIMESTAMP_KEY,
    translateTime: 'UTC:yyyy-mm-dd"T"HH:MM:ss.l"Z"',
  });
  return { write: (line) => destination.write(oneLine(prettify(withoutControls(line)))) };
}

/** Control characters as JSON writes them, and those that it writes as they are; not line breaks and tabs. */
const CONTROLS = /\\u00[01][0-9a-f]|[\u007f-\u009f]/g;

/** A sentence may contain text of others, which must not move the cursor of a terminal. */
function withoutControls(line: string): string {
  return line.replace(CONTROLS, '\ufffd');
}

/** An event is one line, also one with an error and its stack. */
function oneLine(text: string): string {
  return `${text
    .trimEnd()
    .replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ')
    .replace(/[\b\f]/g, '\ufffd')}\n`;
}
