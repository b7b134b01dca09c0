/** Parses a command line as Go's flag package does, for the commands that replace those of envoyproxy/ratelimit. */

import { UsageError } from '../usage-error';

/** `list` may be repeated. */
export type FlagKinds = Readonly<Record<string, 'string' | 'boolean' | 'list'>>;

export type FlagValues<Kinds extends FlagKinds> = {
  readonly [Name in keyof Kinds]: Kinds[Name] extends 'boolean'
    ? boolean
    : Kinds[Name] extends 'list'
      ? readonly string[]
      : string | undefined;
};

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((word) => [word, false] as const),
]);

/**
 * `-name value` and `-name=value`, with one dash or two; a boolean takes its value only after `=`. Parsing stops at the first
 * word that is not a flag, and ignores the rest.
 *
 * @throws UsageError
 */
export function readGoFlags<const Kinds extends FlagKinds>(args: readonly string[], kinds: Kinds): FlagValues<Kinds> {
  const values: Record<string, unknown> = Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, emptyOf(kind)]));
  const words = [...args];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const [, name = '', , inline] = /^--?([^-=][^=]*)(=(.*))?$/s.exec(word) ?? [];
    if (name === '') break;
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined)
      throw new UsageError(
        `flag provided but not defined: -${name}; the flags are ${Object.keys(kinds)
          .map((each) => `-${each}`)
          .join(', ')}`,
      );
    if (kind === 'boolean') {
      values[name] = readBoolean(name, inline ?? 'true');
      continue;
    }
    const value = inline ?? words.shift();
    if (value === undefined) throw new UsageError(`flag needs an argument: -${name}`);
    if (kind === 'list') (values[name] as string[]).push(value);
    else values[name] = value;
  }
  // The loop stored a value of the right kind under each name.
  return values as FlagValues<Kinds>;
}

function emptyOf(kind: FlagKinds[string]): unknown {
  if (kind === 'boolean') return false;
  return kind === 'list' ? [] : undefined;
}

function readBoolean(name: string, word: string): boolean {
  const value = BOOLEANS.get(word);
  if (value === undefined) throw new UsageError(`invalid boolean value ${JSON.stringify(word)} for -${name}: use true or false`);
  return value;
}
