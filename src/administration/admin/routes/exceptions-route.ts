/** The route of exceptions: everything that changes the configuration at run time, and what each does now. */

import { Type, type TSchema } from '@sinclair/typebox';
import { keyOf } from '../../../state/control/control-record';
import { EXCEPTION_KINDS } from '../exceptions/exception-kinds';
import { CURSOR, EXAMINED_MAX, EXCEPTION_ORDERS, listExceptions, type Exception } from '../exceptions/list-exceptions';
import { cursorOf } from '../route/cursor';
import { route } from '../route/route';
import { domain, next, object, page, reason, time } from '../route/schemas';
import { effectInputOf, effectState, warnings } from './records/effect-schemas';
import { SHAPES, showStored } from './records/record-schemas';

const kind = Type.Union(
  EXCEPTION_KINDS.map((each) => Type.Literal(each)),
  {
    description:
      'candidate: an override that is only tried; penalty: a block that a penalty wrote; plan: run-time values of a plan; tenant: a plan that ends; rollout: how far a candidate is in force.',
  },
);

/** The schemas that each kind has, by the names of its fields. */
const fields = Object.fromEntries(
  [SHAPES.tenant.fields, SHAPES.plan.fields, SHAPES.override.fields, SHAPES.rollout.fields]
    .flatMap((each) => Object.entries(each))
    .filter(([name]) => name !== 'candidate')
    .map(([name, schema]) => [name, Type.Optional(schema)]),
);

const shownFields = {
  kind,
  domain,
  name: Type.String({ description: 'The id of the record, or the name of the tenant, plan or rule.' }),
  ...fields,
  until: Type.Optional(time),
  reason: Type.Optional(reason),
  author: Type.Optional(Type.String({ description: 'Who wrote it.' })),
  created_at: Type.Optional(time),
  version: Type.Integer({ minimum: 0 }),
  effect: effectState,
  rules: Type.Array(Type.String(), { description: 'The paths of rules for which it changes a limit, joined with dots; at most 10.' }),
  warnings,
};

const exception: TSchema = object(shownFields);

export const exceptions = route({
  method: 'GET',
  path: '/v1/exceptions',
  id: 'listExceptions',
  tag: 'exceptions',
  role: 'viewer',
  summary: `Lists what is in force beside the configuration: overrides, candidates, blocks, penalties, passes, values of plans, plans of tenants that end, and rollouts; each with its effect now. A page with \`state\` examines at most ${EXAMINED_MAX.toLocaleString('en')} records, so it may be empty.`,
  query: object({
    ...page,
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description: '`next` of the previous page.' })),
    order: Type.Optional(
      Type.Union(
        EXCEPTION_ORDERS.map((order) => Type.Literal(order)),
        { default: 'ends', description: 'ends: what ends first; newest: what was written last.' },
      ),
    ),
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          'Only those with this text in a name, an entry (`key=value`), the plan, the reason or the author; upper and lower case are the same.',
      }),
    ),
    kind: Type.Optional(kind),
    domain: Type.Optional(domain),
    author: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only what this caller wrote.' })),
    state: Type.Optional(effectState),
  }),
  reply: object({ items: Type.Array(exception), next }),
  handle: async ({ query: { limit, cursor, order = 'ends', ...filter }, pageMax }, backend) => {
    const { items, next: following } = await listExceptions(
      {
        ...filter,
        order,
        limit: Math.min(pageMax, limit ?? pageMax),
        ...(cursor !== undefined && { cursor: cursorOf(cursor, CURSOR) }),
      },
      { controlView: backend.controlView, effectInput: effectInputOf(backend) },
    );
    return { body: { items: items.map(showException), ...(following !== undefined && { next: following }) } };
  },
});

function showException({ kind: of, stored, effect: { state, changes, warnings: why } }: Exception) {
  const shown = Object.entries(showStored(stored)).filter(([field]) => field in shownFields);
  return {
    ...Object.fromEntries(shown),
    kind: of,
    name: keyOf(stored.record).name,
    effect: state,
    rules: [...new Set(changes.map(({ rule }) => rule))],
    warnings: [...why],
  };
}
