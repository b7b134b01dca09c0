/** The routes of control records: tenants, plans, overrides, blocks and passes. */

import { Type, type TSchema } from '@sinclair/typebox';
import { toByteString, toText } from '../../descriptor/byte-string';
import type { ByteString } from '../../descriptor/descriptor';
import type { ControlKind, ControlRecord, RecordKey } from '../../control/control-record';
import type { ControlChange, ControlWrite, WriteOutcome } from '../../control/control-store';
import type { AdminBackend } from '../backend';
import { AdminProblem } from '../problem';
import type { Role } from '../role';
import { etagOf, expectationOf } from './conditions';
import { bodySchema, recordSchema, SHAPES, type RecordShape, showRecord, showStored, toRecord, writtenSchema } from './record-schemas';
import { cursorOf } from './cursor';
import { route, type AdminCall, type AdminReply, type AdminRoute } from './route';
import { domain, dryRun, next, object, page, reason, wasDryRun } from './schemas';

interface RecordRoutesOptions {
  readonly kind: ControlKind;
  /** The name of the collection in the path. */
  readonly collection: string;
  /** The word for one record, with an article. */
  readonly noun: string;
  /** The role that may write. */
  readonly writer: Role;
  /** What a record does: the end of a sentence. */
  readonly effect: string;
}

interface NamedParams {
  readonly domain: string;
  readonly [nameParam: string]: string;
}

function writeReplyOf(shape: RecordShape): TSchema {
  return object({
    dry_run: wasDryRun,
    changed: Type.Boolean({ description: 'False: the record was there already, or there was none to delete.' }),
    version: Type.Optional(Type.Integer({ minimum: 0, description: 'The version of this write; absent for a dry run.' })),
    before: Type.Optional(recordSchema(shape)),
    after: Type.Optional(writtenSchema(shape)),
  });
}

