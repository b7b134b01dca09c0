/** The route of credits: hits given back to buckets. */

import { Type } from '@sinclair/typebox';
import { TRAITS } from '../../../domain/algorithm/algorithms';
import { roomMaxOf, type Take } from '../../../domain/bucket/take';
import { LIMIT_MAX } from '../../../domain/rule/limit';
import type { AmountForm } from '../../../lib/text/amount';
import type { AdminBackend } from '../backend';
import { WARNINGS_MAX, type Warning } from '../effect/warning';
import { AdminProblem } from '../problem';
import { auditTarget, shown, target, targetTakes } from './bucket-routes';
import { checkOf, readBuckets } from '../request/live-request';
import { refuseIfStrict, strict, warnings } from './records/effect-schemas';
import { reportWarnings } from './records/write-record';
import { route } from '../route/route';
import { amountForm, dryRun, object, wasDryRun } from '../route/schemas';

export const credit = route({
  method: 'POST',
  path: '/v1/credits',
  id: 'giveCredit',
  tag: 'buckets',
  role: 'support',
  summary:
    'Gives hits back to the buckets of a descriptor now, pools of the tenants above included, beyond full only to a budget (`unit: total`).',
  query: object({ dry_run: dryRun, strict }),
  body: object({
    ...target,
    hits: Type.Integer({ minimum: 1, maximum: LIMIT_MAX }),
    id: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._-]+$',
        minLength: 1,
        maxLength: 64,
        description: 'A repeated credit with the same id gives nothing, on any instance. The store remembers it for an hour.',
      }),
    ),
  }),
  reply: object({
    dry_run: wasDryRun,
    repeated: Type.Boolean({ description: 'Whether a credit with this id was given before, and this one gave nothing.' }),
    given: Type.Array(
      object({
        key: Type.String(),
        hits: Type.Integer({ minimum: 0 }),
        remaining: Type.Integer({ minimum: 0 }),
        show: Type.Optional(amountForm),
      }),
    ),
    warnings,
  }),
  isIdempotentByKey: true,
  problems: ['conflict', 'unavailable', 'without-effect'],
  handle: async (call, backend) => {
    const { body, query } = call;
    const { hits, id } = body;
    const { takes: named, forms } = targetTakes(body, { backend, isOwnOnly: false });
    const takes = creditable(named);
    const withForms = (given: readonly Given[]) => given.map((each) => ({ ...each, ...formOf(forms.get(each.key)) }));
    if (query.dry_run === true || query.strict === true) {
      const given = await wouldGive(takes, hits, backend);
      const found = fullBuckets(given, hits);
      refuseIfStrict(found, query.strict);
      if (query.dry_run === true) return { body: { dry_run: true, repeated: false, given: withForms(given), warnings: found } };
    }
    // Before the hits are given: a credit is given at most once, also if this instance ends in between.
    const isNew = await auditTarget(call, backend, {
      action: 'credit',
      details: { ...shown(body), hits },
      ...(id !== undefined && { id }),
    });
    if (!isNew) return { body: { dry_run: false, repeated: true, given: [], warnings: [] } };
    const given = await give(takes, hits, backend);
    const found = fullBuckets(given, hits);
    reportWarnings(backend, { author: call.caller.name, subject: `a credit of ${hits} in ${body.domain}`, warnings: found });
    return { body: { dry_run: false, repeated: false, given: withForms(given), warnings: found } };
  },
});

function formOf(form: AmountForm | undefined): { readonly show?: AmountForm } {
  return form === undefined ? {} : { show: form };
}

interface Given {
  readonly key: string;
  readonly hits: number;
  readonly remaining: number;
}

async function wouldGive(takes: readonly Take[], hits: number, backend: AdminBackend): Promise<Given[]> {
  const buckets = await readBuckets(takes, backend);
  return buckets.map(({ take, verdict: { remaining, debt = 0 } }) => {
    const credited = Math.min(hits, roomMaxOf(take.limit) - remaining + debt);
    return { key: take.bucketKey, hits: credited, remaining: Math.max(0, remaining - debt + credited) };
  });
}

/** A bucket is never more than full. */
function fullBuckets(given: readonly Given[], hits: number): Warning[] {
  const full = given.filter((each) => each.hits < hits);
  const effect = given.every((each) => each.hits === 0) ? 'none' : 'partial';
  return full.slice(0, WARNINGS_MAX).map(({ key, hits: taken }) => ({
    code: 'bucket_full',
    effect,
    message: `the bucket ${key} takes ${taken} of ${hits} hits, because a credit never goes beyond full`,
  }));
}

/** Hits of rate limits can be given back; slots of requests in flight are released by their requests. */
function creditable(takes: readonly Take[]): readonly Take[] {
  const counting = takes.filter(({ limit }) => TRAITS[limit.algorithm].holds === 'hits');
  if (counting.length > 0) return counting;
  throw new AdminProblem('conflict', 'the limit counts requests in flight, which end by themselves; reset its bucket instead');
}

/** Reads each bucket before and after the refund, without other calls in between. */
async function give(takes: readonly Take[], hits: number, backend: AdminBackend) {
  const groups = takes.flatMap((take) => {
    const { bucketKey, limit } = take;
    const refund = { bucketKey, limit, hits: -hits, mode: 'enforced', descriptor: 0 } as const;
    return [checkOf(take), { takes: [refund], quotaAlwaysFits: false, shadow: false }, checkOf(take)];
  });
  const outcomes = await backend.buckets.take(groups);
  return takes.map(({ bucketKey }, i) => {
    const [before, , after] = outcomes.slice(3 * i, 3 * i + 3).map((outcome) => outcome?.verdicts[0]);
    if (before === undefined || after === undefined)
      throw new AdminProblem('unavailable', 'the store did not answer for every bucket; look it up');
    const { remaining } = after;
    return { key: bucketKey, hits: Math.max(0, remaining - (after.debt ?? 0) - before.remaining + (before.debt ?? 0)), remaining };
  });
}
