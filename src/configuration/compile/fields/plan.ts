/** The fields of a plan. */

import type { Plan } from '../../../domain/rule/plan';
import { defineLevel, type Field } from '../field-types/field';
import { listFor } from '../field-types/nested-types';
import { nonEmptyText } from '../field-types/scalar-types';
import { DESCRIPTOR, LIMITS_MAX } from './descriptor';

const field = <T>(row: Field<T, Plan>): Field<T, Plan> => row;

const { rateLimit, rateLimits } = DESCRIPTOR.fields;

const FIELDS = {
  rateLimit: { ...rateLimit, unset: '`rate_limits`', meaning: 'The limit of tenants with the plan.' },
  rateLimits: { ...rateLimits, unset: '`rate_limit`', meaning: 'Several limits. All of them apply.' },
  pool: field({
    name: 'pool',
    type: listFor('rate_limit', { accepts: `a list of 1 to ${LIMITS_MAX} maps`, schema: { minItems: 1, maxItems: LIMITS_MAX } }),
    of: 'Weir',
    unset: 'none',
    meaning: 'Limits that count once for a tenant with the plan and all tenants below it ([tenants.md](tenants.md#pools)).',
    example: '[{ name: org_pool, unit: day, requests_per_unit: 1000 }]',
    beside: 'rate_limit: { unit: day, requests_per_unit: 5 }',
    mistakes: [
      {
        write: 'pool: [{ unit: day, candidate: { requests_per_unit: 1 } }]',
        says: 'is not for a limit of a pool; remove it',
        unseen: 'the schema has one form of a limit for both places',
      },
      {
        write: 'rate_limit: { name: x, unit: day }, pool: [{ name: x, unit: day }]',
        says: '"x" is the name of another limit of the plan; use another one',
        unseen: 'compares fields',
      },
    ],
  }),
  members: field({
    name: 'members',
    type: nonEmptyText(),
    of: 'Weir',
    unset: 'the plan above, then `default_plan`',
    meaning: 'The plan of tenants below one with this plan, if they have none of their own.',
    example: 'free',
    beside: 'rate_limit: { unit: day, requests_per_unit: 5 }',
  }),
};

const NOT_NULL = { not: { type: 'null' } };
const HAS_ONE = { required: ['rate_limit'], properties: { rate_limit: NOT_NULL } };
const HAS_SEVERAL = { required: ['rate_limits'], properties: { rate_limits: NOT_NULL } };
const HAS_POOL_ALONE = { required: ['pool'], properties: { pool: NOT_NULL, rate_limit: { type: 'null' }, rate_limits: { type: 'null' } } };

export const PLAN = defineLevel({
  name: 'plan',
  title: 'a plan',
  home: 'inside a plan',
  meaning: 'A plan has a `rate_limit`, `rate_limits` or a `pool` ([tenants.md](tenants.md)). Each tenant has buckets of its own.',
  fields: FIELDS,
  conditions: { oneOf: [HAS_ONE, HAS_SEVERAL, HAS_POOL_ALONE] },
  least: { rate_limit: '{ unit: day, requests_per_unit: 5 }' },
  inFile: (map) => `{ domain: d, plans: { free: ${map} }, descriptors: [{ key: k, tenant: true, default_plan: free }] }`,
});
