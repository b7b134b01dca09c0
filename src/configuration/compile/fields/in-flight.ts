/** The fields of `in_flight`. */

import { IN_FLIGHT_NAME, type InFlight } from '../../../domain/rule/in-flight';
import { defineLevel, type Field } from '../field-types/field';
import { failureMode, holdS, limitName, responseHeaders, slots } from '../field-types/limit-types';
import { nonEmptyText } from '../field-types/scalar-types';
import { responseBody } from './response-body';

const field = <T>(row: Field<T, InFlight>): Field<T, InFlight> => row;

const FIELDS = {
  max: field({
    name: 'max',
    type: slots(),
    of: 'Weir',
    required: 'set the number of requests that may be in flight at once',
    meaning: 'Maximum number of concurrent requests. 0 denies all.',
    example: '10',
    mistakes: [{ write: 'max: ~', says: 'is missing; set the number of requests that may be in flight at once' }],
  }),
  holdS: field({
    name: 'hold',
    type: holdS(),
    of: 'Weir',
    required: 'set the time after which an unreleased slot is free again, such as 60s',
    meaning: 'Lifetime of a slot that nobody releases.',
    example: '60s',
    mistakes: [{ write: 'hold: ~', says: 'is missing; set the time after which an unreleased slot is free again, such as 60s' }],
  }),
  id: field({
    name: 'id',
    type: nonEmptyText(),
    of: 'Weir',
    unset: 'slots are anonymous',
    meaning: 'Key of the entry whose value identifies a request.',
    example: 'k',
    mistakes: [
      {
        write: 'id: request_id',
        says: '"request_id" is not a key of this descriptor; use one of k',
        unseen: 'compares levels',
      },
    ],
    shown: ({ id }) => id && `id: ${id.key}`,
  }),
  name: field({
    name: 'name',
    type: limitName(),
    of: 'Weir',
    default: IN_FLIGHT_NAME,
    meaning: 'Name of the limit, as in `rate_limit`.',
    example: 'slots',
  }),
  failureMode: field({
    name: 'failure_mode',
    type: failureMode(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: 'The mode that decides while Redis is down, as in `rate_limit`.',
    example: 'open',
  }),
  responseHeaders: field({
    name: 'response_headers',
    type: responseHeaders(),
    of: 'Weir',
    unset: 'those of the domain',
    meaning: 'Which headers show the limit, as in `rate_limit`.',
    example: 'off',
  }),
  responseBody: field({
    name: 'response_body',
    type: responseBody(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: 'Body of the response if this limit denies, as in `rate_limit`.',
    example: 'problem',
  }),
};

export const IN_FLIGHT = defineLevel({
  name: 'in_flight',
  title: 'in_flight',
  home: 'inside in_flight',
  meaning: 'The field `in_flight` of a descriptor ([in-flight.md](in-flight.md)).',
  fields: FIELDS,
  least: { max: '3', hold: '60s' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, in_flight: ${map} }] }`,
});

export type InFlightFields = typeof FIELDS;
