/** Parsers of environment variables, one for each type. */

/** A value, or a refusal that replaces the usual "is not accepted". */
export type Parsed<T> = { readonly value: T } | { readonly refusal: string };

/** The form of a value as far as a table can say it, for checks without this code: the schema of the chart. */
export type ValueForm =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'integer' | 'number'; readonly min: number; readonly max: number }
  /** In any case. */
  | { readonly kind: 'name'; readonly names: readonly string[] }
  | { readonly kind: 'duration'; readonly minMs: number; readonly maxMs: number }
  | { readonly kind: 'text' };

export interface SettingType<T> {
  /** Completes the sentence "use …". */
  readonly accepts: string;
  /** Every value that `parse` accepts has this form; `parse` may refuse some that have it. */
  readonly form: ValueForm;
  /** Undefined: not accepted. The text is never empty. */
  parse(text: string): Parsed<T> | undefined;
}

interface Range {
  readonly min: number;
  readonly max: number;
}

const TEXT: ValueForm = { kind: 'text' };

export function text(accepts = 'any text'): SettingType<string> {
  return { accepts, form: TEXT, parse: (value) => ({ value }) };
}

/** Text that matches a pattern. */
export function textLike({ pattern, accepts }: { pattern: RegExp; accepts: string }): SettingType<string> {
  return { accepts, form: TEXT, parse: (value) => (pattern.test(value) ? { value } : undefined) };
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((spelling) => [spelling, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((spelling) => [spelling, false] as const),
]);

/** The spellings of Go's strconv.ParseBool. */
export function boolean(): SettingType<boolean> {
  return {
    accepts: 'true or false',
    form: { kind: 'boolean' },
    parse(value) {
      const flag = BOOLEANS.get(value);
      return flag === undefined ? undefined : { value: flag };
    },
  };
}

export function integer({ min, max }: Range): SettingType<number> {
  return whole(numeric(/^\d{1,16}$/, { kind: 'integer', min, max, accepts: `a whole number from ${min} to ${max}` }));
}

/** A number from 1, or `auto`. */
export function count({ max }: Pick<Range, 'max'>): SettingType<number | 'auto'> {
  const numbers = integer({ min: 1, max });
  return {
    accepts: `${numbers.accepts}, or auto`,
    form: TEXT,
    parse: (written) => (written.toLowerCase() === 'auto' ? { value: 'auto' } : numbers.parse(written)),
  };
}

/** 0 lets the system choose a free port. */
export function port(): SettingType<number> {
  return whole(decimalPort());
}

/** A port of another machine. Undefined for the URL that Kubernetes writes into the variable of a service. */
export function servicePort(): SettingType<number | undefined> {
  const ports = integer({ min: 1, max: 65_535 });
  return {
    accepts: 'a port from 1 to 65535',
    form: { kind: 'integer', min: 1, max: 65_535 },
    parse: (written) => (written.startsWith('tcp://') ? { value: undefined } : ports.parse(written)),
  };
}

/** Always decimal, even with a leading zero, as in any address. */
function decimalPort(): SettingType<number> {
  return numeric(/^\d{1,5}$/, { kind: 'integer', min: 0, max: 65_535, accepts: 'a port from 0 to 65535 (0: any free one)' });
}

/** Refuses leading zeros, because Go's envconfig, and so the reference, reads `010` as 8. */
function whole(numbers: SettingType<number>): SettingType<number> {
  return {
    ...numbers,
    parse: (written) =>
      /^0\d+$/.test(written) ? { refusal: 'it could be octal or decimal; write it without the leading zero' } : numbers.parse(written),
  };
}

/** Where a port listens; without a host, on all addresses. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** As Go writes it: `:9090`, `127.0.0.1:9090`, `[::1]:9090`. */
export function listenAddress(): SettingType<ListenAddress> {
  const ports = decimalPort();
  return {
    accepts: 'an address and a port, such as :9090, 127.0.0.1:9090 or [::1]:9090',
    form: TEXT,
    parse(written) {
      const [, bracketed, plain = '', digits = ''] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]*)):(\d+)$/.exec(written) ?? [];
      const parsed = ports.parse(digits);
      if (parsed === undefined || !('value' in parsed)) return undefined;
      const host = bracketed ?? plain;
      return { value: { host: host === '' ? undefined : host, port: parsed.value } };
    },
  };
}

/** Origins of web pages, separated by commas. */
export function origins({ max }: Pick<Range, 'max'>): SettingType<readonly string[]> {
  return {
    accepts: `up to ${max} origins such as https://portal.example, separated by commas`,
    form: TEXT,
    parse(written) {
      const items = written.split(',').map((item) => item.trim().toLowerCase());
      return items.length <= max && items.every((item) => /^https?:\/\/[^/\s,@?#]{1,255}$/.test(item)) ? { value: items } : undefined;
    },
  };
}

/** A list of names that can be part of variable names, separated by commas, converted to capitals. */
export function names({ max }: Pick<Range, 'max'>): SettingType<readonly string[]> {
  return {
    accepts: `up to ${max} names of letters, digits and _, separated by commas`,
    form: TEXT,
    parse(written) {
      const items = written.split(',').map((item) => item.trim().toUpperCase());
      return items.length <= max && items.every((item) => /^[A-Z0-9_]{1,64}$/.test(item)) ? { value: items } : undefined;
    },
  };
}

/** Most pairs of a name and a value; a value may contain colons. */
const TAGS_MAX = 32;
const TAG_CHARS_MAX = 256;

export function tags(): SettingType<ReadonlyMap<string, string>> {
  return {
    accepts: `up to ${TAGS_MAX} pairs of a name and a value of at most ${TAG_CHARS_MAX} characters, such as region:eu,cluster:blue`,
    form: TEXT,
    parse(written) {
      const pairs = written.split(',').map((pair) => /^\s*([^:\s][^:]*):(.+)$/s.exec(pair));
      const isGood = pairs.length <= TAGS_MAX && pairs.every((pair) => pair !== null && pair[0].length <= TAG_CHARS_MAX);
      return isGood ? { value: new Map(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? ''])) } : undefined;
    },
  };
}

