/** Reads lines of CSV (RFC 4180), with a first line that names the columns; commas, semicolons or tabs separate fields. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { toText } from '../../../../domain/descriptor/byte-string';
import { UnknownFieldError, type FieldReader, type FieldValues } from './field-reader';

const QUOTE = 34;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SEPARATORS = [44, 59, 9];

const UNWANTED = -1;

/** The byte that separates the names of a first line: that which comes most often. */
export function separatorOf(line: string): number {
  const counts = SEPARATORS.map((separator) => line.split(String.fromCharCode(separator)).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? 44;
}

/** The fields of one line, with their quotes removed; undefined: a quote is not closed, or text follows it. */
export function splitCsv(line: string, separator: number): string[] | undefined {
  const mark = String.fromCharCode(separator);
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (line[at] !== '"') {
      const end = line.indexOf(mark, at);
      fields.push(end < 0 ? line.slice(at) : line.slice(at, end));
      if (end < 0) return fields;
      at = end + 1;
      continue;
    }
    let end = line.indexOf('"', at + 1);
    while (end >= 0 && line[end + 1] === '"') end = line.indexOf('"', end + 2);
    if (end < 0) return undefined;
    fields.push(line.slice(at + 1, end).replaceAll('""', '"'));
    if (end + 1 === line.length) return fields;
    if (line[end + 1] !== mark) return undefined;
    at = end + 2;
  }
}

export class CsvReader implements FieldReader {
  private readonly separator: number;
  private readonly columns: number;
  /** By column, the index of its value, or UNWANTED. */
  private readonly wantedAt: Int32Array;
  /** The next quote of a text; Infinity: there is none. */
  private quoteAt = -1;
  private quoteIn = '';

  /** @throws UnknownFieldError if the first line does not name a wanted field */
  constructor(header: string, wanted: readonly string[]) {
    const line = header.replace(/^\u00ef\u00bb\u00bf/, '').replace(/\r$/, '');
    this.separator = separatorOf(line);
    const names = (splitCsv(line, this.separator) ?? []).map((name) => toText(name.trim()));
    this.columns = names.length;
    const missing = wanted.find((field) => !names.includes(field));
    if (missing !== undefined)
      throw new UnknownFieldError(`has no column ${JSON.stringify(missing)}; its first line names ${names.join(', ')}`);
    this.wantedAt = Int32Array.from(names, (name) => wanted.indexOf(name));
  }

  /** A quoted field may contain line feeds. */
  endOf(text: ByteString, start: number): number {
    const end = text.indexOf('\n', start);
    // The next quote is looked for once, and not again for each line before it.
    if (this.quoteAt < start || this.quoteIn !== text) {
      this.quoteIn = text;
      const quote = text.indexOf('"', start);
      this.quoteAt = quote < 0 ? Infinity : quote;
    }
    return this.quoteAt === Infinity || (end >= 0 && this.quoteAt > end) ? end : endOfQuoted(text, start);
  }

  read(text: ByteString, start: number, end: number, values: FieldValues): string | undefined {
    const last = end > start && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end;
    const { separator, wantedAt } = this;
    let column = 0;
    let from = start;
    for (let at = start; at <= last; at += 1) {
      const byte = at === last ? separator : text.charCodeAt(at);
      if (byte === QUOTE && at === from) return this.readQuoted(text.slice(start, last), values);
      if (byte !== separator) continue;
      const wanted = wantedAt[column] ?? UNWANTED;
      if (wanted !== UNWANTED) values[wanted] = at === from ? undefined : text.slice(from, at);
      column += 1;
      from = at + 1;
    }
    return column === this.columns ? undefined : this.otherColumns(column);
  }

  private readQuoted(line: string, values: FieldValues): string | undefined {
    const fields = splitCsv(line, this.separator);
    if (fields === undefined) return 'has a quote that does not end its field';
    if (fields.length !== this.columns) return this.otherColumns(fields.length);
    for (const [column, field] of fields.entries()) {
      const wanted = this.wantedAt[column] ?? UNWANTED;
      if (wanted !== UNWANTED) values[wanted] = field === '' ? undefined : field;
    }
    return undefined;
  }

  private otherColumns(columns: number): string {
    return `has ${columns} fields, and the first line names ${this.columns}`;
  }
}

function endOfQuoted(text: ByteString, start: number): number {
  let isQuoted = false;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (code === LINE_FEED && !isQuoted) return at;
  }
  return -1;
}
