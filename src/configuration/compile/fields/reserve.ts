/** The fields of `reserve`: the last part of each limit, only for requests whose entry says so. */

import { readPercentText } from '../../../lib/value-texts';
import { defineLevel, type Field } from '../field-types/field';
import { namedValues } from '../field-types/named-values';
import { nonEmptyText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const CLASSES_MAX = 16;

const USE = 'use a percentage over 0% and below 100%, such as 20%';

const parts = namedValues({
  name: 'class',
  names: 'classes',
  values: 'percentages',
  max: CLASSES_MAX,
  accepts: `a map of at most ${CLASSES_MAX} classes to percentages over \`0%\` and below \`100%\``,
  valueSchema: { type: 'string', pattern: '^(?=.*[1-9])\\d{1,2}(\\.\\d{1,4})?%$' },
  parse: (text) => {
    const share = readPercentText(text);
    return share === undefined || share >= 1 ? undefined : share;
  },
  use: USE,
  mistakes: [
    { write: '{ critical: 20 }', says: `has "20" for "critical"; ${USE}` },
    { write: '{ critical: 100% }', says: `has "100%" for "critical"; ${USE}` },
  ],
});

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
    type: parts,
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