/** File permissions in octal digits, as for chmod. */
export function fileMode(): SettingType<number> {
  return {
    accepts: 'an octal mode of three digits, with a 0 before them or without, such as 0660',
    form: TEXT,
    parse: (digits) => (/^0?[0-7]{3}$/.test(digits) ? { value: Number.parseInt(digits, 8) } : undefined),
  };
}

export function ratio(): SettingType<number> {
  return decimal({ min: 0, max: 1 });
}

/** A number with or without a fraction. */
export function decimal({ min, max }: Range): SettingType<number> {
  return numeric(/^(\d+\.?\d*|\.\d+)$/, { kind: 'number', min, max, accepts: `a number from ${min} to ${max}` });
}

/** `name=value,name=value` with any separator between name and value; names and values must match their patterns. */
export function pairs({ separator, names, values = /(?:)/, accepts }: PairsOptions): SettingType<readonly Pair[]> {
  return {
    accepts,
    form: TEXT,
    parse(written) {
      const value = written.split(',').map((item): Pair => {
        const end = item.indexOf(separator);
        return [item.slice(0, Math.max(end, 0)).trim(), item.slice(end + 1).trim()];
      });
      return value.every(([name, text]) => names.test(name) && values.test(text)) ? { value } : undefined;
    },
  };
}

export type Pair = readonly [name: string, value: string];

interface PairsOptions {
  readonly separator: string;
  readonly names: RegExp;
  /** Default: any text. */
  readonly values?: RegExp;
  readonly accepts: string;
}

interface NumericOptions extends Range {
  readonly kind: 'integer' | 'number';
  readonly accepts: string;
}

function numeric(pattern: RegExp, { kind, min, max, accepts }: NumericOptions): SettingType<number> {
  return {
    accepts,
    form: { kind, min, max },
    parse(digits) {
      const value = pattern.test(digits) ? Number(digits) : NaN;
      return value >= min && value <= max ? { value } : undefined;
    },
  };
}

/** One of the names, in any case; `refused` has a special message for some wrong names. */
export function oneOf<const Name extends string>(
  names: readonly Name[],
  { refused = {} }: { refused?: Readonly<Record<string, string>> } = {},
): SettingType<Name> {
  return spelled(Object.fromEntries(names.map((name) => [name, name])) as Record<Name, Name>, refused);
}

/** Some of the names, separated by commas. */
export function someOf<const Name extends string>(names: readonly Name[]): SettingType<readonly Name[]> {
  return {
    accepts: `names separated by commas, of ${names.join(', ')}`,
    form: TEXT,
    parse(written) {
      const items = written.split(',').map((item) => names.find((name) => name === item.trim().toLowerCase()));
      const value = items.filter((item) => item !== undefined);
      return value.length === items.length ? { value } : undefined;
    },
  };
}

/** One of the spellings, in any case; each stands for a value. */
export function spelled<T extends string>(
  values: Readonly<Record<string, T>>,
  refused: Readonly<Record<string, string>> = {},
): SettingType<T> {
  const lowered = new Map(Object.entries(values).map(([spelling, value]) => [spelling.toLowerCase(), value]));
  const refusals = new Map(Object.entries(refused).map(([spelling, why]) => [spelling.toLowerCase(), why]));
  return {
    accepts: Object.keys(values).join(', '),
    form: { kind: 'name', names: Object.keys(values) },
    parse(spelling) {
      const value = lowered.get(spelling.toLowerCase());
      if (value !== undefined) return { value };
      const refusal = refusals.get(spelling.toLowerCase());
      return refusal === undefined ? undefined : { refusal };
    },
  };
}

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

const DURATION = /^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;

/** A duration as Go writes it, such as 5ms, 1.5s or 1h30m; the value is in milliseconds. The bounds have the same form. */
export function duration({ min, max }: { min: string; max: string }): SettingType<number> {
  const minMs = parseDurationMs(min) ?? 0;
  const maxMs = parseDurationMs(max) ?? Infinity;
  return {
    accepts: `a duration from ${min} to ${max}, such as ${examplesOf(minMs, maxMs)}`,
    form: { kind: 'duration', minMs, maxMs },
    parse(written) {
      const value = parseDurationMs(written);
      return value !== undefined && value >= minMs && value <= maxMs ? { value } : undefined;
    },
  };
}

const DURATION_EXAMPLES = ['5ms', '100ms', '500ms', '10s', '1m30s', '1h30m'];

/** Two or three of them, spread over the range. */
function examplesOf(minMs: number, maxMs: number): string {
  const inRange = DURATION_EXAMPLES.filter((example) => {
    const value = parseDurationMs(example) ?? NaN;
    return value >= minMs && value <= maxMs;
  });
  const [first = '', last = ''] = [inRange[0], inRange.at(-1)];
  const middle = inRange[Math.floor(inRange.length / 2)] ?? '';
  return middle === first || middle === last ? `${first} or ${last}` : `${first}, ${middle} or ${last}`;
}

function parseDurationMs(written: string): number | undefined {
  // Go accepts a bare 0, but no other number without a unit.
  if (written === '0') return 0;
  if (!DURATION.test(written)) return undefined;
  let totalMs = 0;
  for (const [, digits, unit = ''] of written.matchAll(/([\d.]+)([a-zµμ]+)/g)) {
    totalMs += Number(digits) * (UNIT_MS.get(unit) ?? NaN);
  }
  return totalMs;
}
