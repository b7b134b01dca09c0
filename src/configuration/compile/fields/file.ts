/** The fields at the root of a file: the domain, and what applies to all of it. */

import { PREFERRED_ALGORITHM } from '../../../domain/algorithm/algorithms';
import { toText } from '../../../domain/descriptor/byte-string';
import { ENTRIES_MAX } from '../../../domain/descriptor/descriptor-bounds';
import type { Domain } from '../../../domain/rule/rule-set';
import { defineLevel, type Field } from '../field-types/field';
import { algorithm, failureMode, leases, responseHeaders } from '../field-types/limit-types';
import { keyList, listFor, namedMapsFor } from '../field-types/nested-types';
import { flag, nonEmptyText, oneOf } from '../field-types/scalar-types';
import { responseBody } from './response-body';

const field = <T>(row: Field<T, Domain>): Field<T, Domain> => row;

/** Levels of descriptors: a request has at most this number of entries, so deeper ones could never match. */
export const NESTING_MAX = ENTRIES_MAX;

/** Plans of a domain. */
export const PLANS_MAX = 1_000;

/** Keys in `require`: each request is looked through for all of them. */
const REQUIRED_MAX = 16;

/** Bytes of a plan's name. Control data name it, too. */
export const PLAN_NAME_BYTES_MAX = 255;

const FIELDS = {
  domain: field({
    name: 'domain',
    type: nonEmptyText(),
    of: 'envoyproxy/ratelimit',
    required: 'give it some text',
    meaning: "Name of the domain, as in Envoy's rate limit filter. All of it belongs into one file, unless `MERGE_DOMAIN_CONFIG` is set.",
    example: 'shop',
    mistakes: [{ write: 'domain: ~', says: 'is missing; give it some text' }],
  }),
  descriptors: field({
    name: 'descriptors',
    type: listFor('descriptor'),
    of: 'envoyproxy/ratelimit',
    unset: 'no limits',
    meaning: `The descriptors of the first entry of a request. Descriptors nest at most ${NESTING_MAX} deep.`,
    example: '[{ key: user, rate_limit: { unit: minute, requests_per_unit: 20 } }]',
    mistakes: [
      {
        write: 'descriptors: [{ key: k }, { key: k }]',
        says: 'key "k" is configured twice here: on line 1 and on line 1; merge them',
        unseen: 'compares descriptors',
      },
    ],
  }),
  algorithm: field({
    name: 'algorithm',
    type: algorithm(),
    of: 'Weir',
    unset: '`DEFAULT_ALGORITHM`',
    meaning: 'How limits without their own `algorithm` count ([algorithms.md](algorithms.md)).',
    example: PREFERRED_ALGORITHM,
    perDomain: true,
  }),
  failureMode: field({
    name: 'failure_mode',
    type: failureMode(),
    of: 'Weir',
    unset: '`FAILURE_MODE`',
    meaning: 'The mode that decides on limits without their own `failure_mode` while Redis is down ([failure-modes.md](failure-modes.md)).',
    example: 'closed',
    perDomain: true,
  }),
  responseHeaders: field({
    name: 'response_headers',
    type: responseHeaders(),
    of: 'Weir',
    unset: '`RESPONSE_HEADERS`',
    meaning: 'Which headers show limits without their own `response_headers` ([headers.md](headers.md)).',
    example: 'ietf',
    perDomain: true,
  }),
  responseBody: field({
    name: 'response_body',
    type: responseBody(),
    of: 'Weir',
    unset: '`RESPONSE_BODY`',
    meaning: 'Body of the response if a limit without its own `response_body` denies ([headers.md](headers.md#bodies)).',
    example: 'problem',
    perDomain: true,
  }),
  leases: field({
    name: 'leases',
    type: leases(),
    of: 'Weir',
    unset: '`LEASES`',
    meaning: 'Whether limits without their own `leases` have them ([algorithms.md](algorithms.md#leases)).',
    example: 'auto',
    perDomain: true,
  }),
  overdraft: field({
    name: 'overdraft',
    type: flag(),
    of: 'Weir',
    unset: '`DEFAULT_OVERDRAFT`',
    meaning: 'Whether limits without their own `overdraft` take usage reports ([usage-limits.md](usage-limits.md)).',
    example: 'true',
    perDomain: true,
  }),
  plans: field({
    name: 'plans',
    type: namedMapsFor('plan', { max: PLANS_MAX, nameBytesMax: PLAN_NAME_BYTES_MAX, what: 'plans' }),
    of: 'Weir',
    unset: 'no plans',
    meaning: 'Plans by name: the limits of descriptors with `tenant: true` ([tenants.md](tenants.md)).',
    example: '{ free: { rate_limit: { unit: minute, requests_per_unit: 100 } } }',
    mistakes: [{ write: 'plans: {}', says: 'is empty; give it at least one plan, or remove it' }],
    perDomain: true,
  }),
  require: field({
    name: 'require',
    type: keyList({ max: REQUIRED_MAX }),
    of: 'Weir',
    unset: 'no entry is required',
    meaning:
      'Keys of entries that each request must have, in any of its descriptors, with a value that is not empty. Requests without one are denied ([identity.md](identity.md#missing-identity)).',
    example: '[user]',
    mistakes: [
      { write: 'require: []', says: 'is empty; name at least one key, or remove it' },
      { write: 'require: [user, user]', says: 'names "user" twice; remove one' },
    ],
    perDomain: true,
    shown: ({ admission }) => (admission?.required.length ? `require: ${admission.required.map(toText).join(', ')}` : undefined),
  }),
  unmatched: field({
    name: 'unmatched',
    type: oneOf({ names: ['allow', 'deny'], what: 'way to answer', misspelled: ['denny', 'deny'] }),
    of: 'Weir',
    default: 'allow',
    meaning:
      'Whether a request passes if no rule matches any of its descriptors. A rule without a limit matches, too ([identity.md](identity.md#missing-identity)).',
    example: 'deny',
    perDomain: true,
    shown: ({ admission }) => (admission?.deniesUnmatched === true ? 'unmatched: deny' : undefined),
  }),
  hashTag: field({
    name: 'hash_tag',
    type: nonEmptyText(),
    of: 'Weir',
    unset: 'all buckets of the domain are in one slot',
    meaning: 'Key of the entry whose value spreads the buckets over a Redis Cluster ([redis.md](redis.md)).',
    example: 'user',
    perDomain: true,
    shown: ({ hashTag }) => hashTag && `hash_tag: ${toText(hashTag)}`,
  }),
};

export const FILE = defineLevel({
  name: 'file',
  title: 'the file',
  home: 'at the root of the file',
  meaning: 'The root of a file is a map of these fields.',
  fields: FIELDS,
  ignored: { name: 'has no effect at the root of a file, where Envoy Gateway writes the name of an xDS resource; remove it' },
  least: { domain: 'd' },
  inFile: (map) => map,
});

export type FileFields = typeof FIELDS;
