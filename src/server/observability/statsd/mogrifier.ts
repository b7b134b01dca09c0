/** Mogrifiers: rename statistics and extract tags, by patterns in Go's syntax. */

import { RE2JS } from 're2js';
import { asError } from '../../../lib/errors';

/** A mogrifier from the environment. */
export interface MogrifierSpec {
  /** Environment variable of the pattern. */
  readonly variable: string;
  readonly pattern: string;
  /** `$1` stands for the first group of the pattern, `$0` for the whole match. */
  readonly name: string;
  /** Values may contain `$1` and `$0`, too. */
  readonly tags: ReadonlyMap<string, string>;
}

export interface Mogrified {
  readonly name: string;
  /** As `key:value`. */
  readonly tags: readonly string[];
}

/** Names whose result is cached: more than an instance has. */
const KNOWN_MAX = 100_000;

const PLACE = /\$(\d+)/g;

/** The pattern is invalid in Go's syntax, or the name refers to a group that the pattern lacks. */
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

  /** Applies the first mogrifier whose pattern matches; otherwise the name stays. */
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

/** One problem for each that is invalid. */
export function problemsOfMogrifiers(specs: readonly MogrifierSpec[]): readonly { readonly name: string; readonly message: string }[] {
  return specs.flatMap((spec) => {
    try {
      compile(spec);
      return [];
    } catch (error) {
      if (error instanceof MogrifierError) return [{ name: error.variable, message: error.problem }];
      throw error;
    }
  });
}

/** RE2 has Go's syntax, and matches in linear time whatever the pattern. */
function compile({ variable, pattern, name, tags }: MogrifierSpec): RE2JS {
  const regex = toRegex(variable, pattern);
  for (const [place, group] of [name, ...tags.values()].flatMap((template) => [...template.matchAll(PLACE)])) {
    if (Number(group) > regex.groupCount())
      throw new MogrifierError(
        variable,
        `its pattern has ${regex.groupCount()} groups, so ${place} does not exist; use a group of the pattern`,
      );
  }
  return regex;
}

function toRegex(variable: string, pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new MogrifierError(variable, `invalid regular expression in Go syntax: ${asError(error).message}`);
  }
}
