/** The fields of `reservations`. */

import { DEFAULT_RESERVATION_TERMS, type Limit } from '../../../domain/rule/limit';
import { defineLevel, type Field } from '../field-types/field';
import { onLapse } from '../field-types/limit-types';
import { share } from '../field-types/scalar-types';

const field = <T>(row: Field<T, Limit>): Field<T, Limit> => row;

const FIELDS = {
  maxShare: field({
    name: 'max_share',
    type: share(),
    of: 'Weir',
    default: String(DEFAULT_RESERVATION_TERMS.maxShare),
    meaning:
      'Maximum share of the capacity that may be held at once; at least one hit. A larger request is reduced, see `granted_hits`; if nothing is left it is denied (`share_exhausted`).',
    example: '1',
  }),
  onLapse: field({
    name: 'on_lapse',
    type: onLapse(),
    of: 'Weir',
    default: DEFAULT_RESERVATION_TERMS.onLapse,
    meaning: '`release` restores the hits of a lapsed reservation, `charge` keeps them charged.',
    example: 'charge',
  }),
};

export const RESERVATIONS = defineLevel({
  name: 'reservations',
  title: 'reservations',
  home: 'inside reservations',
  meaning: 'The field `reservations` of a limit ([reservations.md](reservations.md)).',
  fields: FIELDS,
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, reservations: ${map} } }] }`,
});
