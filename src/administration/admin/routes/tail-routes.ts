/** The route of the live tail of decisions. */

import { Type } from '@sinclair/typebox';
import type { TailFilter } from '../../../server/observability/tail/tail-sample';
import { route, type AdminRoute } from '../route/route';
import { readSelector } from '../route/selector-text';
import { domain, object, shownValues } from '../route/schemas';
import { snakeKeys } from '../route/snake-keys';

/** Most samples of one tail in a second. */
const SAMPLES_MAX = 100;

const SAMPLES_DEFAULT = 10;

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
    blocked: Type.Optional(Type.Boolean({ description: 'A block denied it, so no limit counted it.' })),
    without: Type.Optional(
      Type.Union([Type.Literal('fallback'), Type.Literal('cached')], {
        description: 'The part that decided instead of the store: the failure mode, or the deny cache.',
      }),
    ),
    skipped: Type.Integer({ minimum: 0, description: 'Decisions that matched the filter since the last sample and were not shown.' }),
    descriptors: Type.Array(
      object({
        entries: Type.Array(object({ key: Type.String(), value: Type.String() })),
        hits: Type.Integer(),
        rule: Type.Optional(Type.String()),
        block: Type.Optional(Type.String({ description: 'The id of the block that selects the descriptor.' })),
        over_limit: Type.Boolean(),
        limit: Type.Optional(object(shownValues)),
        remaining: Type.Optional(Type.Integer({ minimum: 0 })),
        candidates: Type.Optional(
          Type.Array(object({ ...shownValues, over_limit: Type.Boolean({ description: 'Whether it would have denied the request.' }) }), {
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

export const TAIL_ROUTES: readonly AdminRoute[] = [tail];
