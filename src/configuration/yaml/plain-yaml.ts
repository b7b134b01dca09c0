/** Reads the common subset of YAML many times faster than a complete parser, and gives up on everything else. */

import type { TapeWriter } from './tape-writer';
import { isNullText } from './config-node';

/** Levels of lists and maps: the complete parser reads deeper texts, up to a bound of its own. */
const DEPTH_MAX = 150;

/**
 * Fields of a map. Metadata is bounded, so no valid map has more. The reader stops at the bound instead of reading the
 * rest.
 */
export const FIELDS_MAX = 4096;

/** From this size on, keys of a map are looked up by hash. */
const FEW_KEYS = 16;

/** Characters of a key: YAML allows at most 1,024 on one line. */
const KEY_LENGTH_MAX = 256;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const APOSTROPHE = 0x27;
const COMMA = 0x2c;
const DASH = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;
const BYTE_ORDER_MARK = 0xfeff;
/** Result of `codeAt` behind the end of the text; negative, so it is never a character. */
const END = -1;

/** First characters of plain scalars read here; some others have a meaning, and the complete parser reads them all. */
const BEGINS_PLAIN = new Uint8Array(0x80);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/.$+~^()<=;')
  BEGINS_PLAIN[character.charCodeAt(0)] = 1;

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', n: '\n', t: '\t', r: '\r' };

/** The text is outside of the subset. */
class GivenUp extends Error {}

/** The map at the offset has over FIELDS_MAX fields. */
export class TooWideError extends Error {
  constructor(readonly offset: number) {
    super(`the map has over ${FIELDS_MAX} keys, the maximum; the rest of the file is not read`);
  }
}

/** Keys of the map being read. */
class Keys {
  private readonly few: string[] = [];
  private many: Set<string> | undefined;

  /** `offset`: start of the map. */
  constructor(private readonly offset: number) {}

  /** Throws GivenUp for a duplicate key, and TooWideError beyond FIELDS_MAX. */
  add(key: string): void {
    if (this.many === undefined ? this.few.includes(key) : this.many.has(key)) throw new GivenUp();
    if (this.many === undefined && this.few.length < FEW_KEYS) {
      this.few.push(key);
      return;
    }
    this.many ??= new Set(this.few);
    if (this.many.size === FIELDS_MAX) throw new TooWideError(this.offset);
    this.many.add(key);
  }
}

/**
 * Writes the only document of the text and returns true. Returns false if the text is outside of the subset; the writer
 * may then have partial output. The subset has no errors: lists and maps by indentation or in brackets, unique keys without
 * tag, anchor or alias, scalars that are plain or quoted and end on their line, and comments.
 *
 * @throws TooWideError
 */
export function readPlainYaml(text: string, writer: TapeWriter): boolean {
  try {
    new PlainReader(text, writer).read();
    return true;
  } catch (error) {
    if (error instanceof GivenUp) return false;
    throw error;
  }
}

class PlainReader {
  /** Offset of the next character. */
  private position = 0;
  /** Column of the first character of the line; END behind the last line. */
  private indent = END;
  private lineStart = 0;
  private depth = 0;

  constructor(
    private readonly source: string,
    private readonly writer: TapeWriter,
  ) {}

  read(): void {
    this.findLine();
    if (this.indent === 0 && this.isMark(this.position)) {
      this.position += 3;
      this.endLine();
    }
    if (this.indent === 0 && this.peek() === DOT) throw new GivenUp();
    if (this.indent === END) throw new GivenUp();
    this.block(END);
    if (this.indent !== END) throw new GivenUp();
  }

  /** A list, a map, or a collection in brackets that begins a line. `above`: the column of its parent. */
  private block(above: number): void {
    this.enter();
    const first = this.peek();
    if (this.isItem()) this.list(this.indent);
    else if (first === OPEN_LIST || first === OPEN_MAP) this.inlineValue(above);
    else this.map(this.indent);
    this.depth -= 1;
  }

  private enter(): void {
    this.depth += 1;
    if (this.depth > DEPTH_MAX) throw new GivenUp();
  }

  private list(column: number): void {
    const { writer } = this;
    writer.begin('list', this.position);
    while (this.indent === column && this.isItem()) this.item(column);
    if (this.indent > column) throw new GivenUp();
    writer.end();
  }

  private item(column: number): void {
    this.position += 1;
    this.skipSpaces();
    if (this.isLineOver()) {
      // An empty item is null, but its offset depends on what follows.
      this.endLine();
      if (this.indent <= column) throw new GivenUp();
      this.block(column);
      return;
    }
    const inner = this.position - this.lineStart;
    this.indent = inner;
    if (this.isItem()) this.nested('list', inner);
    else if (this.isKey()) this.nested('map', inner);
    else this.inlineValue(column);
  }

  private nested(kind: 'list' | 'map', column: number): void {
    this.enter();
    if (kind === 'list') this.list(column);
    else this.map(column);
    this.depth -= 1;
  }

  private map(column: number): void {
    const { writer } = this;
    writer.begin('map', this.position);
    const keys = new Keys(this.position);
    while (this.indent === column && !this.isItem()) {
      this.readKey(keys);
      this.blockValue(column);
    }
    if (this.indent > column) throw new GivenUp();
    writer.end();
  }

