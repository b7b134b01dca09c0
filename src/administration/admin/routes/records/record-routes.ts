/** The routes of control records: tenants, plans, overrides, blocks, passes and rollouts. */

import { Type, type TSchema } from '@sinclair/typebox';
import type { ControlKind, RecordKey } from '../../../../state/control/control-record';
import type { ControlChange } from '../../../../state/control/control-store';
import type { AdminBackend } from '../../backend';
import { changesOfDelete, effectOfWrite } from '../../effect/record-effect';
import { AdminProblem } from '../../problem';
import type { Role } from '../../role';
import { cursorOf } from '../../route/cursor';
import { route, type AdminCall, type AdminRoute } from '../../route/route';
import { ahead, domain, dryRun, next, object, page, reason } from '../../route/schemas';
import { etagOf, expectationOf } from './conditions';
import { CONTROL_ROUTES } from './control-routes';
import { effectInputOf, refuseIfStrict, strict } from './effect-schemas';
import { importTenants } from './import-route';
import { checkNames } from './known-names';
import { promote } from './promote-route';
import { bodySchema, recordSchema, SHAPES, showStored, toRecord, type RecordShape } from './record-schemas';
import { tenantTree } from './tree-route';
import { writeRecord, writeReplyOf, type WriteEffect } from './write-record';

interface RecordRoutesOptions {
  readonly kind: ControlKind;
  /** The name of the collection in the path. */
  readonly collection: string;
  /** The word for one record, with an article. */
  readonly noun: string;
  /** The role that may write. */
  readonly writer: Role;
  /** The effect of a record: the end of a sentence. */
  readonly effect: string;
}

interface NamedParams {
  readonly domain: string;
  readonly [nameParam: string]: string;
}

/** List, get, put and delete. */
function recordRoutes(options: RecordRoutesOptions): readonly AdminRoute[] {
  const { kind, collection, noun } = options;
  const shape = SHAPES[kind];
  const { nameParam } = shape;
  const name = noun.replace(/^an? /, '');
  const parts: RouteParts = {
    ...options,
    shape,
    name,
    titled: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    common: {
      tag: collection,
      path: `/v1/${collection}/{domain}/{${nameParam}}`,
      params: object({ domain, [nameParam]: shape.name }),
    },
    keyFrom: (call) => {
      const named = call.params as NamedParams;
      return { kind, domain: named.domain, name: named[nameParam] ?? '' };
    },
  };
  return [listRoute(parts), getRoute(parts), putRoute(parts), deleteRoute(parts)];
}

interface RouteParts extends RecordRoutesOptions {
  readonly shape: RecordShape;
  /** The word for one record, without an article. */
  readonly name: string;
  /** The same in an operation's name. */
  readonly titled: string;
  /** The routes of one record share them. */
  readonly common: { readonly tag: string; readonly path: string; readonly params: TSchema };
  readonly keyFrom: (call: AdminCall) => RecordKey;
}

function listRoute({ kind, collection, shape, titled }: RouteParts): AdminRoute {
  return route({
    method: 'GET',
    path: `/v1/${collection}`,
    id: `list${titled}${titled.endsWith('s') ? 'es' : 's'}`,
    tag: collection,
    role: 'viewer',
    summary: `Lists ${collection}.`,
    query: object({ ...page, domain: Type.Optional(domain) }),
    reply: object({ items: Type.Array(recordSchema(shape)), next }),
    handle: async ({ query, pageMax }, { control }) => {
      const { records, next: cursor } = await control.scan({
        kind,
        limit: Math.min(pageMax, query.limit ?? pageMax),
        ...(query.cursor !== undefined && { cursor: cursorOf(query.cursor, /^\d{1,20}$/) }),
      });
      const items = records.filter(({ record: { domain: inDomain } }) => query.domain === undefined || inDomain === query.domain);
      return { body: { items: items.map(showStored), ...(cursor !== undefined && { next: cursor }) } };
    },
  });
}

