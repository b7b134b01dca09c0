/** The fields of `penalty`. */

import { defineLevel, type Field } from '../field-types/field';
import { holdS } from '../field-types/limit-types';
import { uint32 } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const FIELDS = {
  denials: field({
    name: 'denials',
    type: uint32({ min: 1 }),
    of: 'Weir',
    required: 'set the number of denials that lead to a block',
    meaning: 'Number of denials that lead to a block.',
    example: '100',
    mistakes: [
      { write: 'denials: 0', says: '0 must be a whole number from 1 to 4294967295' },
      { write: 'denials: ~', says: 'is missing; set the number of denials that lead to a block' },
    ],
  }),
  withinS: field({
    name: 'within',
    type: holdS(),
    of: 'Weir',
    required: 'set the time in which they count, such as 1m',
    meaning: 'Time in which the denials count.',
    example: '1m',
    mistakes: [{ write: 'within: ~', says: 'is missing; set the time in which they count, such as 1m' }],
  }),
  blockS: field({
    name: 'block',
    type: holdS(),
    of: 'Weir',
    required: 'set how long the block lasts, such as 10m',
    meaning: 'Duration of the block.',
    example: '10m',
    mistakes: [{ write: 'block: ~', says: 'is missing; set how long the block lasts, such as 10m' }],
  }),
};

export const PENALTY = defineLevel({
  name: 'penalty',
  title: 'penalty',
  home: 'inside penalty',
  meaning: 'The field `penalty` of a descriptor ([tenants.md](tenants.md#block-who-is-denied-too-often)).',
  fields: FIELDS,
  least: { denials: '100', within: '1m', block: '10m' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5 }, penalty: ${map} }] }`,
});