  private readKey(keys: Keys): void {
    const keyOffset = this.position;
    const isQuoted = this.isQuote();
    const key = isQuoted ? this.quoted() : this.plainKey();
    // YAML limits keys to 1,024 characters, and the library reports longer ones.
    if (this.position - keyOffset > KEY_LENGTH_MAX) throw new GivenUp();
    if (this.peek() !== COLON || !this.isBlankAt(this.position + 1)) throw new GivenUp();
    this.position += 1;
    const hasMeaning = !isQuoted && (key === '<<' || isNullText(key));
    if (hasMeaning || key === '') throw new GivenUp();
    keys.add(key);
    this.writer.key(key, keyOffset);
  }

  private blockValue(column: number): void {
    this.skipSpaces();
    if (!this.isLineOver()) {
      this.inlineValue(column);
      return;
    }
    this.endLine();
    if (this.indent > column) this.block(column);
    // A list may stand in the column of its key.
    else if (this.indent === column && this.isItem()) this.nested('list', column);
    else throw new GivenUp();
  }

  /** A value that begins within a line, and the rest of the line. The next line must not continue it. */
  private inlineValue(column: number): void {
    const first = this.peek();
    if (first === OPEN_LIST || first === OPEN_MAP) this.flow(column);
    else if (this.isQuote()) this.quotedScalar();
    else this.plainScalar(this.endOfPlain());
    this.skipSpaces();
    if (!this.isLineOver()) throw new GivenUp();
    this.endLine();
    if (this.indent > column) throw new GivenUp();
  }

  private quotedScalar(): void {
    const offset = this.position;
    this.writer.scalar(this.quoted(), { plain: false, offset });
  }

  private plainScalar(end: number): void {
    const offset = this.position;
    this.writer.scalar(this.source.slice(offset, end), { plain: true, offset });
    this.position = end;
  }

  /** A collection in brackets. Its further lines are indented by more than `column`. */
  private flow(column: number): void {
    this.enter();
    const isMap = this.peek() === OPEN_MAP;
    const close = isMap ? CLOSE_MAP : CLOSE_LIST;
    this.writer.begin(isMap ? 'map' : 'list', this.position);
    const keys = new Keys(this.position);
    this.position += 1;
    this.skipFlowSpace(column);
    let isFirst = true;
    while (this.peek() !== close || !isFirst) {
      if (isMap) {
        this.readKey(keys);
        this.skipFlowSpace(column);
      }
      this.flowValue(column);
      isFirst = false;
      this.skipFlowSpace(column);
      if (this.peek() === close) break;
      if (this.peek() !== COMMA) throw new GivenUp();
      this.position += 1;
      this.skipFlowSpace(column);
    }
    this.position += 1;
    this.writer.end();
    this.depth -= 1;
  }

  private flowValue(column: number): void {
    const first = this.peek();
    if (first === OPEN_LIST || first === OPEN_MAP) this.flow(column);
    else if (this.isQuote()) this.quotedScalar();
    else this.plainScalar(this.endOfFlowPlain());
  }

  /** Skips spaces and line ends. */
  private skipFlowSpace(column: number): void {
    this.skipSpaces();
    while (this.isLineEnd(this.position)) {
      this.position += this.peek() === CR ? 2 : 1;
      this.lineStart = this.position;
      this.skipSpaces();
      if (!this.isLineEnd(this.position) && this.position - this.lineStart <= column) throw new GivenUp();
    }
    // A mark at the beginning of a line would end the document.
    if (this.position === this.lineStart && (this.isMark(this.position) || this.peek() === DOT)) throw new GivenUp();
  }

  private plainKey(): string {
    const begin = this.position;
    this.requirePlain(begin);
    let end = begin;
    for (;;) {
      const code = this.codeAt(end);
      if (code === COLON && this.isBlankAt(end + 1)) break;
      if (isOutsideFlowText(code) || (code === HASH && this.codeAt(end - 1) === SPACE) || end - begin > KEY_LENGTH_MAX) throw new GivenUp();
      end += 1;
    }
    if (this.codeAt(end - 1) === SPACE) throw new GivenUp();
    this.position = end;
    return this.source.slice(begin, end);
  }

  /** Whether a key begins here: text up to a colon on this line. */
  private isKey(): boolean {
    if (this.isQuote()) {
      const begin = this.position;
      this.quoted();
      const isKey = this.peek() === COLON;
      this.position = begin;
      return isKey;
    }
    for (let index = this.position; ; index += 1) {
      const code = this.codeAt(index);
      if (code === COLON && this.isBlankAt(index + 1)) return true;
      if (code === END || code === LF || (index === this.position && (code === OPEN_MAP || code === OPEN_LIST))) return false;
    }
  }

  /** End of the plain scalar that begins here. */
  private endOfPlain(): number {
    this.requirePlain(this.position);
    let end = this.position;
    for (;;) {
      const code = this.codeAt(end);
      if (code === END || code === LF || code === CR) break;
      if (code === HASH && this.codeAt(end - 1) === SPACE) break;
      if (code === TAB || code === BYTE_ORDER_MARK || (code === COLON && this.isBlankAt(end + 1))) throw new GivenUp();
      end += 1;
    }
    return this.withoutSpaces(end);
  }

