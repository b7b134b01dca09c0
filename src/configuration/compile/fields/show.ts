/** The fields of `show`: the unit in which people read the hits of a limit. */

import type { Limit } from '../../../domain/rule/limit';
import { DIVISORS, type AmountForm } from '../../../lib/text/amount';
import { show } from '../../../lib/quote';
import { defineLevel, type Field, type ValuesOf } from '../field-types/field';
import { textLike } from '../field-types/scalar-types';

const field = <T>(row: Field<T, Limit>): Field<T, Limit> => row;

const UNIT = /^[\p{L}\p{N}\p{Sc}%][\p{L}\p{N}\p{Sc}%./ -]{0,14}[\p{L}\p{N}\p{Sc}%]?$/u;

const FIELDS = {
  unit: field({
    name: 'unit',
    type: textLike({
      accepts: 'a name of at most 16 letters, digits, signs of currencies, `%`, `.`, `/`, `-` and spaces',
      schema: { type: ['string', 'number'], minLength: 1, maxLength: 16 },
      parse: (text) => (UNIT.test(text) ? text : undefined),
      refusal: (text) => `${show(text)} is not accepted; use at most 16 letters, digits and signs of currencies, such as USD`,
      wrong: [{ write: '<b>', unseen: 'a schema has no classes of letters' }],
    }),
    of: 'Weir',
    required: 'name what one is, such as USD',
    meaning: 'The unit that people read.',
    example: 'USD',
    mistakes: [{ write: 'unit: ~', says: 'is missing; name what one is, such as USD' }],
  }),
  divide: field({
    name: 'divide',
    type: textLike({
      accepts: 'a power of ten from 1 to 1000000000000',
      schema: { enum: [...DIVISORS, ...DIVISORS.map(String)] },
      parse: (text) => DIVISORS.find((each) => String(each) === text),
      refusal: (text) => `${show(text)} is not a power of ten from 1 to 1000000000000; use one, such as 1000000`,
      wrong: [{ write: '60' }, { write: '0' }],
    }),
    of: 'Weir',
    default: '1',
    meaning: 'Hits in one unit.',
    example: '1000000',
  }),
};

export const SHOW = defineLevel({
  name: 'show',
  title: 'show',
  home: 'inside show',
  meaning: 'The field `show` of a limit ([usage-limits.md](usage-limits.md#budgets-in-money)).',
  fields: FIELDS,
  least: { unit: 'USD' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, show: ${map} } }] }`,
});

/** Undefined: the unit is missing, which is a problem of its own. */
export function amountFormOf({ unit, divide }: ValuesOf<typeof FIELDS>): AmountForm | undefined {
  return unit && { unit: unit.value, divide: divide?.value ?? 1 };
}
