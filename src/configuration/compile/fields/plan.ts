/** The fields of a plan. */

import { defineLevel } from '../field-types/field';
import { DESCRIPTOR } from './descriptor';

const { rateLimit, rateLimits } = DESCRIPTOR.fields;

const FIELDS = {
  rateLimit: { ...rateLimit, unset: '`rate_limits`', meaning: 'The limit of tenants with the plan.' },
  rateLimits: { ...rateLimits, unset: '`rate_limit`', meaning: 'Several limits. All of them apply.' },
};

const NOT_NULL = { not: { type: 'null' } };
const HAS_ONE = { required: ['rate_limit'], properties: { rate_limit: NOT_NULL } };
const HAS_SEVERAL = { required: ['rate_limits'], properties: { rate_limits: NOT_NULL } };

export const PLAN = defineLevel({
  name: 'plan',
  title: 'a plan',
  home: 'inside a plan',
  meaning: 'A plan has a `rate_limit` or `rate_limits` ([tenants.md](tenants.md)). Each tenant has buckets of its own.',
  fields: FIELDS,
  conditions: { oneOf: [HAS_ONE, HAS_SEVERAL] },
  least: { rate_limit: '{ unit: day, requests_per_unit: 5 }' },
  inFile: (map) => `{ domain: d, plans: { free: ${map} }, descriptors: [{ key: k, tenant: true, default_plan: free }] }`,
});
