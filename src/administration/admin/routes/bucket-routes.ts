/** The routes of buckets: what is left, reset, and the list of keys. */

import { Type } from '@sinclair/typebox';
import { NEVER } from '../../../domain/algorithm/engine';
import type { Take } from '../../../domain/bucket/take';
import type { AdminBackend } from '../backend';
import { AdminProblem } from '../problem';
import { groupOf, levelsOf, readBuckets, toRequest, type LiveBucket, type NamedGroup } from '../request/live-request';
import { auditAction } from './records/write-record';
import { route, type AdminCall, type AdminRoute } from '../route/route';
import { snakeKeys } from '../route/snake-keys';
import { amountForm, descriptors, domain, dryRun, entries, next, object, page, reason, wasDryRun } from '../route/schemas';
import { US_PER_MS } from '../../../lib/time-units';

const TAG = 'buckets';

/** Most steps of one page; each looks at about 1,000 keys of the store. */
const LIST_STEPS_MAX = 50;

export const bucket = object({
  key: Type.String({ description: 'The bucket key in the store.' }),
  descriptor: Type.Integer({ minimum: 0, description: 'Index of the descriptor in the request.' }),
  limit: object({
    requests_per_unit: Type.Integer({ minimum: 0 }),
    window_ms: Type.Number({ minimum: 0 }),
    capacity: Type.Integer({ minimum: 0 }),
    reserved: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Hits beyond the capacity that are left to other classes of a reserve.' }),
    ),
    algorithm: Type.String(),
  }),
  remaining: Type.Integer({ minimum: 0, description: 'Hits left.' }),
  debt: Type.Integer({ minimum: 0, description: 'Hits below zero.' }),
  retry_after_ms: Type.Optional(Type.Integer({ minimum: 0, description: 'Time until one hit is left; 0: now. Absent: never.' })),
  reset_after_ms: Type.Integer({ minimum: 0, description: 'Time until the bucket is full, or its window ends.' }),
  reset_at: Type.String({ format: 'date-time' }),
  show: Type.Optional(amountForm),
});

export function showBucket({ take, verdict, nowUs, form }: LiveBucket) {
  const { requestsPerUnit, windowUs, capacity, reserved, algorithm } = take.limit;
  const { remaining, debt = 0, retryAfterUs, resetAfterUs } = verdict;
  return snakeKeys({
    key: take.bucketKey,
    descriptor: take.descriptor,
    limit: { requestsPerUnit, windowMs: windowUs / US_PER_MS, capacity, ...(reserved !== undefined && { reserved }), algorithm },
    remaining,
    debt,
    ...(retryAfterUs !== NEVER && { retryAfterMs: Math.ceil(retryAfterUs / US_PER_MS) }),
    resetAfterMs: Math.ceil(resetAfterUs / US_PER_MS),
    resetAt: new Date((nowUs + resetAfterUs) / US_PER_MS).toISOString(),
    ...(form && { show: form }),
  });
}

/** A descriptor, and optionally one of its limits. */
export const target = {
  domain,
  entries,
  limit: Type.Optional(
    Type.String({ maxLength: 255, description: 'Only the bucket of the limit with this name. Absent: all buckets of the descriptor.' }),
  ),
  reason: Type.Optional(reason),
};

export interface TargetBody {
  readonly domain: string;
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly limit?: string;
  readonly reason?: string;
}

interface TargetScope {
  /** Without the pools of the tenants above, which others share. */
  readonly isOwnOnly: boolean;
}

/** The takes of the descriptor that the body names. A name means the limit of the tenant itself before one of a tenant above. */
export function targetTakes(
  { domain: inDomain, entries: named, limit }: TargetBody,
  { backend, isOwnOnly }: TargetScope & { readonly backend: AdminBackend },
): Pick<NamedGroup, 'takes' | 'forms'> {
  const request = toRequest({ domain: inDomain, descriptors: [{ entries: named }] });
  const { takes, names, matched, forms } = groupOf(request, backend);
  const limits = matched.matches.flatMap((match) => match.limits);
  const isOwn = (_: Take, i: number): boolean => {
    const pool = limits[i]?.pool;
    return pool === undefined || request.descriptors[0]?.entries[pool.level]?.value === pool.tenant;
  };
  const isNamed = (_: Take, i: number): boolean => limit === undefined || names[i] === limit;
  const own = takes.filter((take, i) => isOwn(take, i) && isNamed(take, i));
  const chosen = isOwnOnly || (limit !== undefined && own.length > 0) ? own : takes.filter(isNamed);
  if (chosen.length > 0) return { takes: chosen, forms };
  const what = limit === undefined ? 'no limit applies to the descriptor' : `no limit ${JSON.stringify(limit)} applies to the descriptor`;
  throw new AdminProblem('conflict', `${what}; POST /v1/explain says why`);
}

