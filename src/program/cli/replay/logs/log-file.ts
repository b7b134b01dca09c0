/** One log: opens it, finds its format, and reads its lines one by one. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { asError } from '../../../../lib/errors';
import { AccessLogReader, ENVOY_FIELDS } from '../formats/access-log';
import { CsvReader } from '../formats/csv';
import { readDecision } from '../formats/decisions';
import type { FieldReader, FieldValues } from '../formats/field-reader';
import { findFormat } from '../formats/find-format';
import { isObject, JsonReader, parseLine } from '../formats/json';
import type { LogFormat } from '../formats/log-formats';
import { RequestMaker, type LogMapping } from '../mapping/log-mapping';
import { UsageError } from '../../usage-error';
import { openLogBytes, STANDARD_INPUT } from './log-bytes';
import { isWrong, type LineResult, type LogEvent } from '../event/log-event';
import { LINE_BYTES_MAX, LogLines } from './log-lines';

const OPEN_BRACE = 123;

export interface LogFileOptions {
  readonly name: string;
  /** Absent: found from the first line. */
  readonly format: LogFormat | undefined;
  /** Absent: only a decision log can be read. */
  readonly mapping: LogMapping | undefined;
  /** Reads the keys of requests, and not the requests. */
  readonly isKeyed: boolean;
  readonly onRead: (bytes: number) => void;
  readonly onWrong: (wrong: WrongInFile) => void;
}

export interface WrongInFile {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** The fields of the first line of a log, for a mapping that depends on them. */
export async function fieldsOfLog(name: string): Promise<readonly string[]> {
  if (name === STANDARD_INPUT) return ENVOY_FIELDS;
  const bytes = await openLogBytes({ name, onRead: () => undefined }).catch((error: unknown) => {
    throw error instanceof UsageError ? error : new UsageError(`weir replay: ${name} cannot be read: ${asError(error).message}`);
  });
  const lines = new LogLines(bytes);
  try {
    while (lines.next() === 'more') if (!(await lines.fill())) return ENVOY_FIELDS;
    const json = parseLine(lines.text, lines.start, lines.end);
    return isObject(json) ? Object.keys(json) : ENVOY_FIELDS;
  } finally {
    bytes.close();
  }
}

type ReadLine = (text: ByteString, start: number, end: number) => LineResult;

/** The name of standard input in messages. */
export function shownName(name: string): string {
  return name === STANDARD_INPUT ? 'standard input' : name;
}

export class LogFile {
  /** The line that was read last. */
  event: LogEvent | undefined;
  format: LogFormat | undefined;
  private readonly name: string;
  private readLine: ReadLine | undefined;
  private values: FieldValues = [];

  private constructor(
    private readonly lines: LogLines,
    private readonly options: LogFileOptions,
  ) {
    this.name = shownName(options.name);
  }

  /** @throws UsageError if it cannot be opened */
  static async open(options: LogFileOptions): Promise<LogFile> {
    try {
      const bytes = await openLogBytes(options);
      return new LogFile(new LogLines(bytes), options);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new UsageError(`weir replay: ${shownName(options.name)} cannot be read: ${asError(error).message}`);
    }
  }

  /** Reads up to the next request. True: `event` is that; false: the bytes that were read are used up. */
  next(): boolean {
    const { lines } = this;
    for (;;) {
      const found = lines.next();
      if (found === 'more') return false;
      if (found === 'long') {
        this.wrong(`has more than ${LINE_BYTES_MAX} bytes`);
        continue;
      }
      const fault = lines.fault();
      if (fault !== undefined) {
        this.wrong(fault);
        continue;
      }
      const read = this.readLine ?? this.begin();
      if (read === undefined) continue;
      const result = read(lines.text, lines.start, lines.end);
      if (isWrong(result)) {
        this.wrong(result.wrong);
        lines.splitAtLineFeed();
        continue;
      }
      this.event = result;
      result.bytes = lines.end - lines.start;
      return true;
    }
  }

  /** Reads more bytes; false: the log has ended. A part that cannot be decompressed is a wrong line, and ends the log. */
  async fill(): Promise<boolean> {
    try {
      return await this.lines.fill();
    } catch (error) {
      this.wrong(`and all after it cannot be read: ${asError(error).message}`);
      return false;
    }
  }

  close(): void {
    this.lines.close();
  }

  /** The number of the line that was read last. */
  get line(): number {
    return this.lines.number;
  }

  wrong(message: string): void {
    this.options.onWrong({ file: this.name, line: this.lines.number, message });
  }

  /** Undefined: the line is only the first of CSV, or wrong. */
  private begin(): ReadLine | undefined {
    const { lines, options } = this;
    const { text, start, end } = lines;
    this.format = options.format ?? options.mapping?.format ?? findFormat(text, start, end);
    if (this.format === undefined) {
      this.wrong('is of no known format; name it with --format-log');
      return undefined;
    }
    if (this.format === 'decisions') {
      if (options.isKeyed) throw new UsageError(`weir replay: ${this.name} is a decision log, which needs no --map; name it without`);
      this.readLine = readDecision;
      return this.readLine;
    }
    const { mapping } = options;
    if (mapping === undefined)
      throw new UsageError(
        `weir replay: ${this.name} is a log of the format ${this.format}, so --map FILE must say which fields are descriptors`,
      );
    return this.beginFields(this.format, mapping);
  }

  private beginFields(format: Exclude<LogFormat, 'decisions'>, mapping: LogMapping): ReadLine | undefined {
    const { text, start } = this.lines;
    const isJson = format === 'envoy' && text.charCodeAt(start) === OPEN_BRACE;
    const maker = new RequestMaker({ mapping, timeField: isJson ? 'start_time' : 'time', isKeyed: this.options.isKeyed });
    const wanted = maker.fields;
    const reader = this.openReader({ format, isJson, wanted });
    this.values = new Array<string | undefined>(wanted.length).fill(undefined);
    const { values } = this;
    this.readLine = (...line) => {
      const wrong = reader.read(...line, values);
      return wrong === undefined ? maker.make(values) : { wrong };
    };
    if (reader.endOf !== undefined) this.lines.endOf = (...from) => reader.endOf?.(...from) ?? -1;
    return format === 'csv' ? undefined : this.readLine;
  }

  private openReader({ format, isJson, wanted }: OpenReaderInput): FieldReader {
    const { text, start, end } = this.lines;
    try {
      if (format === 'csv') return new CsvReader(text.slice(start, end), wanted);
      if (format === 'json') return new JsonReader({ wanted });
      return isJson ? new JsonReader({ wanted, absent: '-' }) : new AccessLogReader(format === 'envoy' ? 'envoy' : 'combined', wanted);
    } catch (error) {
      throw new UsageError(`weir replay: ${this.name} ${asError(error).message}`);
    }
  }
}

interface OpenReaderInput {
  readonly format: Exclude<LogFormat, 'decisions'>;
  readonly isJson: boolean;
  readonly wanted: readonly string[];
}
