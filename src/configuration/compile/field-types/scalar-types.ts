/** The types of fields with a single value: how each reads YAML, with the conversions of the reference's parser, and how it is documented. */

import { TEXT_BYTES_MAX } from '../../../domain/descriptor/descriptor-bounds';
import { didYouMean } from '../../../lib/text/did-you-mean';
import { show } from '../../../lib/quote';
import { readPercentText } from '../../../lib/value-texts';
import { LIMIT_MAX, UINT32_MAX } from '../../../domain/rule/limit';
import type { JsonObject } from '../../../domain/rule/rule';
import { isNull, type ConfigNode } from '../../yaml/config-node';
import { BOOLEANS, LEADING_ZERO, withoutUnderscores } from '../../yaml/scalars';
import type { FieldReader, FieldType, Mistake } from './field';

const QUOTES_UNSEEN = 'a schema cannot see quotes';

/** Booleans of YAML 1.1 that are text in YAML 1.2. */
const BOOLEAN_WORDS = [...BOOLEANS.keys()].filter((word) => word.toLowerCase() !== 'true' && word.toLowerCase() !== 'false');

/** `1234`, `true` and `on` are text, too. */
export const TEXT_SCHEMA = { type: ['string', 'number', 'boolean'], maxLength: TEXT_BYTES_MAX };

/** Source text of any scalar. */
export function text(): FieldType<string> {
  return {
    accepts: 'text',
    schema: TEXT_SCHEMA,
    mistakes: [{ write: '[a]', says: 'must be text, not a list' }],
    read: readText,
  };
}

/** Text that is not empty. */
export function nonEmptyText(): FieldType<string> {
  return {
    accepts: 'text that is not empty',
    schema: { ...TEXT_SCHEMA, minLength: 1 },
    mistakes: [{ write: '""', says: 'must not be empty' }],
    read(node, at, name) {
      const value = readText(node, at, name);
      if (value !== '') return value;
      at.refuse(node, name, 'must not be empty');
      return undefined;
    },
  };
}

/** Source text of any scalar; undefined and a problem otherwise. */
export function readText(node: ConfigNode, at: FieldReader, name: string): string | undefined {
  if (node.kind === 'scalar' && Buffer.byteLength(node.text) <= TEXT_BYTES_MAX) return node.text;
  const isText = node.kind === 'scalar';
  at.refuse(node, name, isText ? `must not be longer than ${TEXT_BYTES_MAX} bytes; no request can be` : `must be text, not a ${node.kind}`);
  return undefined;
}

export function flag(): FieldType<boolean> {
  return {
    accepts: 'true or false',
    schema: { enum: [true, false, ...BOOLEAN_WORDS] },
    mistakes: [
      { write: '1', says: '"1" is not a boolean; use true or false, unquoted' },
      { write: '"yes"', says: '"yes" is not a boolean; use true or false, unquoted', unseen: QUOTES_UNSEEN },
    ],
    read(node, at, name) {
      const value = node.kind === 'scalar' && node.plain ? BOOLEANS.get(node.text) : undefined;
      if (value === undefined) at.refuse(node, name, `${describe(node)} is not a boolean; use true or false, unquoted`);
      return value;
    },
  };
}

const INTEGER = /^\+?(0x[\da-f]+|0o[0-7]+|0b[01]+|0|[1-9]\d*)$/i;

/** Numbers that YAML 1.2 reads as text: in another base, or with underscores. */
const TEXT_INTEGER = '^\\+?(0[xX][\\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\\d+_[\\d_]*)$';

export interface WholeOptions {
  /** The smallest number, which another part checks; default 0. */
  readonly min?: number;
  /** The largest number and its error, without the number; default: that of the type. */
  readonly max?: { readonly value: number; readonly message: string };
  /** A special message for some texts. */
  readonly explain?: (text: string, at: FieldReader) => string | undefined;
}

/** A number that the wire has, too. */
export function uint32(options: WholeOptions = {}): FieldType<number> {
  return whole(UINT32_MAX, options);
}

/** A number of hits. */
export function hits(options: WholeOptions = {}): FieldType<number> {
  return whole(LIMIT_MAX, options);
}

function whole(typeMax: number, { min = 0, max, explain }: WholeOptions): FieldType<number> {
  const range = `a whole number from 0 to ${typeMax}, unquoted`;
  return {
    accepts: `a whole number from ${min} to ${max?.value ?? typeMax}`,
    schema: {
      anyOf: [
        { type: 'integer', minimum: min, maximum: max?.value ?? typeMax },
        { type: 'string', pattern: TEXT_INTEGER },
      ],
    },
    mistakes: [
      { write: '-1', says: `"-1" must be ${range}` },
      { write: '1e3', says: `"1e3" must be ${range}`, unseen: 'JSON has no difference between 1e3 and 1000' },
      { write: '010', says: '"010" could be octal or decimal; write it without the leading zero', unseen: 'JSON has no leading zeros' },
      ...(max === undefined ? [] : [{ write: String(max.value + 1), says: `${max.value + 1} ${max.message}` }]),
    ],
    read(node, at, name) {
      const digits = node.kind === 'scalar' && node.plain ? withoutUnderscores(node.text) : '';
      const value = INTEGER.test(digits) ? Number(digits.replace('+', '')) : NaN;
      // False for NaN, too.
      if (value <= (max?.value ?? typeMax)) return value;
      if (LEADING_ZERO.test(digits))
        at.refuse(node, name, `${describe(node)} could be octal or decimal; write it without the leading zero`);
      else if (max !== undefined && value <= typeMax) at.refuse(node, name, `${value} ${max.message}`);
      else at.refuse(node, name, explain?.(digits, at) ?? `${describe(node)} must be ${range}`);
      return undefined;
    },
  };
}