  private endOfFlowPlain(): number {
    this.requirePlain(this.position);
    let end = this.position;
    for (;;) {
      const code = this.codeAt(end);
      if (code === COMMA || code === CLOSE_LIST || code === CLOSE_MAP || code === LF || code === CR) break;
      if (isOutsideFlowText(code) || code === COLON || (code === HASH && this.codeAt(end - 1) === SPACE)) throw new GivenUp();
      end += 1;
    }
    return this.withoutSpaces(end);
  }

  private withoutSpaces(end: number): number {
    let last = end;
    while (this.codeAt(last - 1) === SPACE) last -= 1;
    return last;
  }

  private requirePlain(index: number): void {
    const code = this.codeAt(index);
    if (code === DASH) {
      // A negative number; `- ` and `---` have other meanings.
      const next = this.codeAt(index + 1);
      if (next >= 0x80 || next < 0 || next === DOT || BEGINS_PLAIN[next] !== 1) throw new GivenUp();
      return;
    }
    if (code < 0 || code >= 0x80 || BEGINS_PLAIN[code] !== 1) throw new GivenUp();
  }

  private isQuote(): boolean {
    const code = this.peek();
    return code === QUOTE || code === APOSTROPHE;
  }

  /** Text of a quoted scalar, which must end on its line. */
  private quoted(): string {
    const { source } = this;
    const quote = this.peek();
    const begin = this.position + 1;
    let end = begin;
    let text = '';
    let from = begin;
    for (;;) {
      const code = this.codeAt(end);
      if (code === END || code === LF || code === CR || code === TAB || code === BYTE_ORDER_MARK) throw new GivenUp();
      if (code === BACKSLASH && quote === QUOTE) {
        const escaped = ESCAPES[source.charAt(end + 1)];
        if (escaped === undefined) throw new GivenUp();
        text += source.slice(from, end) + escaped;
        end += 2;
        from = end;
      } else if (code === quote) {
        if (quote === QUOTE || this.codeAt(end + 1) !== quote) break;
        text += source.slice(from, end + 1);
        end += 2;
        from = end;
      } else {
        end += 1;
      }
    }
    this.position = end + 1;
    return text + source.slice(from, end);
  }

  /** Whether a list item begins here. */
  private isItem(): boolean {
    return this.peek() === DASH && this.isBlankAt(this.position + 1);
  }

  /** Whether a document mark (`---`) is here. */
  private isMark(index: number): boolean {
    return this.codeAt(index) === DASH && this.codeAt(index + 1) === DASH && this.codeAt(index + 2) === DASH;
  }

  /** Whether the rest of the line is empty or a comment. */
  private isLineOver(): boolean {
    const code = this.peek();
    return (
      code === END ||
      this.isLineEnd(this.position) ||
      (code === HASH && (this.position === this.lineStart || this.codeAt(this.position - 1) === SPACE))
    );
  }

  /** Moves to the first character of the next line that is not blank. */
  private endLine(): void {
    this.skipSpaces();
    if (!this.isLineOver()) throw new GivenUp();
    const end = this.source.indexOf('\n', this.position);
    if (end < 0) {
      this.position = this.source.length;
      this.indent = END;
      return;
    }
    this.position = end + 1;
    this.findLine();
    if (this.indent === 0 && (this.isMark(this.position) || this.peek() === DOT)) throw new GivenUp();
  }

  private findLine(): void {
    for (;;) {
      this.lineStart = this.position;
      this.skipSpaces();
      if (this.position >= this.source.length) {
        this.indent = END;
        return;
      }
      if (!this.isLineOver()) {
        this.indent = this.position - this.lineStart;
        return;
      }
      const end = this.source.indexOf('\n', this.position);
      this.position = end < 0 ? this.source.length : end + 1;
    }
  }

  private skipSpaces(): void {
    while (this.codeAt(this.position) === SPACE) this.position += 1;
  }

  private isLineEnd(index: number): boolean {
    const code = this.codeAt(index);
    return code === LF || (code === CR && this.codeAt(index + 1) === LF);
  }

  private isBlankAt(index: number): boolean {
    const code = this.codeAt(index);
    return code === SPACE || code === END || this.isLineEnd(index);
  }

  private peek(): number {
    return this.codeAt(this.position);
  }

  private codeAt(index: number): number {
    return index >= 0 && index < this.source.length ? this.source.charCodeAt(index) : END;
  }
}

/** Whether the character ends a line or has a meaning in brackets: keys, and scalars in brackets, must quote it. */
function isOutsideFlowText(code: number): boolean {
  return (
    code === END ||
    code === LF ||
    code === CR ||
    code === TAB ||
    code === BYTE_ORDER_MARK ||
    code === COMMA ||
    code === OPEN_LIST ||
    code === CLOSE_LIST ||
    code === OPEN_MAP ||
    code === CLOSE_MAP
  );
}
