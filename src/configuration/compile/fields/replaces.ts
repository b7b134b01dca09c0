/** The fields of an item of `replaces`. */

import { defineLevel, type Field } from '../field-types/field';
import { nonEmptyText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const FIELDS = {
  name: field({
    name: 'name',
    type: nonEmptyText(),
    of: 'envoyproxy/ratelimit',
    required: 'give it some text',
    meaning: 'Name of a limit of the domain.',
    example: 'per-minute',
    mistakes: [{ write: 'name: ~', says: 'is missing; give it some text' }],
  }),
};

export const REPLACED = defineLevel({
  name: 'replaces',
  title: 'an item of replaces',
  home: 'inside an item of replaces',
  meaning: 'An item of `replaces` of a limit.',
  fields: FIELDS,
  least: { name: 'a' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, replaces: [${map}] } }] }`,
});
