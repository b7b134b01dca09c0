/** Reads text access logs: the combined form of nginx and Apache, and the default form of Envoy. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { UnknownFieldError, type FieldReader, type FieldValues } from './field-reader';

/** Absent in access logs of all three. */
const ABSENT = '-';

const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;
const BRACKET = 91;
const CARRIAGE_RETURN = 13;

/** Fields of the combined form, in the order of a line. `request` is taken apart. */
const COMBINED = ['remote_address', 'ident', 'user', 'time', 'request', 'status', 'bytes', 'referer', 'user_agent'];

/** The common form is the combined one without its last two fields. */
const COMMON_FIELDS = 7;

const ENVOY_START = ['time', 'request', 'status', 'flags'];
/** Since Envoy 1.21. */
const ENVOY_DETAILS = ['details', 'termination_details', 'transport_failure'];
const ENVOY_END = [
  'bytes_received',
  'bytes_sent',
  'duration',
  'upstream_time',
  'x_forwarded_for',
  'user_agent',
  'request_id',
  'authority',
  'upstream_host',
];
const ENVOY = [...ENVOY_START, ...ENVOY_DETAILS, ...ENVOY_END];
const ENVOY_OLD = [...ENVOY_START, ...ENVOY_END];

const OF_REQUEST = ['method', 'path', 'protocol'];

const namesOf = (fields: readonly string[]) => [...fields, ...OF_REQUEST];

export const COMBINED_FIELDS: readonly string[] = namesOf(COMBINED);
export const ENVOY_FIELDS: readonly string[] = namesOf(ENVOY);

const TIME_TOKEN = /^(?:\d\d\/[A-Z][a-z][a-z]\/\d{4}:|\d{4}-\d\d-\d\dT)/;
const STATUS_TOKEN = /^\d{1,3}$/;

export class AccessLogReader implements FieldReader {
  private readonly tokens: string[] = [];
  private readonly wanted: readonly string[];

  /** @throws UnknownFieldError */
  constructor(
    private readonly form: 'combined' | 'envoy',
    wanted: readonly string[],
  ) {
    const names = form === 'combined' ? COMBINED_FIELDS : ENVOY_FIELDS;
    const missing = wanted.find((field) => !names.includes(field));
    if (missing !== undefined) throw new UnknownFieldError(`has no field ${JSON.stringify(missing)}; its fields are ${names.join(', ')}`);
    this.wanted = wanted;
  }

  read(text: ByteString, start: number, end: number, values: FieldValues): string | undefined {
    const count = this.split(text, start, end);
    const fields = this.fieldsOf(count);
    if (fields === undefined)
      return `is not a line of ${this.form === 'combined' ? 'a combined access log' : "Envoy's default access log"}`;
    for (let i = 0; i < this.wanted.length; i += 1) values[i] = this.valueOf(this.wanted[i] ?? '', fields);
    return undefined;
  }

  /** The names of the tokens; undefined: the line has another form. */
  private fieldsOf(count: number): readonly string[] | undefined {
    const fields = this.form === 'combined' ? COMBINED : count >= ENVOY.length ? ENVOY : ENVOY_OLD;
    if (count < (this.form === 'combined' ? COMMON_FIELDS : fields.length)) return undefined;
    const isInForm =
      TIME_TOKEN.test(this.tokens[fields.indexOf('time')] ?? '') && STATUS_TOKEN.test(this.tokens[fields.indexOf('status')] ?? '');
    return isInForm ? fields : undefined;
  }

  private valueOf(field: string, fields: readonly string[]): string | undefined {
    const value = OF_REQUEST.includes(field)
      ? partOfRequest(this.tokens[fields.indexOf('request')] ?? '', field)
      : this.tokens[fields.indexOf(field)];
    return value === ABSENT ? undefined : value;
  }

  /** Tokens are in quotes, in brackets, or end at a space. Returns their number, or 0 for a token without an end. */
  private split(text: ByteString, start: number, end: number): number {
    let count = 0;
    let at = start;
    while (at < end && count < ENVOY.length) {
      const first = text.charCodeAt(at);
      let close = at;
      if (first === QUOTE) close = endOfQuoted(text, at + 1, end);
      else if (first === BRACKET) close = text.indexOf(']', at);
      else while (close < end && text.charCodeAt(close) !== SPACE) close += 1;
      if (close < 0 || close > end) return 0;
      const isEnclosed = first === QUOTE || first === BRACKET;
      this.tokens[count] = unescaped(text.slice(isEnclosed ? at + 1 : at, close), this.form);
      count += 1;
      at = close + (isEnclosed ? 2 : 1);
    }
    for (let i = count; i < this.tokens.length; i += 1) this.tokens[i] = ABSENT;
    return count;
  }
}

/** nginx and Apache write a quote within quotes as `\x22` or `\"`. Envoy does not escape, but no header value that it accepts ends with a quote and a space. */
function endOfQuoted(text: ByteString, from: number, end: number): number {
  for (let at = from; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE && (at + 1 === end || text.charCodeAt(at + 1) === SPACE || text.charCodeAt(at + 1) === CARRIAGE_RETURN))
      return at;
  }
  return -1;
}

function unescaped(text: string, form: 'combined' | 'envoy'): string {
  if (form === 'envoy' || !text.includes('\\')) return text;
  return text.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/gs, (_, hex: string | undefined, other: string) =>
    hex === undefined ? (CONTROLS.get(other) ?? other) : String.fromCharCode(parseInt(hex, 16)),
  );
}

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** `GET /path HTTP/1.1`; a request that is not HTTP has no parts. */
function partOfRequest(request: string, part: string): string | undefined {
  const first = request.indexOf(' ');
  const last = request.lastIndexOf(' ');
  if (first <= 0 || last === first) return undefined;
  if (part === 'method') return request.slice(0, first);
  return part === 'path' ? request.slice(first + 1, last) : request.slice(last + 1);
}