/** List, get, put and delete. */
function recordRoutes({ kind, collection, noun, writer, effect }: RecordRoutesOptions): readonly AdminRoute[] {
  const shape = SHAPES[kind];
  const { nameParam } = shape;
  const path = `/v1/${collection}/{domain}/{${nameParam}}`;
  const params: TSchema = object({ domain, [nameParam]: shape.name });
  const record = recordSchema(shape);
  const writeReply = writeReplyOf(shape);
  const keyFrom = (call: AdminCall): RecordKey => {
    const named = call.params as NamedParams;
    return { kind, domain: named.domain, name: named[nameParam] ?? '' };
  };
  const name = noun.replace(/^an? /, '');
  const titled = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const common = { tag: collection, params };
  return [
    route({
      method: 'GET',
      path: `/v1/${collection}`,
      id: `list${titled}${titled.endsWith('s') ? 'es' : 's'}`,
      tag: collection,
      role: 'viewer',
      summary: `Lists ${collection}, in no order. A filter applies to each page, so a page may be empty.`,
      query: object({ ...page, domain: Type.Optional(domain) }),
      reply: object({ items: Type.Array(record), next }),
      handle: async ({ query, pageMax }, { control }) => {
        const { records, next: cursor } = await control.scan({
          kind,
          limit: Math.min(pageMax, query.limit ?? pageMax),
          ...(query.cursor !== undefined && { cursor: cursorOf(query.cursor, /^\d{1,20}$/) }),
        });
        const items = records.filter(({ record: { domain: inDomain } }) => query.domain === undefined || inDomain === query.domain);
        return { body: { items: items.map(showStored), ...(cursor !== undefined && { next: cursor }) } };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path,
      id: `get${titled}`,
      role: 'viewer',
      summary: `Shows ${noun}.`,
      condition: 'read',
      reply: record,
      problems: ['not-found'],
      handle: async (call, { control }) => {
        const [stored] = await control.read([keyFrom(call)]);
        if (stored === undefined) throw new AdminProblem('not-found', `there is no such ${name}`);
        return { body: showStored(stored), etag: etagOf(stored.version) };
      },
    }),
    route({
      ...common,
      method: 'PUT',
      path,
      id: `put${titled}`,
      role: writer,
      summary: `Creates or replaces ${noun}, which ${effect}.`,
      query: object({ dry_run: dryRun, ...(namesPlan(kind) && { ahead }) }),
      body: bodySchema(shape),
      condition: 'write',
      reply: writeReply,
      problems: ['precondition-failed', 'conflict'],
      handle: (call, backend) => {
        const key = keyFrom(call);
        const body = call.body as { readonly reason?: string };
        const put = toRecord({ key, body, author: call.caller.name, nowMs: backend.nowMs() });
        if (call.query.ahead !== true) checkNames(put, backend);
        const change: ControlChange = { put, expect: expectationOf(call.headers) };
        return writeRecord({ backend, call, change, action: 'put', reason: body.reason, isDryRun: call.query.dry_run });
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path,
      id: `delete${titled}`,
      role: writer,
      summary: `Deletes ${noun}. One that does not exist is not an error.`,
      query: object({ dry_run: dryRun, reason: Type.Optional(reason) }),
      condition: 'write',
      reply: writeReply,
      problems: ['precondition-failed'],
      handle: (call, backend) => {
        const change: ControlChange = { delete: keyFrom(call), expect: expectationOf(call.headers) };
        return writeRecord({ backend, call, change, action: 'delete', reason: call.query.reason, isDryRun: call.query.dry_run });
      },
    }),
  ];
}

/** Tenants may be put on a plan before the configuration that brings it, so that none has its default plan in between. */
const ahead = Type.Optional(
  Type.Boolean({ default: false, description: 'Accept a domain and a plan that the configuration in force does not have yet.' }),
);

function namesPlan(kind: ControlKind): boolean {
  return kind === 'tenant' || kind === 'plan';
}

/** Most names in a message. */
const NAMES_SHOWN_MAX = 20;

/** A typing error in a domain or plan would otherwise change nothing, without a hint. */
function checkNames(record: ControlRecord, { rules }: AdminBackend): void {
  const ruleSet = rules.current()?.ruleSet;
  if (ruleSet === undefined) return;
  const inForce = ruleSet.domains.get(toByteString(record.domain));
  if (inForce === undefined) throw new AdminProblem('conflict', lacks('domain', record.domain, [...ruleSet.domains.keys()]));
  if ((record.kind !== 'tenant' && record.kind !== 'plan') || inForce.plans?.has(toByteString(record.plan)) === true) return;
  throw new AdminProblem(
    'conflict',
    `${lacks('plan', record.plan, [...(inForce.plans?.keys() ?? [])])}, or send ahead=true before that configuration`,
  );
}

function lacks(what: string, name: string, names: readonly ByteString[]): string {
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((each) => JSON.stringify(toText(each)));
  const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : '';
  const known = shown.length === 0 ? 'it has none' : `use one of ${shown.join(', ')}${more}`;
  return `the configuration in force has no ${what} ${JSON.stringify(name)}; ${known}`;
}

interface WriteRecordInput {
  readonly backend: AdminBackend;
  readonly call: AdminCall;
  readonly change: ControlChange;
  readonly action: string;
  readonly reason: string | undefined;
  readonly isDryRun: boolean | undefined;
}

async function writeRecord({ backend, call, change, action, reason: why, isDryRun = false }: WriteRecordInput): Promise<AdminReply> {
  const outcome = await backend.control.write({
    changes: [change],
    audit: noteOf(call.caller.name, action, why),
    ...(isDryRun && { dryRun: true }),
  });
  const { version, effects } = writtenOrRefuse(outcome);
  const [effect] = effects;
  const after: ControlRecord | undefined = effect?.after;
  return {
    body: {
      dry_run: isDryRun,
      changed: effect?.isChanged ?? false,
      ...(!isDryRun && { version }),
      ...(effect?.before && { before: showStored(effect.before) }),
      ...(after && { after: showRecord(after) }),
    },
    ...(!isDryRun && after !== undefined && { etag: etagOf(version) }),
  };
}

/** @throws AdminProblem unless it is written */
export function writtenOrRefuse(outcome: WriteOutcome): Extract<WriteOutcome, { kind: 'written' }> {
  switch (outcome.kind) {
    case 'written':
      return outcome;
    case 'conflict': {
      const current = outcome.current === undefined ? 'it does not exist' : `its ETag is ${etagOf(outcome.current.version)}`;
      throw new AdminProblem('precondition-failed', `the item is not as the request expects: ${current}; read it again`);
    }
    case 'full':
      throw new AdminProblem(
        'conflict',
        `the store has ${outcome.max} records of the kind ${outcome.of}, which is the most; delete some first`,
      );
    case 'id_reused':
      throw new AdminProblem('idempotency-key-reused', 'another write has used this Idempotency-Key; use a new one');
  }
}

/** Writes an audit entry for an action that changes no record; `id` makes it unique. Resolves to whether it is new. */
export async function auditAction(
  { control }: AdminBackend,
  { id, ...audit }: ControlWrite['audit'] & { readonly id?: string },
): Promise<boolean> {
  const outcome = await control.write({ changes: [], audit, ...(id !== undefined && { id }) });
  return !writtenOrRefuse(outcome).isRepeated;
}

const promote = route({
  method: 'POST',
  path: '/v1/overrides/{domain}/{id}/promote',
  id: 'promoteOverride',
  tag: 'overrides',
  role: 'support',
  summary:
    'Puts the limit of a candidate in force: one write, which is refused if the override has changed meanwhile. Used hits of the limit stay.',
  params: object({ domain, id: SHAPES.override.name }),
  query: object({ dry_run: dryRun }),
  body: object({ reason: Type.Optional(reason) }),
  condition: 'write',
  reply: writeReplyOf(SHAPES.override),
  problems: ['not-found', 'precondition-failed'],
  handle: async (call, backend) => {
    const { domain: inDomain, id } = call.params as { readonly domain: string; readonly id: string };
    const key = { kind: 'override', domain: inDomain, name: id } as const;
    const [stored] = await backend.control.read([key]);
    if (stored?.record.kind !== 'override') throw new AdminProblem('not-found', 'there is no such override');
    const { candidate, reason: before, ...inForce } = stored.record;
    // A repeated promotion finds its result there already.
    if (candidate !== true && call.headers.ifMatch === undefined)
      return { body: { dry_run: call.query.dry_run ?? false, changed: false, after: showRecord(stored.record) } };
    const { reason: why = before } = call.body;
    const put = { ...inForce, author: call.caller.name, ...(why !== undefined && { reason: why }) };
    const asked = expectationOf(call.headers);
    const change: ControlChange = { put, expect: asked === 'any' ? stored.version : asked };
    return writeRecord({ backend, call, change, action: 'promote', reason: why, isDryRun: call.query.dry_run });
  },
});

const restore = route({
  method: 'POST',
  path: '/v1/control/restore',
  id: 'restoreControl',
  tag: 'control',
  role: 'admin',
  summary: 'Writes the records that this instance knows and the store has lost, for example after a restart of Redis without its data.',
  query: object({ dry_run: dryRun }),
  body: object({ reason: Type.Optional(reason) }),
  reply: object({ dry_run: wasDryRun, restored: Type.Integer({ minimum: 0, description: 'Records that were, or would be, written.' }) }),
  problems: ['unavailable'],
  handle: async ({ query, body, caller }, { control }) => {
    const isDryRun = query.dry_run ?? false;
    const restored = await control.restore(noteOf(caller.name, 'restore', body.reason), { dryRun: isDryRun });
    return { body: { dry_run: isDryRun, restored } };
  },
});

const discard = route({
  method: 'POST',
  path: '/v1/control/discard-lost',
  id: 'discardLostControl',
  tag: 'control',
  role: 'admin',
  summary: 'Lets all instances drop the records that the store has lost.',
  body: object({ reason: Type.Optional(reason) }),
  reply: object({ discarded: Type.Boolean() }),
  problems: ['unavailable'],
  handle: async ({ body, caller }, { control }) => {
    await control.discardLost(noteOf(caller.name, 'discard_lost', body.reason));
    return { body: { discarded: true } };
  },
});

function noteOf(author: string, action: string, why: string | undefined) {
  return { author, action, ...(why !== undefined && { reason: why }) };
}

export const RECORD_ROUTES: readonly AdminRoute[] = [
  restore,
  discard,
  ...recordRoutes({
    kind: 'tenant',
    collection: 'tenants',
    noun: 'a tenant',
    writer: 'support',
    effect: 'puts it on a plan',
  }),
  ...recordRoutes({
    kind: 'plan',
    collection: 'plans',
    noun: 'a plan',
    writer: 'admin',
    effect: 'gives limits of the plan other values, for all of its tenants',
  }),
  ...recordRoutes({
    kind: 'override',
    collection: 'overrides',
    noun: 'an override',
    writer: 'support',
    effect: 'replaces a limit of the rule for the descriptors that it selects, or tries another one beside it',
  }),
  promote,
  ...recordRoutes({
    kind: 'block',
    collection: 'blocks',
    noun: 'a block',
    writer: 'support',
    effect: 'denies every request with a descriptor that it selects',
  }),
  ...recordRoutes({
    kind: 'pass',
    collection: 'passes',
    noun: 'a pass',
    writer: 'support',
    effect: 'makes the descriptors that it selects unlimited',
  }),
];
