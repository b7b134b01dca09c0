/** Reads records of CSV (RFC 4180) from a text that comes in parts, and keeps no more than one record. */

/** A record of a file, and the line where it begins. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** The file is not CSV from this line on. */
export class CsvError extends Error {
  override readonly name = 'CsvError';
}

/** Characters of one record: those of a tenant have a few hundred, so a longer one lacks a quote. */
const RECORD_CHARS_MAX = 65_536;

type State = 'start of field' | 'in field' | 'in quotes' | 'after quote';

export class CsvReader {
  private state: State = 'start of field';
  private fields: string[] = [];
  private field = '';
  private chars = 0;
  private line = 1;
  private startLine = 1;

  /** The records that end in the next part. @throws CsvError */
  *push(text: string): Generator<CsvRecord> {
    for (const char of text) {
      if (char === '\n') this.line += 1;
      const record = this.step(char);
      if (record !== undefined) yield record;
      this.chars += 1;
      if (this.chars > RECORD_CHARS_MAX)
        throw new CsvError(`line ${this.startLine}: the record has over ${RECORD_CHARS_MAX} characters; a quote may be missing`);
    }
  }

  /** The last record, if no line feed ended it. @throws CsvError */
  *end(): Generator<CsvRecord> {
    if (this.state === 'in quotes') throw new CsvError(`line ${this.startLine}: the last quote is missing`);
    const record = this.endRecord();
    if (record !== undefined) yield record;
  }

  /** The record that the character ends. */
  private step(char: string): CsvRecord | undefined {
    if (this.state === 'in quotes') {
      if (char === '"') this.state = 'after quote';
      else this.field += char;
      return undefined;
    }
    if (char === '\n') return this.endRecord();
    if (char === ',') this.endField();
    else if (char === '"') this.quote();
    // A carriage return belongs to the line feed that follows.
    else if (char !== '\r') this.add(char);
    return undefined;
  }

  private quote(): void {
    if (this.state === 'in field') throw new CsvError(`line ${this.line}: a quote inside of a field; put the whole field in quotes`);
    // Two quotes in quotes are one.
    if (this.state === 'after quote') this.field += '"';
    this.state = 'in quotes';
  }

  private add(char: string): void {
    if (this.state === 'after quote') throw new CsvError(`line ${this.line}: text after the closing quote; write two quotes for one`);
    this.state = 'in field';
    this.field += char;
  }

  private endField(): void {
    this.fields.push(this.field);
    this.field = '';
    this.state = 'start of field';
  }

  /** Undefined: the line is empty. */
  private endRecord(): CsvRecord | undefined {
    const isEmpty = this.fields.length === 0 && this.field === '' && this.state !== 'after quote';
    this.endField();
    const record = { line: this.startLine, fields: this.fields };
    this.fields = [];
    this.chars = 0;
    this.startLine = this.line;
    return isEmpty ? undefined : record;
  }
}
