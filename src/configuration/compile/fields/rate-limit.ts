/** The fields of a limit: `rate_limit`, or an item of `rate_limits`. */

import { ALGORITHMS, CALENDAR_ALGORITHM, PREFERRED_ALGORITHM, TRAITS } from '../../../domain/algorithm/algorithms';
import { toText } from '../../../domain/descriptor/byte-string';
import { overdraftMaxOf, type Limit } from '../../../domain/rule/limit';
import { defineLevel, type Field, type Mistake } from '../field-types/field';
import { algorithm, failureMode, leases, limitName, requestsPerUnit, responseHeaders, timeZone, unit } from '../field-types/limit-types';
import { listOf, mapOf } from '../field-types/nested-types';
import { flag, hits, uint32 } from '../field-types/scalar-types';
import { percentText } from '../../../lib/value-texts';
import { WHOLE_AT } from '../../../domain/rule/soft/soft-line';
import { UNIT_NAMES } from '../../../domain/descriptor/unit';
import { CANDIDATE } from './candidate';
import { EVENTS } from './events';
import { REPLACED } from './replaces';
import { responseBody } from './response-body';
import { RESERVATIONS } from './reservations';
import { ROLLOUT } from './rollout';
import { SHOW } from './show';
import { SOFT } from './soft';

const field = <T>(row: Field<T, Limit>): Field<T, Limit> => row;

/** Soft lines of one limit. */
const SOFT_MAX = 8;

/** Names in the `replaces` of one limit: a request checks each of its matched limits against them. */
export const REPLACES_MAX = 256;

const UNSEEN = 'compares fields';

/** A number that is too large for the algorithm that keeps every hit. */
function overLog(name: string, remembers: string): Mistake {
  const log = ALGORITHMS.find((each) => TRAITS[each].recordsMax !== undefined) ?? CALENDAR_ALGORITHM;
  const { recordsMax = 0, lighter = '' } = TRAITS[log];
  return {
    write: `overdraft: true, ${name}: ${recordsMax + 1}, algorithm: ${log}`,
    says: `${recordsMax + 1} is over ${recordsMax}, the most that ${log} ${remembers}; use ${lighter}`,
    unseen: UNSEEN,
  };
}

const CODE = (name: string): string => `\`${name}\``;
const WITH_BURST = ALGORITHMS.filter((name) => TRAITS[name].burst !== undefined).map(CODE);

