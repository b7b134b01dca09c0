/** `weir plan`: the plans of the configuration, and other values for their limits. */

import type { PlanInForce } from '../../../administration/admin-client/operations';
import { action, type ControlAction } from './control-command';

import { AHEAD_OPTION, DOMAIN_OPTION, recordCommand } from './record-command';
import { LIMIT_FORM, readLimit, showLimit } from './values/limit-text';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { fieldList, textTable } from './values/text-table';
import { shortTime, showTime } from './values/until';

const records = recordCommand({
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

const list: ControlAction = action({
  name: 'list',
  purpose: 'Lists the plans of the configuration, with the place of each and its values at run time.',
  options: { domain: { type: 'string', form: 'DOMAIN', help: 'domain of the configuration' }, ...COUNT_OPTION },
  run: async ({ admin, values: { domain, count }, print }) => {
    const query = { ...(domain !== undefined && { domain }) };
    const listed = await readPages(count, (page) => admin.call('listPlansInForce', { query: { ...query, ...page } }));
    print({ items: listed.items }, () => withMore(planTable(listed.items), listed));
  },
});

function planTable(items: readonly PlanInForce[]): string {
  if (items.length === 0) return 'There are none: the configuration has no plans.';
  return textTable(
    ['DOMAIN', 'PLAN', 'LIMITS', 'FROM', 'VALUES AT RUN TIME', 'UNTIL', 'AUTHOR', 'VERSION'],
    items.map((item) => [item.domain, item.plan, limitsText(item), placeText(item), valuesText(item), ...writtenCells(item)]),
  );
}

function writtenCells({ values }: PlanInForce) {
  return [values?.until && shortTime(values.until), values?.author, values?.version];
}

function limitsText({ configured, unlimited, limits }: PlanInForce): string | undefined {
  if (!configured) return undefined;
  return unlimited ? 'unlimited' : limits.map(showLimit).join(' ');
}

function placeText({ configured, file, line }: PlanInForce): string {
  if (!configured) return 'not in the configuration';
  return file === undefined || line === undefined ? (file ?? 'the configuration') : `${file}:${line}`;
}

function valuesText({ values, effect, warnings }: PlanInForce): string | undefined {
  if (values === undefined) return undefined;
  const text = values.limits.map(showLimit).join(' ');
  if (effect === 'in_force') return text;
  return `${text} (${effect === 'none' ? 'no effect' : 'in part'}: ${warnings[0]?.message ?? ''})`;
}

const show: ControlAction = action({
  name: 'show',
  purpose: 'Shows a plan: its limits and their place in the configuration, and its values at run time with their version.',
  operand: { form: 'PLAN' },
  options: DOMAIN_OPTION,
  run: async ({ admin, values: { domain }, operand: name, nowMs, print }) => {
    const { items } = await admin.call('listPlansInForce', { query: { domain, plan: name } });
    const [found] = items;
    // Its refusal says that the plan does not exist.
    if (found === undefined) {
      await admin.call('getPlan', { params: { domain, plan: name } });
      return;
    }
    print(found, () => planText(found, nowMs));
  },
});

function planText(found: PlanInForce, nowMs: number): string {
  const { values } = found;
  return fieldList([
    ['domain', found.domain],
    ['plan', found.plan],
    ['limits', limitsText(found)],
    ['from', placeText(found)],
    ['values at run time', valuesText(found) ?? 'none'],
    ...(values === undefined
      ? []
      : ([
          ['until', values.until === undefined ? 'no end' : showTime(values.until, nowMs)],
          ['reason', values.reason],
          ['author', values.author],
          ['created', values.created_at && showTime(values.created_at, nowMs)],
          ['version', values.version],
        ] as const)),
  ]);
}

const SHOWN: Readonly<Record<string, ControlAction>> = { list, show };

export const plan = { ...records, actions: records.actions.map((each) => SHOWN[each.name] ?? each) };