const lookup = route({
  method: 'POST',
  path: '/v1/buckets/lookup',
  id: 'lookupBuckets',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows the buckets of a request: what is left in each, and when it is full again. Nothing is charged.',
  body: object({ domain, descriptors }),
  reply: object({ buckets: Type.Array(bucket) }),
  problems: ['unavailable'],
  handle: async ({ body }, backend) => {
    const request = toRequest(body);
    const { takes, forms } = groupOf(request, backend, { control: backend.controlView, fair: await levelsOf(request, backend) });
    return { body: { buckets: (await readBuckets(takes, backend, forms)).map(showBucket) } };
  },
});

const list = route({
  method: 'GET',
  path: '/v1/buckets',
  id: 'listBuckets',
  tag: TAG,
  role: 'viewer',
  summary: 'Lists the keys of the buckets of a domain. A page reads a bounded part of the store.',
  query: object({
    ...page,
    domain,
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only keys that go on with this text after the domain.' })),
  }),
  reply: object({ items: Type.Array(object({ key: Type.String() })), next }),
  problems: ['unavailable', 'not-supported'],
  handle: async ({ query, pageMax }, backend) => {
    const limit = Math.min(pageMax, query.limit ?? pageMax);
    const keys: string[] = [];
    let { cursor } = query;
    for (let step = 0; step < LIST_STEPS_MAX; step += 1) {
      const found = await backend.buckets.list({
        domain: query.domain,
        prefix: query.prefix ?? '',
        limit: limit - keys.length,
        ...(cursor !== undefined && { cursor }),
      });
      keys.push(...found.keys);
      cursor = found.next;
      if (cursor === undefined || keys.length >= limit) break;
    }
    return { body: { items: keys.map((key) => ({ key })), ...(cursor !== undefined && { next: cursor }) } };
  },
});

const reset = route({
  method: 'POST',
  path: '/v1/buckets/reset',
  id: 'resetBuckets',
  tag: TAG,
  role: 'support',
  summary:
    'Deletes the buckets of a descriptor, which are then full, without the pools of the tenants above. All instances admit its requests again within a second.',
  query: object({ dry_run: dryRun }),
  body: object(target),
  reply: object({
    dry_run: wasDryRun,
    deleted: Type.Integer({ minimum: 0, description: 'Buckets that existed and were deleted.' }),
    before: Type.Array(bucket),
  }),
  isIdempotentByKey: true,
  problems: ['conflict', 'unavailable'],
  handle: async (call, backend) => {
    const { body, query } = call;
    // Full pools of the tenants above would be a present to all of their members.
    const { takes, forms } = targetTakes(body, { backend, isOwnOnly: true });
    const before = (await readBuckets(takes, backend, forms)).map(showBucket);
    if (query.dry_run === true) return { body: { dry_run: true, deleted: 0, before } };
    await auditTarget(call, backend, {
      action: 'reset',
      details: { ...shown(body), before: before.map(({ key, remaining }) => ({ key, remaining })) },
    });
    const deleted = await backend.buckets.reset(takes.map(({ bucketKey }) => bucketKey));
    return { body: { dry_run: false, deleted, before } };
  },
});

export function shown({ domain: inDomain, entries: named, limit }: TargetBody) {
  return { domain: inDomain, entries: named, ...(limit !== undefined && { limit }) };
}

/** Longest details of an audit entry, in characters: entries of a request may be far longer than those of records. */
const DETAILS_MAX = 4_096;

interface AuditInput {
  readonly action: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly id?: string;
}

/** Resolves to whether the entry is new. */
export function auditTarget(call: AdminCall, backend: AdminBackend, { action, details, id }: AuditInput): Promise<boolean> {
  const { reason: why } = call.body as TargetBody;
  const text = JSON.stringify(details);
  return auditAction(backend, {
    author: call.caller.name,
    action,
    details: text.length > DETAILS_MAX ? JSON.stringify({ omitted: `${text.length} characters` }) : text,
    ...(why !== undefined && { reason: why }),
    ...(id !== undefined && { id }),
  });
}

export const BUCKET_ROUTES: readonly AdminRoute[] = [lookup, list, reset];
