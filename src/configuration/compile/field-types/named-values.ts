/** A map of names that the configuration chooses to values of one form. */

import { show } from '../../../lib/quote';
import type { JsonObject } from '../../../domain/rule/rule';
import type { FieldType, Mistake } from './field';
import { kindOf, readText } from './scalar-types';

const NAME_BYTES_MAX = 255;

export interface NamedValuesOptions<T> {
  /** The names in messages: `class` and `classes`. */
  readonly name: string;
  readonly names: string;
  /** The values in messages: `percentages`. */
  readonly values: string;
  readonly max: number;
  readonly accepts: string;
  readonly valueSchema: JsonObject;
  /** Undefined: the text is not accepted. */
  readonly parse: (text: string) => T | undefined;
  /** The values to write instead: `use …`. */
  readonly use: string;
  readonly mistakes: readonly Mistake[];
}

export function namedValues<T>(options: NamedValuesOptions<T>): FieldType<ReadonlyMap<string, T>> {
  const { name: one, names, values, max, accepts, valueSchema, parse, use, mistakes } = options;
  return {
    accepts,
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: max,
      propertyNames: { minLength: 1, maxLength: NAME_BYTES_MAX },
      additionalProperties: valueSchema,
    },
    mistakes: [
      { write: '[a]', says: `must be a map of ${names} to ${values}, not a list` },
      ...mistakes,
      { write: '{ "": 20% }', says: `has a ${one} of 0 bytes; use 1 to ${NAME_BYTES_MAX}` },
    ],
    read(node, at, name) {
      if (node.kind !== 'map') {
        at.refuse(node, name, `must be a map of ${names} to ${values}, not ${kindOf(node)}`);
        return undefined;
      }
      if (node.fields.size === 0 || node.fields.size > max) {
        at.refuse(node, name, `has ${node.fields.size} ${names}; name 1 to ${max}`);
        return undefined;
      }
      const made = new Map<string, T>();
      for (const [key, { value }] of node.fields) {
        const text = readText(value, at, name);
        if (text === undefined) continue;
        const parsed = parse(text);
        const bytes = Buffer.byteLength(key);
        if (bytes === 0 || bytes > NAME_BYTES_MAX) at.refuse(value, name, `has a ${one} of ${bytes} bytes; use 1 to ${NAME_BYTES_MAX}`);
        else if (parsed === undefined) at.refuse(value, name, `has ${show(text)} for ${show(key)}; ${use}`);
        else made.set(key, parsed);
      }
      return made.size === node.fields.size ? made : undefined;
    },
  };
}
