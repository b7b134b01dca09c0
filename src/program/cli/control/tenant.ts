/** `weir tenant`: the plans of tenants, and the limits in force for one. */

import type { Operations } from '../../../administration/admin-client/operations';
import { printable } from '../admin/printable';
import { action, type ControlAction } from './control-command';
import { runImport } from './import/run-import';
import { FORMATS } from './import/tenant-rows';
import { AHEAD_OPTION, CHECK_OPTIONS, checksOf, DOMAIN_OPTION, REASON_OPTION, recordCommand } from './record-command';
import { treeText, TREE_PAGE, type TreeReply } from './values/tenant-tree';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { AdminError } from '../admin/admin-error';
import type { AdminClient } from '../admin/admin-client';
import { showEntries, selectorText } from './values/entries-text';
import { idleLines } from './values/idle-lines';
import { limitTable } from './values/limit-table';
import { fieldList } from './values/text-table';
import { showTime } from './values/until';

const records = recordCommand({
  name: 'tenant',
  plural: 'tenants',
  operand: 'TENANT',
  effect: 'puts it on a plan, or below another tenant',
  options: {
    plan: { type: 'string', form: 'PLAN', help: "plan of the tenant; '' for none of its own (default: as it is)" },
    parent: { type: 'string', form: 'TENANT', help: "tenant above it, whose pools it shares; '' for none (default: as it is)" },
    ahead: AHEAD_OPTION,
  },
  list: (admin, query) => admin.call('listTenants', { query }),
  show: (admin, { domain, name }) => admin.call('getTenant', { params: { domain, tenant: name } }),
  put: async (admin, { domain, name, query: dryRun, common, conditions }, { plan, parent, ahead }) => {
    const query = { ...dryRun, ...(ahead === true && { ahead }) };
    const params = { domain, tenant: name };
    const isWhole = plan !== undefined && parent !== undefined;
    const { version, ...known } = isWhole ? {} : await knownTenant(admin, params);
    const place = { ...named('plan', plan ?? known.plan), ...named('parent', parent ?? known.parent) };
    // The plan or parent that stays must not change meanwhile.
    const kept = version === undefined || Object.keys(conditions).length > 0 ? conditions : { ifMatch: `"${version}"` };
    return admin.call('putTenant', { params, query, body: { ...place, ...common } }, kept);
  },
  remove: (admin, { domain, name, query, conditions }) =>
    admin.call('deleteTenant', { params: { domain, tenant: name }, query }, conditions),
  fields: (record) => ({ tenant: record.tenant, plan: record.plan, parent: record.parent }),
});

interface KnownTenant {
  readonly plan?: string;
  readonly parent?: string;
  readonly version?: number;
}

/** Nothing without a record. */
async function knownTenant(admin: AdminClient, params: { readonly domain: string; readonly tenant: string }): Promise<KnownTenant> {
  try {
    return await admin.call('getTenant', { params });
  } catch (error) {
    if (error instanceof AdminError && error.status === 404) return {};
    throw error;
  }
}

function named(field: 'plan' | 'parent', value: string | undefined): Readonly<Partial<Record<'plan' | 'parent', string>>> {
  return value === undefined || value === '' ? {} : { [field]: value };
}

const tree: ControlAction = action({
  name: 'tree',
  purpose: 'Shows the tenants above and directly below a tenant, and what is left of the own limits and of the pool of each.',
  operand: { form: 'TENANT' },
  options: {
    ...DOMAIN_OPTION,
    entries: { type: 'string', form: 'KEY=VALUE,KEY=VALUE', help: 'entries above the tenant, whose values the configuration leaves open' },
    ...COUNT_OPTION,
  },
  run: async ({ admin, values: { domain, entries, count }, operand: tenant, print }) => {
    const entry = entries === undefined ? undefined : selectorText(entries);
    let levels: TreeReply['levels'] = [];
    const listed = await readPages(count, async ({ limit, cursor }) => {
      const query = { limit: Math.min(limit, TREE_PAGE), ...(cursor !== undefined && { cursor }), ...(entry !== undefined && { entry }) };
      const page = await admin.call('getTenantTree', { params: { domain, tenant }, query });
      levels = page.levels;
      return { items: page.children, ...(page.next !== undefined && { next: page.next }) };
    });
    print({ domain, levels, children: listed.items }, () => withMore(treeText(levels, listed.items), listed));
  },
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
  purpose: 'Puts the tenants of a file on plans: CSV with the columns tenant, plan, parent and until, or JSON lines with these fields.',
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
  const { plan, parent, until, reason, author, created_at: createdAt, version } = record;
  return fieldList([
    ['domain', domain],
    ['tenant', tenant],
    ['plan', plan ?? 'none of its own'],
    ['parent', parent],
    ['until', until === undefined ? 'no end' : showTime(until, nowMs)],
    ['reason', reason],
    ['author', author],
    ['created', createdAt === undefined ? undefined : showTime(createdAt, nowMs)],
    ['version', version],
  ]);
}

function descriptorText(descriptor: Reply['descriptors'][number], nowMs: number): string {
  const {
    entries,
    needs = [],
    file,
    line,
    plan,
    plan_source: source,
    not_limited: why,
    block,
    pass,
    unlimited,
    limits,
    above = [],
  } = descriptor;
  const lines = [`${printable(showEntries(entries))} (${file}:${line})`];
  if (needs.length > 0)
    lines.push(`  its limits depend on ${needs.join(', ')}; give --entries ${needs.map((key) => `${key}=VALUE`).join(',')}`);
  if (source?.unknown_plan !== undefined)
    lines.push(`  the configuration has no plan ${printable(source.unknown_plan)}, so the default plan applies`);
  const membersOf = source?.members_of === undefined ? '' : `, which the plan of ${printable(source.members_of)} names for members`;
  if (plan !== undefined) lines.push(`  plan ${printable(plan)}${source?.is_default === true ? ', the default plan' : membersOf}`);
  if (above.length > 0) lines.push(`  below ${above.map((each) => `${printable(each.tenant)} (plan ${printable(each.plan)})`).join(', ')}`);
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

export const tenant = { ...records, actions: [...records.actions.map((each) => (each.name === 'show' ? show : each)), tree, importAction] };