function getRoute({ noun, name, shape, titled, common, keyFrom }: RouteParts): AdminRoute {
  return route({
    ...common,
    method: 'GET',
    id: `get${titled}`,
    role: 'viewer',
    summary: `Shows ${noun}.`,
    condition: 'read',
    reply: recordSchema(shape),
    problems: ['not-found'],
    handle: async (call, { control }) => {
      const [stored] = await control.read([keyFrom(call)]);
      if (stored === undefined) throw new AdminProblem('not-found', `there is no such ${name}`);
      return { body: showStored(stored), etag: etagOf(stored.version) };
    },
  });
}

function putRoute({ kind, noun, writer, effect: does, shape, titled, common, keyFrom }: RouteParts): AdminRoute {
  return route({
    ...common,
    method: 'PUT',
    id: `put${titled}`,
    role: writer,
    summary: `Creates or replaces ${noun}, which ${does}.`,
    query: object({ dry_run: dryRun, strict, ...(namesPlan(kind) && { ahead }) }),
    body: bodySchema(shape),
    condition: 'write',
    reply: writeReplyOf(shape),
    problems: ['precondition-failed', 'conflict', 'without-effect'],
    handle: (call, backend) => {
      const key = keyFrom(call);
      const body = call.body as { readonly reason?: string };
      const { ahead: isAhead = false } = call.query as { readonly ahead?: boolean };
      const put = toRecord({ key, body, author: call.caller.name, nowMs: backend.nowMs() });
      if (!isAhead) checkNames(put, backend);
      const change: ControlChange = { put, expect: expectationOf(call.headers) };
      const effect = effectOfWrite(put, effectInputOf(backend));
      refuseIfStrict(effect.warnings, call.query.strict);
      return writeRecord({ backend, call, change, action: 'put', reason: body.reason, isDryRun: call.query.dry_run, effect });
    },
  });
}

function deleteRoute({ noun, writer, shape, titled, common, keyFrom }: RouteParts): AdminRoute {
  return route({
    ...common,
    method: 'DELETE',
    id: `delete${titled}`,
    role: writer,
    summary: `Deletes ${noun}.`,
    query: object({ dry_run: dryRun, strict, reason: Type.Optional(reason) }),
    condition: 'write',
    reply: writeReplyOf(shape),
    problems: ['precondition-failed', 'without-effect'],
    handle: async (call, backend) => {
      const key = keyFrom(call);
      const change: ControlChange = { delete: key, expect: expectationOf(call.headers) };
      const effect = await effectOfDelete(key, backend);
      refuseIfStrict(effect.warnings, call.query.strict);
      return writeRecord({ backend, call, change, action: 'delete', reason: call.query.reason, isDryRun: call.query.dry_run, effect });
    },
  });
}

async function effectOfDelete(key: RecordKey, backend: AdminBackend): Promise<WriteEffect> {
  const [stored] = await backend.control.read([key]);
  if (stored !== undefined) return { ...changesOfDelete(stored.record, effectInputOf(backend)), warnings: [] };
  const { kind, domain: inDomain, name } = key;
  const message = `there is no ${kind} ${JSON.stringify(name)} in the domain ${JSON.stringify(inDomain)}; list them to find its name`;
  return { changes: [], omitted: 0, warnings: [{ code: 'no_such_record', effect: 'none', message }] };
}

function namesPlan(kind: ControlKind): boolean {
  return kind === 'tenant' || kind === 'plan';
}

export const RECORD_ROUTES: readonly AdminRoute[] = [
  ...CONTROL_ROUTES,
  ...recordRoutes({
    kind: 'tenant',
    collection: 'tenants',
    noun: 'a tenant',
    writer: 'support',
    effect: 'puts it on a plan',
  }),
  importTenants,
  tenantTree,
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
  ...recordRoutes({
    kind: 'rollout',
    collection: 'rollouts',
    noun: 'a rollout',
    writer: 'admin',
    effect: 'puts the candidate of a rule or plan in force for a share of its requests, or takes it back',
  }),
];
