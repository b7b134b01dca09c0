/** The rows of the table of fields (`src/configuration/compile/fields`) for a field and for a level, and how a type reads a value. */

import type { JsonObject, JsonValue } from '../../../domain/rule/rule';
import type { ConfigNode } from '../../yaml/config-node';
import type { FileProblems } from '../../problems/problem-list';

/** A value and its offset, for problems that are found later. */
export interface Located<T> {
  readonly value: T;
  readonly offset: number;
}

/** A mistake and its error: documented, tested, and tried on the JSON Schema. */
export interface Mistake {
  /** In YAML. A type has a wrong value here, a field one or more fields of its level, such as `unlimited: true, unit: day`. */
  readonly write: string;
  /** The error, without its place. */
  readonly says: string;
  /** Why the JSON Schema accepts it; absent: it does not. */
  readonly unseen?: string;
}

export interface FieldType<T> {
  /** Completes "takes …". */
  readonly accepts: string;
  /** JSON Schema of a value. */
  readonly schema: JsonObject;
  readonly mistakes: readonly Mistake[];
  /** The node is not null. Undefined: the value is unusable, and the type has reported why. */
  read(node: ConfigNode, at: FieldReader, name: string): T | undefined;
}

/** The map that is being read, for the types of its fields. */
export interface FieldReader {
  readonly path: string;
  readonly problems: FileProblems;
  /** The node of a field; undefined if it is absent or null. */
  child(name: string): ConfigNode | undefined;
  /** Reports the value; the type then returns undefined. */
  refuse(node: ConfigNode, name: string, message: string): void;
  /** Reads a map of another level; undefined if the node is not a map, which is reported. */
  readMap<F extends Fields>(node: ConfigNode, place: { readonly level: Level<F>; readonly path: string }): ValuesOf<F> | undefined;
}

/** `Made`: what the level becomes, as far as `/rlconfig` shows it. */
export interface Field<T = unknown, Made = never> {
  /** The key in YAML. */
  readonly name: string;
  readonly type: FieldType<T>;
  /** Where the field comes from. */
  readonly of: 'envoyproxy/ratelimit' | 'Weir';
  /** The value of an absent field, as in YAML. */
  readonly default?: string;
  /** The same in words, if it is not a single value. */
  readonly unset?: string;
  /** For a field that must be given: what to do when it is missing. */
  readonly required?: string;
  /** One sentence or two, for the documentation. */
  readonly meaning: string;
  /** A value in YAML. */
  readonly example: string;
  /** Other fields that the example needs, in YAML. */
  readonly beside?: string;
  /** Mistakes that the type does not know. */
  readonly mistakes?: readonly Mistake[];
  /** A field of the file that applies to the domain: all files of a domain must agree on it. */
  readonly perDomain?: true;
  /** A field of a descriptor without effect where no limit is. */
  readonly needsLimit?: true;
  /** A field of `rate_limit` without effect beside `unlimited: true`. */
  readonly counts?: true;
  /** How `/rlconfig` shows it; absent: not at all, or `src/configuration/source/describe-rules.ts` does. */
  shown?(made: Made): string | undefined;
}

/** The fields of a level by their properties: `unit_multiplier` has the property `unitMultiplier`. */
export type Fields = Readonly<Record<string, Field>>;

/** The values of a map, by property. Fields that are absent or unusable are left out. */
export type ValuesOf<F extends Fields> = { readonly [Property in keyof F]?: Located<ValueOf<F[Property]>> };

type ValueOf<F> = F extends { readonly type: FieldType<infer T> } ? T : never;

/** A map of the configuration, such as a descriptor or a `rate_limit`. */
export interface Level<F extends Fields = Fields> {
  /** As in the JSON Schema. */
  readonly name: string;
  readonly fields: F;
  /** In the order of messages and of reading. */
  readonly entries: readonly (readonly [property: string, field: Field])[];
  readonly keys: readonly string[];
  readonly known: ReadonlySet<string>;
  /** Name of the level in problems. */
  readonly title: string;
  /** Where a misplaced key belongs. */
  readonly home: string;
  /** One sentence for the documentation. */
  readonly meaning: string;
  /** Accepted keys without effect, with the reason. */
  readonly ignored: Readonly<Record<string, string>>;
  /** The part of the JSON Schema beyond the single fields. */
  readonly conditions: JsonObject;
  /** The fewest fields that make a good map, as in YAML, for the examples. */
  readonly least: Readonly<Record<string, string>>;
  /** A file with this map at the level. */
  readonly inFile: (map: string) => string;
}

export type LevelInput<F extends Fields> = Pick<Level<F>, 'name' | 'fields' | 'title' | 'home' | 'meaning' | 'inFile'> &
  Partial<Pick<Level<F>, 'ignored' | 'conditions' | 'least'>>;

export function defineLevel<const F extends Fields>(input: LevelInput<F>): Level<F> {
  const entries = Object.entries<Field>(input.fields);
  const keys = entries.map(([, { name }]) => name);
  return { ignored: {}, conditions: {}, least: {}, ...input, entries, keys, known: new Set(keys) };
}

/** The schema that also accepts null, which counts as absent. */
export function orNull(schema: JsonObject): JsonObject {
  const { type, enum: names, anyOf } = schema;
  if (typeof anyOf === 'object') return { ...schema, anyOf: [...listOf(anyOf), { type: 'null' }] };
  if (names !== undefined) return { ...schema, enum: [...listOf(names), null] };
  if (type !== undefined) return { ...schema, type: [...listOf(type), 'null'] };
  return { anyOf: [schema, { type: 'null' }] };
}

function listOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
}
