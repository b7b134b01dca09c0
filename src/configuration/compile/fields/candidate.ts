/** The fields of a candidate: another limit, tried beside the one in force. */

import { CALENDAR_ALGORITHM } from '../../../domain/algorithm/algorithms';
import type { Limit } from '../../../domain/rule/limit';
import { defineLevel, type Field } from '../field-types/field';
import { algorithm, requestsPerUnit, timeZone, unit } from '../field-types/limit-types';
import { mapOf } from '../field-types/nested-types';
import { ROLLOUT } from './rollout';
import { flag, hits, uint32 } from '../field-types/scalar-types';

const field = <T>(row: Field<T, Limit>): Field<T, Limit> => row;

const OF_LIMIT = 'that of the limit';

const FIELDS = {
  requestsPerUnit: field({
    name: 'requests_per_unit',
    type: requestsPerUnit(),
    of: 'Weir',
    required: 'give it a number',
    meaning: 'Hits for each window.',
    example: '60',
    mistakes: [{ write: 'requests_per_unit: ~', says: 'is missing; give it a number' }],
  }),
  unit: field({ name: 'unit', type: unit(), of: 'Weir', unset: OF_LIMIT, meaning: 'Unit of the window.', example: 'hour' }),
  unitMultiplier: field({
    name: 'unit_multiplier',
    type: uint32({ min: 1 }),
    of: 'Weir',
    unset: `${OF_LIMIT}, or 1 with a \`unit\` of its own`,
    meaning: 'Number of units in the window.',
    example: '5',
    mistakes: [{ write: 'unit_multiplier: 0', says: '0 must be a whole number from 1 to 4294967295' }],
  }),
  burst: field({
    name: 'burst',
    type: hits(),
    of: 'Weir',
    unset: `${OF_LIMIT}, unless the candidate has an \`algorithm\` of its own`,
    meaning: 'Hits that may come at once.',
    example: '50',
  }),
  algorithm: field({
    name: 'algorithm',
    type: algorithm(),
    of: 'Weir',
    unset: OF_LIMIT,
    meaning: 'How the candidate counts.',
    example: CALENDAR_ALGORITHM,
  }),
  calendar: field({
    name: 'calendar',
    type: flag(),
    of: 'Weir',
    unset: `${OF_LIMIT}, unless the candidate has an \`algorithm\` of its own`,
    meaning: 'Windows of the calendar.',
    example: 'true',
  }),
  timeZone: field({
    name: 'time_zone',
    type: timeZone(),
    of: 'Weir',
    unset: OF_LIMIT,
    meaning: 'Time zone of the windows with `calendar: true`.',
    example: 'Europe/Berlin',
    beside: 'calendar: true',
  }),
  rollout: field({
    name: 'rollout',
    type: mapOf(ROLLOUT),
    of: 'Weir',
    unset: 'none: the candidate never denies',
    meaning: 'The part of the requests that the candidate decides ([stages.md](stages.md)).',
    example: '{ by: k, percent: 10 }',
  }),
};

export const CANDIDATE = defineLevel({
  name: 'candidate',
  title: 'candidate',
  home: 'inside candidate',
  meaning: 'The field `candidate` of a limit ([tenants.md](tenants.md#try-a-limit-first)). A field that it leaves out is as in the limit.',
  fields: FIELDS,
  least: { requests_per_unit: '3' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, candidate: ${map} } }] }`,
});
