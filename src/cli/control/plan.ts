/** `weir plan`: other values for the limits of plans. */

import { AHEAD_OPTION, recordCommand } from './record-command';
import { LIMIT_FORM, readLimit, showLimit } from './values/limit-text';

export const plan = recordCommand({
  name: 'plan',
  plural: 'plans with other values than those of the configuration',
  operand: 'PLAN',
  effect: 'gives limits of the plan other values, for all of its tenants',
  options: {
    limit: {
      type: 'string',
      multiple: true,
      form: LIMIT_FORM,
      required: true,
      help: 'values of a limit, instead of those of the configuration; a plan accepts several',
    },
    ahead: AHEAD_OPTION,
  },
  list: (admin, query) => admin.call('listPlans', { query }),
  show: (admin, { domain, name }) => admin.call('getPlan', { params: { domain, plan: name } }),
  put: (admin, { domain, name, query: dryRun, common, conditions }, { limit, ahead }) => {
    const query = { ...dryRun, ...(ahead === true && { ahead }) };
    const body = { limits: limit.map(readLimit), ...common };
    return admin.call('putPlan', { params: { domain, plan: name }, query, body }, conditions);
  },
  remove: (admin, { domain, name, query, conditions }) => admin.call('deletePlan', { params: { domain, plan: name }, query }, conditions),
  fields: (record) => ({ plan: record.plan, limits: record.limits.map(showLimit).join(' ') }),
});