const FIELDS = {
  unit: field({
    name: 'unit',
    type: unit(),
    of: 'envoyproxy/ratelimit',
    unset: 'required, except with `unlimited: true`',
    meaning:
      'Unit of the window. A month is 30 days and a year 365 days, except in calendar windows. `total`: hits for all time ([usage-limits.md](usage-limits.md#budgets-that-never-refill)).',
    example: 'minute',
    mistakes: [
      { write: 'unit: ~', says: `is missing; use one of ${UNIT_NAMES.join(', ')}` },
      { write: 'unit: 10s', says: 'unknown unit "10s"; write unit: second, unit_multiplier: 10' },
      { write: 'unlimited: true, unit: day', says: 'conflicts with unlimited: true; remove one of them' },
      {
        write: `unit: total, algorithm: ${PREFERRED_ALGORITHM}`,
        says: `total has no time in which ${PREFERRED_ALGORITHM} could restore hits; remove algorithm, or use another unit`,
        unseen: UNSEEN,
      },
      { write: 'unit: total, unit_multiplier: 2', says: '2 has no meaning with unit: total; remove it', unseen: UNSEEN },
    ],
  }),
  requestsPerUnit: field({
    name: 'requests_per_unit',
    type: requestsPerUnit(),
    of: 'envoyproxy/ratelimit',
    default: '0',
    meaning: 'Hits for each window. 0 denies every request.',
    example: '20',
    mistakes: [
      {
        write: 'unit: minute, requests_per_unit: 2.5',
        says: '"2.5" is not a whole number; the same rate is unit: minute, unit_multiplier: 2, requests_per_unit: 5',
      },
      overLog('requests_per_unit', 'remembers'),
    ],
    counts: true,
  }),
  unlimited: field({
    name: 'unlimited',
    // The schema takes "yes" for true, and then refuses the unit beside it.
    type: { ...flag(), mistakes: flag().mistakes.slice(0, 1) },
    of: 'envoyproxy/ratelimit',
    default: 'false',
    meaning: 'Requests that match are allowed and not counted. Excludes `unit` and `rate_limits`; other fields of counting have no effect.',
    example: 'true',
  }),
  name: field({
    name: 'name',
    type: limitName(),
    of: 'envoyproxy/ratelimit',
    unset: 'no name',
    meaning: 'Name of the limit, for `replaces` and for headers that clients see.',
    example: 'per-minute',
  }),
  replaces: field({
    name: 'replaces',
    type: listOf(REPLACED, { max: REPLACES_MAX, what: 'names' }),
    of: 'envoyproxy/ratelimit',
    unset: 'none',
    meaning: 'Limits that do not apply to a request that this limit applies to.',
    example: '[{ name: per-minute }]',
    mistakes: [
      {
        write: 'name: a, replaces: [{ name: a }]',
        says: '"a" is the limit\'s own name; name another limit, or remove it',
        unseen: UNSEEN,
      },
    ],
  }),
  unitMultiplier: field({
    name: 'unit_multiplier',
    type: uint32({ min: 1 }),
    of: 'Weir',
    default: '1',
    meaning: 'Number of units in the window, which is at most 100 years.',
    example: '5',
    mistakes: [
      { write: 'unit_multiplier: 0', says: '0 must be a whole number from 1 to 4294967295' },
      {
        write: 'unit: year, unit_multiplier: 101',
        says: '101 makes a window of over 100 years; use a shorter one',
        unseen: UNSEEN,
      },
    ],
    counts: true,
    shown: ({ unitMultiplier }) => (unitMultiplier === 1 ? undefined : `unit_multiplier: ${unitMultiplier}`),
  }),
  burst: field({
    name: 'burst',
    type: hits(),
    of: 'Weir',
    unset: '`requests_per_unit`; for a leaky bucket 0',
    meaning: `Hits that may come at once; in a leaky bucket, beyond the first one. Only for ${WITH_BURST.join(' and ')} ([algorithms.md](algorithms.md)).`,
    example: '50',
    mistakes: [
      {
        write: `requests_per_unit: 0, burst: 5, algorithm: ${PREFERRED_ALGORITHM}`,
        says: '5 takes over 100 years to fill at this rate; use a smaller burst or more requests_per_unit',
        unseen: UNSEEN,
      },
      {
        write: 'requests_per_unit: 60, burst: 9007199254740991, algorithm: leaky_bucket',
        says: '9007199254740991 and the first hit are over 9007199254740991; use a smaller one',
        unseen: UNSEEN,
      },
    ],
    counts: true,
  }),
  algorithm: field({
    name: 'algorithm',
    type: algorithm(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: 'How the limit counts ([algorithms.md](algorithms.md)).',
    example: CALENDAR_ALGORITHM,
    counts: true,
  }),
  calendar: field({
    name: 'calendar',
    type: flag(),
    of: 'Weir',
    default: 'false',
    meaning: `Windows of the calendar: days, weeks, months or years from midnight. Implies \`algorithm: ${CALENDAR_ALGORITHM}\`.`,
    example: 'true',
    counts: true,
    shown: ({ calendar }) => calendar && `calendar: ${calendar.timeZone}`,
  }),
  timeZone: field({
    name: 'time_zone',
    type: timeZone(),
    of: 'Weir',
    default: 'UTC',
    meaning: 'Time zone of the windows with `calendar: true`.',
    example: 'Europe/Berlin',
    counts: true,
  }),
  failureMode: field({
    name: 'failure_mode',
    type: failureMode(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: 'The mode that decides while Redis is down ([failure-modes.md](failure-modes.md)).',
    example: 'closed',
    counts: true,
    shown: ({ failureMode: mode }) => mode && `failure_mode: ${mode}`,
  }),
  responseHeaders: field({
    name: 'response_headers',
    type: responseHeaders(),
    of: 'Weir',
    unset: 'those of the domain',
    meaning: 'Which headers show the limit ([headers.md](headers.md)).',
    example: 'ietf',
    counts: true,
    shown: ({ responseHeaders: headers }) => headers && `response_headers: ${headers}`,
  }),
  responseBody: field({
    name: 'response_body',
    type: responseBody(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: 'Body of the response if this limit denies ([headers.md](headers.md#bodies)).',
    example: 'problem',
    counts: true,
    shown: ({ responseBody: body }) => body && `response_body: ${body.kind}`,
  }),
  leases: field({
    name: 'leases',
    type: leases(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: '`auto`: hits of busy buckets are charged ahead, and requests admitted without Redis ([algorithms.md](algorithms.md#leases)).',
    example: 'auto',
    counts: true,
    shown: (limit) => limit.leases && `leases: ${limit.leases}`,
  }),
  overdraft: field({
    name: 'overdraft',
    type: flag(),
    of: 'Weir',
    unset: 'that of the domain',
    meaning: "A descriptor's own hits are a usage report, charged in full, below zero too ([usage-limits.md](usage-limits.md)).",
    example: 'true',
    counts: true,
  }),
  overdraftMax: field({
    name: 'overdraft_max',
    type: hits(),
    of: 'Weir',
    unset: 'the capacity of the limit',
    meaning: 'How many hits below zero usage reports may take a bucket. Only with `overdraft: true`.',
    example: '1000',
    mistakes: [
      overLog('overdraft_max', 'remembers below zero'),
      {
        write: 'requests_per_unit: 60, overdraft: true, overdraft_max: 9007199254740991',
        says: '9007199254740991 and the limit are over 9007199254740991 together; use a smaller one',
        unseen: UNSEEN,
      },
    ],
    counts: true,
    shown(limit) {
      const max = overdraftMaxOf(limit);
      return max === undefined ? undefined : `overdraft_max: ${max}`;
    },
  }),
  soft: field({
    name: 'soft',
    type: listOf(SOFT, { max: SOFT_MAX, what: 'lines' }),
    of: 'Weir',
    unset: 'none',
    meaning: 'Used shares of the limit from which on requests pass with headers that say so ([headers.md](headers.md#soft-lines)).',
    example: '[{ at: 80%, request_headers: { x-tier: economy } }]',
    counts: true,
    shown: ({ soft }) => soft && `soft: ${soft.map(({ at }) => percentText(at / WHOLE_AT)).join(', ')}`,
  }),
  show: field({
    name: 'show',
    type: mapOf(SHOW),
    of: 'Weir',
    unset: 'hits',
    meaning: 'The unit in which people read the hits of the limit ([usage-limits.md](usage-limits.md#budgets-in-money)).',
    example: '{ unit: USD, divide: 1000000 }',
    counts: true,
    shown: ({ show }) => show && `show: ${show.unit} of ${show.divide}`,
  }),
  events: field({
    name: 'events',
    type: mapOf(EVENTS),
    of: 'Weir',
    unset: 'none',
    meaning: 'Used shares of the limit that are sent as [events](events.md).',
    example: '{ at: [80%, 100%] }',
    counts: true,
    shown: ({ events }) => events && `events: ${events.map(({ at }) => percentText(at / WHOLE_AT)).join(', ')}`,
  }),
  candidate: field({
    name: 'candidate',
    type: mapOf(CANDIDATE),
    of: 'Weir',
    unset: 'none',
    meaning:
      'Another limit, which is counted beside this one and never denies; metrics say what it would have denied ([tenants.md](tenants.md#try-a-limit-first)).',
    example: '{ requests_per_unit: 60 }',
    counts: true,
    shown: ({ candidate }) => {
      if (candidate === undefined) return undefined;
      const { requestsPerUnit, unit, unitMultiplier, algorithm } = CANDIDATE.fields;
      const parts = [
        `${unit.name}=${candidate.unit.toUpperCase()} ${requestsPerUnit.name}=${candidate.requestsPerUnit}`,
        `${unitMultiplier.name}=${candidate.unitMultiplier} ${algorithm.name}=${candidate.algorithm}`,
      ];
      const { by, percent } = candidate.stage?.values ?? {};
      if (by !== undefined) parts.push(`${ROLLOUT.fields.by.name}=${toText(by)} ${ROLLOUT.fields.percent.name}=${percent}`);
      return `candidate: ${parts.join(' ')}`;
    },
  }),
  reservations: field({
    name: 'reservations',
    type: mapOf(RESERVATIONS),
    of: 'Weir',
    unset: 'the defaults of its fields',
    meaning: 'Terms of reservations under the limit ([reservations.md](reservations.md)).',
    example: '{ max_share: 1, on_lapse: charge }',
    counts: true,
    shown: ({ reservations }) => {
      if (reservations === undefined) return undefined;
      const { maxShare, onLapse } = RESERVATIONS.fields;
      return `reservations: ${maxShare.name} ${reservations.maxShare} ${onLapse.name} ${reservations.onLapse}`;
    },
  }),
};

const UNLIMITED = {
  required: ['unlimited'],
  properties: { unlimited: { not: { enum: [false, null, 'n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF'] } } },
};
const HAS_UNIT = { required: ['unit'], properties: { unit: { not: { type: 'null' } } } };

export const RATE_LIMIT = defineLevel({
  name: 'rate_limit',
  title: 'rate_limit',
  home: 'inside rate_limit',
  meaning: 'A limit: `rate_limit` of a descriptor, or an item of `rate_limits`.',
  fields: FIELDS,
  conditions: { if: UNLIMITED, then: { not: HAS_UNIT }, else: HAS_UNIT },
  least: { unit: 'day', requests_per_unit: '5' },
  inFile: (map) => `{ domain: d, descriptors: [{ key: k, rate_limit: ${map} }] }`,
});

export type RateLimitFields = typeof FIELDS;
