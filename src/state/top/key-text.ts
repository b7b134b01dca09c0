/** The key of a descriptor under its rule, and its text for people. */

import { createHash } from 'node:crypto';
import { toText } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import type { SharedEntry } from '../../domain/rule/shared-entry';
import { TOP_TEXT_BYTES_MAX } from './top-keys';

/** Hexadecimal digits of a hash that replaces the end of a text. */
const HASH_CHARS = 16;

/** The fewest characters of a part in a key, its hash included. */
const PART_CHARS_MIN = HASH_CHARS + 1;

/** A level whose text is the same for every descriptor of the rule. */
interface FixedLevel {
  readonly text: string;
}

/** A level whose value differs, and perhaps its key. */
interface VariableLevel {
  /** Undefined: the key differs too. */
  readonly keyText: string | undefined;
}

type Level = FixedLevel | VariableLevel;

/**
 * The differences between the descriptors of one rule. A key consists of these alone: for most rules it is the value of one entry, as it
 * is, so that finding a counter builds no text.
 */
export class KeyForm {
  private readonly levels: readonly Level[];
  /** The levels with a variable value; `hasKeys`: some also have a variable key. */
  private readonly variable: readonly number[];
  private readonly hasKeys: boolean;
  private readonly partCharsMax: number;
  /** The level of the only variable value; -1: a key has none or several parts. */
  private readonly only: number;

  /** `path`: `Rule.path`, or empty for entries without a rule. `entries`: any of the rule. */
  constructor({ path, entries, shared = [] }: KeyFormInput) {
    this.levels = entries.map((entry, level) => levelOf(entry, { pathText: path[level], isShared: shared[level] !== undefined }));
    this.variable = this.levels.flatMap((level, i) => ('text' in level ? [] : [i]));
    this.hasKeys = this.levels.some((level) => 'keyText' in level && level.keyText === undefined);
    const parts = this.variable.length * (this.hasKeys ? 2 : 1);
    this.partCharsMax = Math.max(PART_CHARS_MIN, Math.floor(TOP_TEXT_BYTES_MAX / Math.max(1, parts)));
    this.only = parts === 1 ? (this.variable[0] ?? -1) : -1;
  }

  /** Differs between forms under which equal keys mean different entries. */
  get signature(): string {
    return this.levels.map((level) => ('text' in level ? `=${level.text}` : (level.keyText ?? '*'))).join('\n');
  }

  /** Equal for equal entries only, unless their long parts have equal hashes. The entries must be of the same rule. */
  keyOf(entries: readonly Entry[]): string {
    if (this.only >= 0) return this.part(entries[this.only]?.value ?? '');
    let lengths = '';
    let parts = '';
    for (const level of this.variable) {
      const entry = entries[level];
      if (entry === undefined) continue;
      if (this.hasKeys) {
        const name = this.part(entry.key);
        lengths += `${name.length},`;
        parts += name;
      }
      const value = this.part(entry.value);
      lengths += `${value.length},`;
      parts += value;
    }
    return `${lengths};${parts}`;
  }

  textOf(key: string): string {
    const parts = this.only >= 0 ? [key] : partsOf(key);
    let at = 0;
    const nextPart = () => escapeText(parts[at++] ?? '');
    const texts = this.levels.map((level) => {
      if ('text' in level) return level.text;
      const name = this.hasKeys ? nextPart() : level.keyText;
      return `${level.keyText ?? name ?? ''}=${nextPart()}`;
    });
    return shortenText(texts.join(','));
  }

  private part(text: ByteString): ByteString {
    return text.length <= this.partCharsMax ? text : `${text.slice(0, this.partCharsMax - PART_CHARS_MIN)}~${hashOf(text)}`;
  }
}

export interface KeyFormInput {
  readonly path: readonly string[];
  readonly entries: readonly Entry[];
  /** `Rule.shareThreshold`. */
  readonly shared?: readonly (SharedEntry | undefined)[] | undefined;
}

/** At most TOP_TEXT_BYTES_MAX bytes. */
export function shortenText(text: string): string {
  // A character has at most three bytes of UTF-8 for each unit of its length.
  if (3 * text.length <= TOP_TEXT_BYTES_MAX) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= TOP_TEXT_BYTES_MAX) return text;
  let end = TOP_TEXT_BYTES_MAX - PART_CHARS_MIN;
  // Not in the middle of a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}~${hashOf(text)}`;
}

/** A level with a star in its path is variable, key and value: its pattern could match its own text literally. */
function levelOf(
  { key, value }: Entry,
  { pathText, isShared }: { readonly pathText: string | undefined; readonly isShared: boolean },
): Level {
  const keyText = toText(key);
  if (pathText === undefined) return { keyText: undefined };
  if (isShared) {
    const pattern = pathText.startsWith(`${keyText}_`) ? pathText.slice(keyText.length + 1) : undefined;
    return { text: pattern === undefined ? escapeText(pathText) : `${escapeText(key)}=${escapeText(pattern)}` };
  }
  if (pathText.includes('*')) return { keyText: undefined };
  // A caller that brings its limit chooses the keys.
  if (pathText === keyText) return { keyText: shortenText(escapeText(key)) };
  if (pathText === `${keyText}_${toText(value)}`) return { text: shortenText(`${escapeText(key)}=${escapeText(value)}`) };
  return { keyText: undefined };
}

/** Splits a key of several parts. */
function partsOf(key: string): string[] {
  const end = key.indexOf(';');
  let at = end + 1;
  return key
    .slice(0, end)
    .split(',')
    .slice(0, -1)
    .map((length) => key.slice(at, (at += Number(length))));
}

/** Escaped as `weir explain --descriptor` reads it. Unprintable bytes are shown as `\xHH`. */
function escapeText(bytes: ByteString): string {
  const escaped = bytes.replace(/[\\,=]/g, '\\$&');
  const text = toText(escaped);
  return UNPRINTABLE.test(text) ? escaped.replace(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`) : text;
}

const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}\uFFFD]/u;

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);
}
