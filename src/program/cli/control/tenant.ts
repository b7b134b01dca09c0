/** `weir tenant`: the plans of tenants, and the limits in force for one. */

import type { Operations } from '../../../administration/admin-client/operations';
import { printable } from '../admin/printable';
import { action, type ControlAction } from './control-command';
import { runImport } from './import/run-import';
import { FORMATS } from './import/tenant-rows';
import { AHEAD_OPTION, CHECK_OPTIONS, checksOf, DOMAIN_OPTION, REASON_OPTION, recordCommand } from './record-command';
import { showEntries, selectorText } from './values/entries-text';
import { idleLines } from './values/idle-lines';
import { limitTable } from './values/limit-table';
import { fieldList } from './values/text-table';
import { showTime } from './values/until';

const records = recordCommand({
  name: 'tenant',
  plural: 'tenants',
  operand: 'TENANT',
  effect: 'puts it on a plan',
  options: {
    plan: { type: 'string', form: 'PLAN', required: true, help: 'plan of the tenant' },
    ahead: AHEAD_OPTION,
  },
  list: (admin, query) => admin.call('listTenants', { query }),
  show: (admin, { domain, name }) => admin.call('getTenant', { params: { domain, tenant: name } }),
  put: (admin, { domain, name, query: dryRun, common, conditions }, { plan, ahead }) => {
    const query = { ...dryRun, ...(ahead === true && { ahead }) };
    return admin.call('putTenant', { params: { domain, tenant: name }, query, body: { plan: plan, ...common } }, conditions);
  },
  remove: (admin, { domain, name, query, conditions }) =>
    admin.call('deleteTenant', { params: { domain, tenant: name }, query }, conditions),
  fields: (record) => ({ tenant: record.tenant, plan: record.plan }),
});

const show: ControlAction = action({
  name: 'show',
  purpose: 'Shows the plan of a tenant with its version, and the limits in force: where each comes from, and what is left.',
  operand: { form: 'TENANT' },
  options: {
    ...DOMAIN_OPTION,
    entries: { type: 'string', form: 'KEY=VALUE,KEY=VALUE', help: 'entries above the tenant, whose values the configuration leaves open' },
  },
  run: async ({ admin, values: { domain, entries }, operand: tenant, nowMs, print }) => {
    const query = entries === undefined ? {} : { entry: selectorText(entries) };
    const reply = await admin.call('getTenantLimits', { params: { domain: domain, tenant }, query });
    print(reply, () =>
      [recordText(reply, nowMs), ...reply.descriptors.map((each) => descriptorText(each, nowMs)), ...idleLines(reply.without_effect)].join(
        '\n',
      ),
    );
  },
});

const importAction: ControlAction = action({
  name: 'import',
  purpose: 'Puts the tenants of a file on plans: CSV with the columns tenant, plan and until, or JSON lines with these fields.',
  operand: { form: 'FILE' },
  options: {
    ...DOMAIN_OPTION,
    ...REASON_OPTION,
    ...CHECK_OPTIONS,
    ahead: AHEAD_OPTION,
    format: { type: 'string', form: FORMATS.join('|'), help: 'format of the file (default: by its name, .csv, .jsonl or .ndjson)' },
  },
  run: ({ admin, values, operand: file, print }) => {
    const { domain, reason, ahead, format } = values;
    return runImport({ admin, file, domain, reason, format, query: { ...checksOf(values), ...(ahead === true && { ahead }) }, print });
  },
});

type Reply = Operations['getTenantLimits']['reply'];

function recordText({ domain, tenant, record }: Reply, nowMs: number): string {
  if (record === undefined)
    return fieldList([
      ['domain', domain],
      ['tenant', tenant],
      ['plan', 'none; default_plan applies'],
    ]);
  const { plan, until, reason, author, created_at: createdAt, version } = record;
  return fieldList([
    ['domain', domain],
    ['tenant', tenant],
    ['plan', plan],
    ['until', until === undefined ? 'no end' : showTime(until, nowMs)],
    ['reason', reason],
    ['author', author],
    ['created', createdAt === undefined ? undefined : showTime(createdAt, nowMs)],
    ['version', version],
  ]);
}

function descriptorText(descriptor: Reply['descriptors'][number], nowMs: number): string {
  const { entries, needs = [], file, line, plan, plan_source: source, not_limited: why, block, pass, unlimited, limits } = descriptor;
  const lines = [`${printable(showEntries(entries))} (${file}:${line})`];
  if (needs.length > 0)
    lines.push(`  its limits depend on ${needs.join(', ')}; give --entries ${needs.map((key) => `${key}=VALUE`).join(',')}`);
  if (source?.unknown_plan !== undefined)
    lines.push(`  the configuration has no plan ${printable(source.unknown_plan)}, so the default plan applies`);
  if (plan !== undefined) lines.push(`  plan ${printable(plan)}${source?.is_default === true ? ', the default plan' : ''}`);
  for (const [word, record] of [
    ['blocked', block],
    ['unlimited', pass],
  ] as const) {
    if (record === undefined) continue;
    const end = record.until === undefined ? 'without an end' : `until ${showTime(record.until, nowMs)}`;
    lines.push(
      `  ${word} by ${record.kind} ${printable(record.id)} ${end}${record.reason === undefined ? '' : `: ${printable(record.reason)}`}`,
    );
  }
  if (why !== undefined) lines.push(`  not limited: ${why}`);
  if (unlimited) lines.push('  unlimited: allowed, not counted');
  return [...lines, ...limitTable(limits)].join('\n');
}

export const tenant = { ...records, actions: [...records.actions.map((each) => (each.name === 'show' ? show : each)), importAction] };
