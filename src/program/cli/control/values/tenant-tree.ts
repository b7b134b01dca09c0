/** Shows a tenant in its tree: a line for each tenant, indented by its level, with what is left. */

import { hitsText } from '../../../../lib/text/amount';
import type { Operations } from '../../../../administration/admin-client/operations';
import { printable } from '../../admin/printable';
import { showLimit } from './limit-text';
import { textTable } from './text-table';

export type TreeReply = Operations['getTenantTree']['reply'];

type Level = TreeReply['levels'][number];

/** Tenants of one page, which is the most that the API answers. */
export const TREE_PAGE = 50;

export function treeText(levels: readonly Level[], children: readonly Level[]): string {
  const rows = [...levels.map((level, depth) => ({ level, depth })), ...children.map((level) => ({ level, depth: levels.length }))];
  return textTable(['TENANT', 'PLAN', 'BELOW', 'LEFT'], rows.map(rowOf));
}

function rowOf({ level, depth }: { readonly level: Level; readonly depth: number }) {
  const { tenant, children, blocked, limits } = level;
  const left = limits.map((limit) => `${limit.pool ? 'pool ' : ''}${showLimit(limit)}: ${hitsText(limit.remaining, limit.show)}`);
  return [`${'  '.repeat(depth)}${printable(tenant)}`, planText(level), children, [...(blocked ? ['blocked'] : []), ...left].join('; ')];
}

function planText({ plan, is_default: isDefault, members_of: membersOf, has_record: hasRecord }: Level): string {
  if (plan === undefined) return '-';
  const why = membersOf === undefined ? (isDefault === true ? ' (default)' : '') : ` (of ${printable(membersOf)})`;
  return `${printable(plan)}${why}${hasRecord ? '' : ', no record'}`;
}
