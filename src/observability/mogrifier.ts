/** Mogrifiers: names of statistics that become other names and tags, by patterns in Go's syntax. */

import { RE2JS } from 're2js';
import { asError } from '../errors';

/** A mogrifier as the environment describes it. */
export interface MogrifierSpec {
  /** The environment variable of its pattern. */
  readonly variable: string;
  readonly pattern: string;
  /** With `$1` for what the first group of the pattern matched, `$0` for all of it. */
  readonly name: string;
  /** Their values likewise. */
  readonly tags: ReadonlyMap<string, string>;
}

export interface Mogrified {
  readonly name: string;
  /** As `key:value`. */
  readonly tags: readonly string[];
}

/** What one pattern may be found in again without being asked: as many names as there can well be. */
const KNOWN_MAX = 100_000;

const PLACE = /\$(\d+)/g;

/** A pattern is no regular expression of Go's, or a name asks for more groups than it has. */
export class MogrifierError extends Error {
  override readonly name = 'MogrifierError';

  constructor(
    readonly variable: string,
    readonly problem: string,
  ) {
    super(`${variable}: ${problem}`);
  }
}

export class Mogrifiers {
  private readonly compiled: readonly (MogrifierSpec & { readonly regex: RE2JS })[];
  private readonly known = new Map<string, Mogrified>();

  /** @throws MogrifierError */
  constructor(specs: readonly MogrifierSpec[]) {
    this.compiled = specs.map((spec) => ({ ...spec, regex: compile(spec) }));
  }

  /** By the first whose pattern is found in the name; without one the name stays. */
  of(name: string): Mogrified {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const mogrified = this.find(name);
    if (this.known.size >= KNOWN_MAX) this.known.clear();
    this.known.set(name, mogrified);
    return mogrified;
  }

  private find(name: string): Mogrified {
    for (const { regex, name: newName, tags } of this.compiled) {
      const matcher = regex.matcher(name);
      if (!matcher.find()) continue;
      const fill = (template: string) => template.replace(PLACE, (_, group: string) => matcher.group(Number(group)) ?? '');
      return { name: fill(newName), tags: Array.from(tags, ([key, value]) => `${key}:${fill(value)}`) };
    }
    return { name, tags: [] };
  }
}

/** RE2's syntax is Go's, and its time is linear in the name, whatever the pattern. */
function compile({ variable, pattern, name, tags }: MogrifierSpec): RE2JS {
  const regex = toRegex(variable, pattern);
  for (const [place, group] of [name, ...tags.values()].flatMap((template) => [...template.matchAll(PLACE)])) {
    if (Number(group) > regex.groupCount()) throw new MogrifierError(variable, `its pattern has ${regex.groupCount()} groups, but ${place} is asked for`);
  }
  return regex;
}

function toRegex(variable: string, pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new MogrifierError(variable, `it is no regular expression as Go writes them: ${asError(error).message}`);
  }
}
