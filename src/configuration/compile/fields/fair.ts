/** The fields of `fair`: members that divide each limit of a descriptor by weight. */

import { WEIGHT_MAX } from '../../../domain/rule/fair/fair';
import { show } from '../../../lib/quote';
import { defineLevel, type Field, type FieldType } from '../field-types/field';
import { kindOf, nonEmptyText, readText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const MEMBERS_MAX = 1_000;
const MEMBER_BYTES_MAX = 255;

/** A map of members to their weights. */
function weights(): FieldType<ReadonlyMap<string, number>> {
  const use = `use a whole number from 1 to ${WEIGHT_MAX}`;
  return {
    accepts: `a map of at most ${MEMBERS_MAX} values to whole numbers from 1 to ${WEIGHT_MAX}`,
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: MEMBERS_MAX,
      propertyNames: { minLength: 1, maxLength: MEMBER_BYTES_MAX },
      additionalProperties: { type: ['integer', 'string'], minimum: 1, maximum: WEIGHT_MAX, pattern: '^0*([1-9]\\d{0,2}|1000)$' },
    },
    mistakes: [
      { write: '[a]', says: 'must be a map of members to weights, not a list' },
      { write: '{ acme: 0 }', says: `has "0" for "acme"; ${use}` },
      { write: '{ acme: 1.5 }', says: `has "1.5" for "acme"; ${use}` },
      { write: '{ "": 2 }', says: `has a member of 0 bytes; use 1 to ${MEMBER_BYTES_MAX}` },
    ],
    read(node, at, name) {
      if (node.kind !== 'map') {
        at.refuse(node, name, `must be a map of members to weights, not ${kindOf(node)}`);
        return undefined;
      }
      if (node.fields.size === 0 || node.fields.size > MEMBERS_MAX) {
        at.refuse(node, name, `has ${node.fields.size} members; name 1 to ${MEMBERS_MAX}`);
        return undefined;
      }
      const made = new Map<string, number>();
      for (const [key, { value }] of node.fields) {
        const text = readText(value, at, name);
        if (text === undefined) continue;
        const weight = /^\d{1,9}$/.test(text) ? Number(text) : 0;
        const bytes = Buffer.byteLength(key);
        if (bytes === 0 || bytes > MEMBER_BYTES_MAX) at.refuse(value, name, `has a member of ${bytes} bytes; use 1 to ${MEMBER_BYTES_MAX}`);
        else if (weight < 1 || weight > WEIGHT_MAX) at.refuse(value, name, `has ${show(text)} for ${show(key)}; ${use}`);
        else made.set(key, weight);
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
    required: 'name the key of the entry with the member, such as tenant',
    meaning: 'Key of the entry whose value is the member, after the entries of the descriptor.',
    example: 'tenant',
    mistakes: [
      { write: 'entry: ~', says: 'is missing; name the key of the entry with the member, such as tenant' },
      {
        write: 'entry: k',
        says: '"k" is a key of this descriptor; name one that comes after its entries',
        unseen: 'compares levels',
      },
    ],
  }),
  weights: field({
    name: 'weights',
    type: weights(),
    of: 'Weir',
    unset: 'all have the weight 1',
    meaning: 'Weights of members. Others have the weight 1.',
    example: '{ acme: 3 }',
  }),
};

export const FAIR = defineLevel({
  name: 'fair',
  title: 'fair',
  home: 'inside fair',
  meaning: 'The field `fair` of a descriptor ([algorithms.md](algorithms.md#fair-shares)).',
  fields: FIELDS,
  least: { entry: 'tenant' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: minute, requests_per_unit: 5 }, fair: ${map} }] }`,
});
