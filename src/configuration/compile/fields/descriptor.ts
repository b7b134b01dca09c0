/** The fields of a descriptor. */

import { toText } from '../../../domain/descriptor/byte-string';
import { fairText } from '../../../domain/rule/fair/fair';
import { reserveText } from '../../../domain/rule/reserve/reserve';
import type { Rule } from '../../../domain/rule/rule';
import { defineLevel, type Field } from '../field-types/field';
import { metadata } from '../field-types/metadata';
import { listFor, mapFor, mapOf } from '../field-types/nested-types';
import { flag, nonEmptyText, oneOf, text } from '../field-types/scalar-types';
import { FAIR } from './fair';
import { IN_FLIGHT } from './in-flight';
import { PENALTY } from './penalty';
import { RESERVE } from './reserve';

const field = <T>(row: Field<T, Rule>): Field<T, Rule> => row;

/** Limits of one descriptor. Each adds a bucket to every request that matches. */
export const LIMITS_MAX = 16;

const COMPARES = 'compares fields';

const FIELDS = {
  key: field({
    name: 'key',
    type: nonEmptyText(),
    of: 'envoyproxy/ratelimit',
    required: 'give it some text',
    meaning: 'Key of the entry that the descriptor matches. A `*` stands for any text, or none.',
    example: 'user',
    mistakes: [{ write: 'key: ~', says: 'is missing; give it some text' }],
  }),
  value: field({
    name: 'value',
    type: text(),
    of: 'envoyproxy/ratelimit',
    unset: 'every value, each with a bucket of its own',
    meaning:
      'Value of the entry. A `*` stands for any text, or none. An exact value wins over an address range, that over one with a `*`, and that over a key alone.',
    example: 'ann',
  }),
  match: field({
    name: 'match',
    type: oneOf({ names: ['cidr'], what: 'match', misspelled: ['cird', 'cidr'] }),
    of: 'Weir',
    unset: 'the value is compared as text',
    meaning:
      '`cidr`: the value is a range of IPv4 or IPv6 addresses, and matches the addresses in it. If an address is in several ranges, the one with the longest prefix wins. An IPv4 address in IPv6 form (`::ffff:10.1.2.3`) is one of IPv4; a port and a zone are ignored. Each address has a bucket of its own, or all share one with `share_threshold`.',
    example: 'cidr',
    beside: 'key: ip, value: 10.0.0.0/8',
    mistakes: [
      {
        write: "key: 'i*', value: 10.0.0.0/8, match: cidr",
        says: 'needs a key without a *; name the key, or remove match',
        unseen: COMPARES,
      },
      { write: 'key: ip, match: cidr', says: 'needs a value with an address range, such as 10.0.0.0/8 or 2001:db8::/32', unseen: COMPARES },
      {
        write: 'key: ip, value: 10.0.0.0/33, match: cidr',
        says: '"10.0.0.0/33" is not an address range; write it as 10.0.0.0/8 or 2001:db8::/32',
        unseen: COMPARES,
      },
      {
        write: 'key: ip, value: 10.1.2.3/8, match: cidr',
        says: '"10.1.2.3/8" has bits beyond its prefix; write 10.0.0.0/8 for the range',
        unseen: COMPARES,
      },
    ],
  }),
  rateLimit: field({
    name: 'rate_limit',
    type: mapFor('rate_limit', {
      mistakes: [{ write: '5/s', says: 'is text; write it as { unit: second, requests_per_unit: 5 }' }],
    }),
    of: 'envoyproxy/ratelimit',
    unset: 'not counted',
    meaning: 'The limit of requests that match the descriptor.',
    example: '{ unit: minute, requests_per_unit: 20 }',
  }),
  rateLimits: field({
    name: 'rate_limits',
    type: listFor('rate_limit', { accepts: `a list of 1 to ${LIMITS_MAX} maps`, schema: { minItems: 1, maxItems: LIMITS_MAX } }),
    of: 'Weir',
    unset: 'not counted',
    meaning: 'Several limits. All of them apply.',
    example: '[{ unit: second, requests_per_unit: 5 }, { unit: day, requests_per_unit: 1000 }]',
    mistakes: [
      { write: 'rate_limits: []', says: 'is empty; list at least one limit, or remove it' },
      {
        write: 'rate_limit: { unit: day }, rate_limits: [{ unit: second }]',
        says: 'conflicts with rate_limit; move that limit into the list',
      },
      {
        write: 'rate_limits: [{ unlimited: true }]',
        says: 'holds unlimited: true, which excludes other limits; use rate_limit',
        unseen: 'the schema has one form of a limit for both places',
      },
    ],
  }),
  tenant: field({
    name: 'tenant',
    type: flag(),
    of: 'Weir',
    default: 'false',
    meaning:
      'The value of this entry is a tenant: its limits are those of its plan, which operators set while Weir runs ([tenants.md](tenants.md)). Needs `plans` and `default_plan`.',
    example: 'true',
    beside: 'default_plan: free',
    mistakes: [
      {
        write: 'tenant: true',
        says: 'is missing; name the plan of tenants without one',
        unseen: COMPARES,
      },
      {
        write: 'tenant: true, default_plan: free, value: merchant_7',
        says: 'needs a descriptor for many tenants, and "merchant_7" is a single one; remove its value, or tenant',
        unseen: COMPARES,
      },
      {
        write: 'tenant: true, default_plan: free, rate_limit: { unit: day }',
        says: 'conflicts with rate_limit: the plan has the limits; move them into each plan, or remove tenant',
        unseen: COMPARES,
      },
      {
        write: 'tenant: true, default_plan: free, share_threshold: true',
        says: 'conflicts with share_threshold, which gives all values one bucket; remove one of them',
        unseen: COMPARES,
      },
    ],
  }),
  defaultPlan: field({
    name: 'default_plan',
    type: nonEmptyText(),
    of: 'Weir',
    unset: 'required with `tenant: true`',
    meaning: 'The plan of tenants that have none.',
    example: 'free',
    beside: 'tenant: true',
    mistakes: [
      {
        write: 'tenant: true, default_plan: fre',
        says: 'unknown plan "fre"; did you mean "free"? use one of "free"',
        unseen: 'compares levels',
      },
    ],
    shown: ({ tenant }) => tenant && `default_plan: ${toText(tenant.defaultPlan.name)}`,
  }),
  inFlight: field({
    name: 'in_flight',
    type: mapFor('in_flight', {
      mistakes: [{ write: '5', says: `is text; it must be a map of the keys ${IN_FLIGHT.keys.join(', ')}` }],
    }),
    of: 'Weir',
    unset: 'requests in flight are not counted',
    meaning: 'How many requests may run at once ([in-flight.md](in-flight.md)).',
    example: '{ max: 10, hold: 60s }',
    mistakes: [
      {
        write: 'in_flight: { max: 1, hold: 1s }, rate_limit: { unlimited: true }',
        says: 'conflicts with unlimited: true; remove that rate_limit, because in_flight alone limits nothing else',
        unseen: 'compares levels',
      },
    ],
  }),
  penalty: field({
    name: 'penalty',
    type: mapOf(PENALTY),
    of: 'Weir',
    unset: 'nobody is blocked',
    meaning:
      'Entries that the descriptor denies too often are blocked for a time ([tenants.md](tenants.md#block-who-is-denied-too-often)). Needs CONTROL_DATA.',
    example: '{ denials: 100, within: 1m, block: 10m }',
    needsLimit: true,
    shown: ({ penalty }) => {
      if (penalty === undefined) return undefined;
      const { denials, withinS, blockS } = PENALTY.fields;
      return `penalty: ${denials.name} ${penalty.denials} ${withinS.name} ${penalty.withinS}s ${blockS.name} ${penalty.blockS}s`;
    },
  }),
  reserve: field({
    name: 'reserve',
    type: mapOf(RESERVE),
    of: 'Weir',
    unset: 'all requests are alike',
    meaning: 'The last part of each limit is only for requests whose entry says so ([algorithms.md](algorithms.md#priority)).',
    example: '{ entry: priority, for: { critical: 20% } }',
    needsLimit: true,
    mistakes: [
      {
        write:
          'rate_limit: { unit: day }, penalty: { denials: 100, within: 1m, block: 10m }, reserve: { entry: priority, for: { critical: 20% } }',
        says: 'conflicts with penalty, whose blocks would deny the requests of all classes; remove one of them',
        unseen: COMPARES,
      },
      {
        write: 'rate_limit: { unit: day }, descriptors: [{ key: priority }], reserve: { entry: priority, for: { critical: 20% } }',
        says: '"priority" is a key of a descriptor below this one, which wins; rename one of them',
        unseen: 'compares levels',
      },
    ],
    shown: ({ reserve }) => reserve && `reserve: ${reserveText(reserve)}`,
  }),
  fair: field({
    name: 'fair',
    type: mapOf(FAIR),
    of: 'Weir',
    unset: 'who asks first may use all',
    meaning: 'Members divide each limit by weight while they ask for more than there is ([algorithms.md](algorithms.md#fair-shares)).',
    example: '{ entry: tenant, weights: { acme: 3 } }',
    beside: 'key: k, rate_limit: { unit: minute, requests_per_unit: 5 }',
    needsLimit: true,
    mistakes: [
      {
        write: 'rate_limit: { unit: day, requests_per_unit: 5 }, fair: { entry: tenant }',
        says: 'needs a limit with a window of at most an hour, since shares follow what was asked for in the window before',
        unseen: COMPARES,
      },
      {
        write: 'rate_limit: { unit: minute }, reserve: { entry: priority, for: { critical: 20% } }, fair: { entry: tenant }',
        says: 'conflicts with reserve, whose entry would be the same one; remove one of them',
        unseen: COMPARES,
      },
      {
        write: 'rate_limit: { unit: minute }, penalty: { denials: 100, within: 1m, block: 10m }, fair: { entry: tenant }',
        says: 'conflicts with penalty, whose blocks would deny the requests of all members; remove one of them',
        unseen: COMPARES,
      },
      {
        write:
          'rate_limits: [{ unit: minute, requests_per_unit: 5, algorithm: token_bucket }, { unit: minute, requests_per_unit: 9, algorithm: sliding_window_counter }], fair: { entry: tenant }',
        says: 'needs limits that count members apart: two have one window, and algorithms whose shares are counted alike; change one of them',
        unseen: COMPARES,
      },
      {
        write: 'tenant: true, default_plan: free, fair: { entry: tenant }',
        says: 'conflicts with tenant: true, which gives each tenant a limit of its own; remove one of them',
        unseen: COMPARES,
      },
      {
        write: 'rate_limit: { unit: minute }, descriptors: [{ key: tenant }], fair: { entry: tenant }',
        says: '"tenant" is a key of a descriptor below this one, which wins; rename one of them',
        unseen: 'compares levels',
      },
    ],
    shown: ({ fair }) => fair && `fair: ${fairText(fair)}`,
  }),
  descriptors: field({
    name: 'descriptors',
    type: listFor('descriptor'),
    of: 'envoyproxy/ratelimit',
    unset: 'requests with more entries do not match',
    meaning: 'The descriptors of the next entry of a request.',
    example: '[{ key: path, rate_limit: { unit: second, requests_per_unit: 5 } }]',
  }),
  shadowMode: field({
    name: 'shadow_mode',
    type: flag(),
    of: 'envoyproxy/ratelimit',
    default: 'false',
    meaning: 'Count and report, but never deny.',
    example: 'true',
    needsLimit: true,
  }),
  quotaMode: field({
    name: 'quota_mode',
    type: flag(),
    of: 'envoyproxy/ratelimit',
    default: 'false',
    meaning: 'Deny only if every other descriptor in quota mode of the request is over its limit, too.',
    example: 'true',
    needsLimit: true,
  }),
  detailedMetric: field({
    name: 'detailed_metric',
    type: flag(),
    of: 'envoyproxy/ratelimit',
    default: 'false',
    meaning: 'Show the values of all entries in metrics ([metrics.md](metrics.md)).',
    example: 'true',
    needsLimit: true,
  }),
  valueToMetric: field({
    name: 'value_to_metric',
    type: flag(),
    of: 'envoyproxy/ratelimit',
    default: 'false',
    meaning: 'Show the value of this entry in metrics, of this descriptor and those below it.',
    example: 'true',
  }),
  shareThreshold: field({
    name: 'share_threshold',
    type: flag(),
    of: 'envoyproxy/ratelimit',
    default: 'false',
    meaning: 'All values that match the `*` or the address range of this descriptor share one bucket.',
    example: 'true',
    mistakes: [
      {
        write: 'key: k, value: v, share_threshold: true',
        says: 'needs a * in the value or the key, or match: cidr: all values that match share one counter; add one of them, or remove it',
        unseen: 'compares fields',
      },
    ],
    shown: ({ shareThreshold }) => (shareThreshold.length === 0 ? undefined : 'share_threshold: true'),
  }),
  metadata: field({
    name: 'metadata',
    type: metadata(),
    of: 'envoyproxy/ratelimit',
    unset: 'none',
    meaning: 'Returned with every decision of the descriptor, as dynamic metadata of Envoy ([headers.md](headers.md)).',
    example: '{ team: checkout }',
    needsLimit: true,
  }),
};

export const DESCRIPTOR = defineLevel({
  name: 'descriptor',
  title: 'a descriptor',
  home: 'inside a descriptor',
  meaning: 'An item of `descriptors`, at the root of the file or in another descriptor.',
  fields: FIELDS,
  conditions: {
    not: {
      required: ['rate_limit', 'rate_limits'],
      properties: { rate_limit: { not: { type: 'null' } }, rate_limits: { not: { type: 'null' } } },
    },
  },
  least: { key: "'k*'" },
  inFile: (map) => `{ domain: d, plans: { free: { rate_limit: { unit: day, requests_per_unit: 5 } } }, descriptors: [${map}] }`,
});

export type DescriptorFields = typeof FIELDS;
