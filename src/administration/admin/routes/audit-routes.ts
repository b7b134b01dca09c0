/** The routes of the audit log: who changed what, page by page and as an export. */

import { Type } from '@sinclair/typebox';
import { CONTROL_KINDS } from '../../../state/control/control-record';
import type { AuditEntry, AuditPage, AuditQuery } from '../../../state/control/control-store';
import type { AdminBackend } from '../backend';
import { cursorOf } from '../route/cursor';
import { showRecord } from './records/record-schemas';
import { route, type AdminRoute } from '../route/route';
import { readDescriptor } from '../route/selector-text';
import { domain, next, object, page } from '../route/schemas';
import { isShown, type AuditFilter } from '../audit-filter';

const AUDIT_ID = /^\d{1,20}-\d{1,20}$/;

/** Entries of one read of an export. */
const EXPORT_PAGE = 500;

const auditEntry = object({
  id: Type.String(),
  at: Type.String({ format: 'date-time' }),
  author: Type.String(),
  action: Type.String({ description: 'put, delete, promote, credit, reset, restore or discard_lost.' }),
  reason: Type.Optional(Type.String()),
  details: Type.Optional(Type.Unknown({ description: 'For actions that change no record, and for imports.' })),
  kind: Type.Optional(Type.Union(CONTROL_KINDS.map((kind) => Type.Literal(kind)))),
  domain: Type.Optional(Type.String()),
  name: Type.Optional(Type.String({ description: 'The tenant, the plan, or the id of the record.' })),
  before: Type.Optional(Type.Object({}, { description: 'The record before; absent: there was none.' })),
  after: Type.Optional(Type.Object({}, { description: 'The record after; absent: it was deleted.' })),
});

const order = Type.Optional(Type.Union([Type.Literal('newest'), Type.Literal('oldest')], { default: 'newest' }));

const trail = Type.Optional(
  Type.Union([Type.Literal('penalties')], {
    description: 'The trail of blocks that penalties wrote. Absent: the audit log, which holds what people did.',
  }),
);

/** Entries that a filter reads for one page. */
const SEARCHED_MAX = 5_000;

/** Entries of one read of a search. */
const SEARCH_PAGE = 500;

const list = route({
  method: 'GET',
  path: '/v1/audit',
  id: 'listAudit',
  tag: 'audit',
  role: 'support',
  summary: `Lists the audit log: who changed what, with the record before and after, and why. A page with a filter searches at most ${SEARCHED_MAX.toLocaleString('en')} entries, so it may be empty.`,
  query: object({
    ...page,
    order,
    trail,
    author: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only what this caller did.' })),
    kind: Type.Optional(
      Type.Union(
        CONTROL_KINDS.map((kind) => Type.Literal(kind)),
        { description: 'Only changes of these records.' },
      ),
    ),
    domain: Type.Optional(domain),
    tenant: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'Only what concerns this tenant: its own record, and records, credits and resets that name it as a value.',
      }),
    ),
    descriptor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'Only what concerns this descriptor, `key=value,key=value`: what selects it, and the record of its tenant. Write `%2C` for a comma in a value.',
      }),
    ),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Only entries from this time on.' })),
  }),
  reply: object({ items: Type.Array(auditEntry), next }),
  problems: ['unavailable'],
  handle: async ({ query, pageMax }, { control }) => {
    const {
      order: first = 'newest',
      trail: from,
      limit = pageMax,
      cursor,
      descriptor,
      since,
      author,
      kind,
      domain: inDomain,
      tenant,
    } = query;
    const filter: AuditFilter = {
      ...(author !== undefined && { author }),
      ...(kind !== undefined && { kind }),
      ...(inDomain !== undefined && { domain: inDomain }),
      ...(tenant !== undefined && { tenant }),
      ...(descriptor !== undefined && { descriptor: readDescriptor(descriptor) }),
      ...(since !== undefined && { sinceMs: Date.parse(since) }),
    };
    const { entries, next: following } = await search(
      {
        order: first,
        ...(from && { trail: from }),
        limit: Math.min(pageMax, limit),
        ...(cursor !== undefined && { after: cursorOf(cursor, AUDIT_ID) }),
      },
      { control, filter },
    );
    return { body: { items: entries.map(showEntry), ...(following !== undefined && { next: following }) } };
  },
});

interface Searched extends Pick<AdminBackend, 'control'> {
  readonly filter: AuditFilter;
}

/** Reads on until the page is full, the log ends, or enough was searched. */
async function search({ trail: from, order, limit, after }: AuditQuery, { control, filter }: Searched): Promise<AuditPage> {
  const isFiltered = Object.keys(filter).length > 0;
  const entries: AuditEntry[] = [];
  let cursor = after;
  for (let searched = 0; searched < SEARCHED_MAX;) {
    const read = await control.audit({
      order,
      ...(from && { trail: from }),
      limit: isFiltered ? SEARCH_PAGE : limit,
      ...(cursor !== undefined && { after: cursor }),
    });
    for (const entry of read.entries) {
      // The entries before it are older still.
      if (order === 'newest' && filter.sinceMs !== undefined && entry.atMs < filter.sinceMs) return { entries };
      if (isShown(entry, filter)) entries.push(entry);
      if (entries.length === limit && (entry !== read.entries.at(-1) || read.next !== undefined)) return { entries, next: entry.id };
    }
    if (read.next === undefined || read.entries.length === 0) return { entries };
    cursor = read.next;
    searched += read.entries.length;
  }
  return { entries, ...(cursor !== undefined && { next: cursor }) };
}

const exportAll = route({
  method: 'GET',
  path: '/v1/audit/export',
  id: 'exportAudit',
  tag: 'audit',
  role: 'support',
  summary: 'Exports the audit log, the oldest entry first, as lines of JSON (application/x-ndjson).',
  query: object({
    after: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Only entries after the one with this id.' })),
  }),
  reply: auditEntry,
  problems: ['unavailable'],
  handle: ({ query: { after } }, backend) =>
    Promise.resolve({ lines: allEntries(after === undefined ? undefined : cursorOf(after, AUDIT_ID, 'query/after'), backend) }),
});

async function* allEntries(after: string | undefined, { control }: AdminBackend) {
  let cursor = after;
  for (;;) {
    const { entries, next: following } = await control.audit({
      order: 'oldest',
      limit: EXPORT_PAGE,
      ...(cursor !== undefined && { after: cursor }),
    });
    for (const entry of entries) yield showEntry(entry);
    if (following === undefined) return;
    cursor = following;
  }
}

function showEntry({ id, atMs, author, action, reason, details, key, before, after }: AuditEntry) {
  return {
    id,
    at: new Date(atMs).toISOString(),
    author,
    action,
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && { details: parse(details) }),
    ...key,
    ...(before !== undefined && { before: showRecord(before) }),
    ...(after !== undefined && { after: showRecord(after) }),
  };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

export const AUDIT_ROUTES: readonly AdminRoute[] = [list, exportAll];
