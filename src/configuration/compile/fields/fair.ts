/** The fields of `fair`: members that divide each limit of a descriptor by weight. */

import { WEIGHT_MAX } from '../../../domain/rule/fair/fair';
import { defineLevel, type Field } from '../field-types/field';
import { namedValues } from '../field-types/named-values';
import { nonEmptyText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const MEMBERS_MAX = 1_000;

const USE = `use a whole number from 1 to ${WEIGHT_MAX}`;

const weights = namedValues({
  name: 'member',
  names: 'members',
  values: 'weights',
  max: MEMBERS_MAX,
  accepts: `a map of at most ${MEMBERS_MAX} values to whole numbers from 1 to ${WEIGHT_MAX}`,
  valueSchema: { type: ['integer', 'string'], minimum: 1, maximum: WEIGHT_MAX, pattern: '^0*([1-9]\\d{0,2}|1000)$' },
  parse: (text) => {
    const weight = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    return weight >= 1 && weight <= WEIGHT_MAX ? weight : undefined;
  },
  use: USE,
  mistakes: [
    { write: '{ acme: 0 }', says: `has "0" for "acme"; ${USE}` },
    { write: '{ acme: 1.5 }', says: `has "1.5" for "acme"; ${USE}` },
  ],
});

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
    type: weights,
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
