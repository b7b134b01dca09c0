/** The fields of `reserve`: the last part of each limit, only for requests whose entry says so. */

import { show } from '../../../lib/quote';
import { readPercentText } from '../../../lib/value-texts';
import { defineLevel, type Field, type FieldType } from '../field-types/field';
import { kindOf, nonEmptyText, readText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const CLASSES_MAX = 16;
const CLASS_BYTES_MAX = 255;

/** A map of classes to their parts. */
function parts(): FieldType<ReadonlyMap<string, number>> {
  return {
    accepts: `a map of at most ${CLASSES_MAX} classes to percentages over \`0%\` and below \`100%\``,
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: CLASSES_MAX,
      propertyNames: { minLength: 1, maxLength: CLASS_BYTES_MAX },
      additionalProperties: { type: 'string', pattern: '^(?=.*[1-9])\\d{1,2}(\\.\\d{1,4})?%$' },
    },
    mistakes: [
      { write: '[a]', says: 'must be a map of classes to percentages, not a list' },
      { write: '{ critical: 20 }', says: 'has "20" for "critical"; use a percentage over 0% and below 100%, such as 20%' },
      { write: '{ critical: 100% }', says: 'has "100%" for "critical"; use a percentage over 0% and below 100%, such as 20%' },
      { write: '{ "": 20% }', says: `has a class of 0 bytes; use 1 to ${CLASS_BYTES_MAX}` },
    ],
    read(node, at, name) {
      if (node.kind !== 'map') {
        at.refuse(node, name, `must be a map of classes to percentages, not ${kindOf(node)}`);
        return undefined;
      }
      if (node.fields.size === 0 || node.fields.size > CLASSES_MAX) {
        at.refuse(node, name, `has ${node.fields.size} classes; name 1 to ${CLASSES_MAX}`);
        return undefined;
      }
      const made = new Map<string, number>();
      for (const [key, { value }] of node.fields) {
        const text = readText(value, at, name);
        if (text === undefined) continue;
        const share = readPercentText(text);
        const bytes = Buffer.byteLength(key);
        if (bytes === 0 || bytes > CLASS_BYTES_MAX) at.refuse(value, name, `has a class of ${bytes} bytes; use 1 to ${CLASS_BYTES_MAX}`);
        else if (share === undefined || share >= 1)
          at.refuse(value, name, `has ${show(text)} for ${show(key)}; use a percentage over 0% and below 100%, such as 20%`);
        else made.set(key, share);
      }
      return made.size === node.fields.size ? made : undefined;
    },
  };
}

const FIELDS = {
  entry: field({
    name: 'entry',
    type: nonEmptyText(),
    of: 'Weir',
    required: 'name the key of the entry with the class, such as priority',
    meaning: 'Key of the entry whose value is the class, after the entries of the descriptor.',
    example: 'priority',
    mistakes: [
      { write: 'entry: ~', says: 'is missing; name the key of the entry with the class, such as priority' },
      {
        write: 'entry: k',
        says: '"k" is a key of this descriptor; name one that comes after its entries',
        unseen: 'compares levels',
      },
    ],
  }),
  for: field({
    name: 'for',
    type: parts(),
    of: 'Weir',
    required: 'name the classes with their parts, such as critical: 20%',
    meaning: 'The last part of each limit that is only for a class, and for classes with a smaller part.',
    example: '{ critical: 20% }',
    mistakes: [{ write: 'for: ~', says: 'is missing; name the classes with their parts, such as critical: 20%' }],
  }),
};

export const RESERVE = defineLevel({
  name: 'reserve',
  title: 'reserve',
  home: 'inside reserve',
  meaning: 'The field `reserve` of a descriptor ([algorithms.md](algorithms.md#priority)).',
  fields: FIELDS,
  least: { entry: 'priority', for: '{ critical: 20% }' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5 }, reserve: ${map} }] }`,
});
