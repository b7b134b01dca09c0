/** The routes that follow what happens: the audit log, and the live tail of decisions. */

import { Type } from '@sinclair/typebox';
import { CONTROL_KINDS } from '../../control/control-record';
import type { AuditEntry } from '../../control/control-store';
import type { AdminBackend, TailFilter } from '../backend';
import { cursorOf } from '../route/cursor';
import { showRecord } from './records/record-schemas';
import { route, type AdminRoute } from '../route/route';
import { readSelector } from '../route/selector-text';
import { domain, next, object, page } from '../route/schemas';
import { snakeKeys } from '../route/snake-keys';

const AUDIT_ID = /^\d{1,20}-\d{1,20}$/;

/** Entries of one read of an export. */
const EXPORT_PAGE = 500;

const auditEntry = object({
  id: Type.String(),
  at: Type.String({ format: 'date-time' }),
  author: Type.String(),
  action: Type.String({ description: 'put, delete, promote, credit, reset, restore or discard_lost.' }),
  reason: Type.Optional(Type.String()),
  details: Type.Optional(Type.Unknown({ description: 'For actions that change no record.' })),
  kind: Type.Optional(Type.Union(CONTROL_KINDS.map((kind) => Type.Literal(kind)))),
  domain: Type.Optional(Type.String()),
  name: Type.Optional(Type.String({ description: 'The tenant, the plan, or the id of the record.' })),
  before: Type.Optional(Type.Object({}, { description: 'The record before; absent: there was none.' })),
  after: Type.Optional(Type.Object({}, { description: 'The record after; absent: it was deleted.' })),
});

const order = Type.Optional(Type.Union([Type.Literal('newest'), Type.Literal('oldest')], { default: 'newest' }));

const list = route({
  method: 'GET',
  path: '/v1/audit',
  id: 'listAudit',
  tag: 'audit',
  role: 'support',
  summary: 'Lists the audit log: who changed what, with the record before and after, and why.',
  query: object({ ...page, order }),
  reply: object({ items: Type.Array(auditEntry), next }),
  problems: ['unavailable'],
  handle: async ({ query, pageMax }, { control }) => {
    const { entries, next: cursor } = await control.audit({
      order: query.order ?? 'newest',
      limit: Math.min(pageMax, query.limit ?? pageMax),
      ...(query.cursor !== undefined && { after: cursorOf(query.cursor, AUDIT_ID) }),
    });
    return { body: { items: entries.map(showEntry), ...(cursor !== undefined && { next: cursor }) } };
  },
});

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

/** Most samples of one tail in a second. */
const SAMPLES_MAX = 100;

const SAMPLES_DEFAULT = 10;

const shownLimit = { name: Type.String(), requests_per_unit: Type.Integer(), unit: Type.String(), unit_multiplier: Type.Integer() };

const tail = route({
  method: 'GET',
  path: '/v1/tail',
  id: 'tailDecisions',
  tag: 'audit',
  role: 'support',
  summary:
    'Streams a sample of the decisions of this instance, with all of its workers, as server-sent events: what was asked, what was decided, and by what.',
  query: object({
    domain: Type.Optional(domain),
    entry: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'Only requests with a descriptor that contains these entries: `key=value,key`. Write `%2C` for a comma in a value.',
      }),
    ),
    denied: Type.Optional(Type.Boolean({ default: false, description: 'Only requests that are over a limit.' })),
    per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SAMPLES_MAX,
        default: SAMPLES_DEFAULT,
        description: 'Most samples in a second; `skipped` counts the others.',
      }),
    ),
  }),
  reply: object({
    at: Type.String({ format: 'date-time' }),
    pid: Type.Integer({ description: 'The process that decided.' }),
    domain: Type.String(),
    over_limit: Type.Boolean(),
    without: Type.Optional(
      Type.Union([Type.Literal('fallback'), Type.Literal('cached')], {
        description: 'What decided instead of the store: the failure mode, or the deny cache.',
      }),
    ),
    skipped: Type.Integer({ minimum: 0, description: 'Decisions that matched the filter since the last sample and were not shown.' }),
    descriptors: Type.Array(
      object({
        entries: Type.Array(object({ key: Type.String(), value: Type.String() })),
        hits: Type.Integer(),
        rule: Type.Optional(Type.String()),
        over_limit: Type.Boolean(),
        limit: Type.Optional(object(shownLimit)),
        remaining: Type.Optional(Type.Integer({ minimum: 0 })),
        candidates: Type.Optional(
          Type.Array(object({ ...shownLimit, over_limit: Type.Boolean({ description: 'Whether it would have denied the request.' }) }), {
            description: 'The limits that are tried beside those in force.',
          }),
        ),
      }),
    ),
  }),
  problems: ['too-many-streams'],
  handle: ({ query }, backend) => {
    const { domain: inDomain, entry, denied = false, per_second: perSecond = SAMPLES_DEFAULT } = query;
    const filter: TailFilter = {
      entries: entry === undefined ? [] : readSelector(entry),
      deniedOnly: denied,
      perSecond,
      ...(inDomain !== undefined && { domain: inDomain }),
    };
    return Promise.resolve({
      events: (emit) =>
        backend.tail.open(filter, ({ atMs, ...sample }) => {
          emit(snakeKeys({ at: new Date(atMs).toISOString(), ...sample }));
        }),
    });
  },
});

export const LOG_ROUTES: readonly AdminRoute[] = [list, exportAll, tail];
