/** `weir tenant`: the plans of tenants. */

import { recordCommand } from './record-command';

export const tenant = recordCommand({
  name: 'tenant',
  plural: 'tenants',
  operand: 'TENANT',
  effect: 'puts it on a plan',
  options: { plan: { type: 'string', form: 'PLAN', required: true, help: 'plan of the tenant' } },
  list: (admin, query) => admin.call('listTenants', { query }),
  show: (admin, { domain, name }) => admin.call('getTenant', { params: { domain, tenant: name } }),
  put: (admin, { domain, name, query, common, conditions }, { plan }) =>
    admin.call('putTenant', { params: { domain, tenant: name }, query, body: { plan: plan, ...common } }, conditions),
  remove: (admin, { domain, name, query, conditions }) =>
    admin.call('deleteTenant', { params: { domain, tenant: name }, query }, conditions),
  fields: (record) => ({ tenant: record.tenant, plan: record.plan }),
});