const SHARE = /^(?:0?\.\d{1,9}|1(?:\.0{1,9})?)$/;

/** A share of a whole. */
export function share(): FieldType<number> {
  const range = 'a number over 0 and at most 1, such as 0.5, unquoted';
  return {
    accepts: 'a number over 0 and at most 1',
    schema: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    mistakes: [
      { write: '1.1', says: `"1.1" must be ${range}` },
      { write: '"0.5"', says: `"0.5" must be ${range}` },
    ],
    read(node, at, name) {
      const digits = node.kind === 'scalar' && node.plain ? node.text : '';
      const value = SHARE.test(digits) ? Number(digits) : NaN;
      // False for NaN, too.
      if (value > 0 && value <= 1) return value;
      at.refuse(node, name, `${describe(node)} must be ${range}`);
      return undefined;
    },
  };
}

const PERCENT = /^(?:100(?:\.0{1,2})?|\d{1,2}(?:\.\d{1,2})?)$/;

/** A percentage as a number. */
export function percent(): FieldType<number> {
  const range = 'a number from 0 to 100 with at most two decimals, unquoted';
  return {
    accepts: 'a number from 0 to 100 with at most two decimals',
    schema: { type: 'number', minimum: 0, maximum: 100 },
    mistakes: [
      { write: '101', says: `"101" must be ${range}` },
      { write: '10%', says: `"10%" must be ${range}` },
      { write: '0.125', says: `"0.125" must be ${range}`, unseen: 'JSON Schema compares no decimals' },
    ],
    read(node, at, name) {
      const digits = node.kind === 'scalar' && node.plain ? node.text : '';
      if (PERCENT.test(digits)) return Number(digits);
      at.refuse(node, name, `${describe(node)} must be ${range}`);
      return undefined;
    },
  };
}

/** A share as a percentage with its sign. */
export function percentText(): FieldType<number> {
  return textLike({
    accepts: 'a percentage over `0%` and at most `100%`, such as `2%` or `0.5%`',
    schema: { type: 'string', pattern: '^(?=.*[1-9])\\d{1,3}(\\.\\d{1,4})?%$' },
    parse: readPercentText,
    refusal: (written) => `${show(written)} is not accepted; use a percentage over 0% and at most 100%, such as 2%`,
    wrong: [{ write: '2' }, { write: '0%' }, { write: '101%', unseen: 'a schema cannot compare texts' }],
  });
}

export interface ChoiceOptions<Name extends string> {
  readonly names: readonly Name[];
  /** The kind of the names in the problem: `unknown unit "secnod"`. */
  readonly what: string;
  /** A misspelled name, and the one that was meant. */
  readonly misspelled: readonly [wrong: string, meant: NoInfer<Name>];
  /** The word to write in place of some wrong ones. Undefined: the usual list. */
  readonly explain?: (word: string) => string | undefined;
}

/** One of the names, in any case. */
export function oneOf<Name extends string>({ names, what, misspelled: [wrong, meant], explain }: ChoiceOptions<Name>): FieldType<Name> {
  const list = names.join(', ');
  return {
    accepts: names.map((name) => `\`${name}\``).join(', '),
    schema: { anyOf: [{ enum: names }, { type: 'string', pattern: `^(${names.map(inAnyCase).join('|')})$` }] },
    mistakes: [{ write: wrong, says: `unknown ${what} "${wrong}"; did you mean ${meant}? use one of ${list}` }],
    read(node, at, name) {
      const word = node.kind === 'scalar' ? node.text : '';
      const value = names.find((each) => each === word.toLowerCase());
      if (value !== undefined) return value;
      const fault = node.kind === 'scalar' ? `unknown ${what} ${show(word)}` : `is a ${node.kind}`;
      const advice = explain?.(word);
      if (advice !== undefined) {
        at.refuse(node, name, `${fault}; ${advice}`);
        return undefined;
      }
      const guessed = didYouMean(word, names);
      const guess = guessed === undefined ? '' : `did you mean ${guessed}? `;
      at.refuse(node, name, `${fault}; ${guess}use one of ${list}`);
      return undefined;
    },
  };
}

/** A regular expression for the word, as JSON Schema has no flags. */
function inAnyCase(word: string): string {
  return word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Text with a form of its own; `parse` returns undefined for any other text. */
export function textLike<T>({
  accepts,
  schema,
  parse,
  refusal,
  wrong,
}: {
  readonly accepts: string;
  readonly schema: JsonObject;
  readonly parse: (text: string) => T | undefined;
  readonly refusal: (text: string) => string;
  readonly wrong: readonly Omit<Mistake, 'says'>[];
}): FieldType<T> {
  return {
    accepts,
    schema,
    mistakes: wrong.map((mistake) => ({ ...mistake, says: refusal(mistake.write) })),
    read(node, at, name) {
      const written = readText(node, at, name);
      if (written === undefined) return undefined;
      const value = parse(written);
      if (value === undefined) at.refuse(node, name, refusal(written));
      return value;
    },
  };
}

export function kindOf(node: ConfigNode): string {
  if (isNull(node)) return 'empty';
  return node.kind === 'scalar' ? 'text' : `a ${node.kind}`;
}

function describe(node: ConfigNode): string {
  return node.kind === 'scalar' ? show(node.text) : `a ${node.kind}`;
}
