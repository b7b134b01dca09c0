/** The route of live figures. */

import { Type } from '@sinclair/typebox';
import { route, type AdminRoute } from '../route/route';
import { object } from '../route/schemas';
import { snakeKeys } from '../route/snake-keys';

/** Most rules of one reply. */
const RULES_MAX = 10_000;

const RULES_DEFAULT = 20;

const perS = (of: string) => Type.Number({ minimum: 0, description: `${of} in a second.` });

const ms = Type.Optional(Type.Number({ minimum: 0, description: 'In milliseconds. Absent: there was none.' }));

const rule = object({
  domain: Type.String(),
  rule: Type.String({ description: "The rule's path, joined with dots, as in GET /v1/rules." }),
  asked_per_s: perS('Hits requested'),
  denied_per_s: perS('Hits that the rule denied'),
  asked: Type.Number({ minimum: 0, description: 'Hits requested since the process started.' }),
  denied: Type.Number({ minimum: 0 }),
  near: Type.Number({ minimum: 0, description: 'Admitted hits above NEAR_LIMIT_RATIO of the limit.' }),
  would_deny: Type.Number({ minimum: 0, description: 'Hits that the rule would have denied without its shadow mode.' }),
});

const live = route({
  method: 'GET',
  path: '/v1/live',
  id: 'getLive',
  tag: 'system',
  role: 'viewer',
  summary:
    'Shows live figures of this instance with all its workers: decisions, denials by rule, latencies, over the last minute, and a history: ten minutes, read every 5 s from the first question until 15 minutes after the last, or an hour, read once a minute.',
  query: object({
    rules: Type.Optional(
      Type.Integer({ minimum: 0, maximum: RULES_MAX, default: RULES_DEFAULT, description: 'Most rules, those that deny most first.' }),
    ),
    minutes: Type.Optional(
      Type.Union([Type.Literal(10), Type.Literal(60)], {
        default: 10,
        description: 'The length of the history; of 60, it has a point a minute.',
      }),
    ),
  }),
  reply: object({
    at: Type.String({ format: 'date-time' }),
    window_s: Type.Number({ minimum: 0, description: 'The time that the rates are over; 0: there is only one reading yet.' }),
    decisions_per_s: perS('Requests decided, over gRPC and HTTP,'),
    errors_per_s: perS('Requests without a decision'),
    fallback_per_s: perS('Requests decided without Redis'),
    cached_denials_per_s: perS('Requests denied by the deny cache'),
    unmatched_per_s: perS('Descriptors that no rule limits'),
    asked_per_s: perS('Hits requested under all rules'),
    denied_per_s: perS('Hits denied by all rules'),
    decision_p50_ms: ms,
    decision_p99_ms: ms,
    stores: Type.Array(object({ store: Type.String(), p50_ms: ms, p99_ms: ms, errors_per_s: perS('Failed commands') })),
    history: Type.Array(
      object({
        at: Type.String({ format: 'date-time' }),
        asked_per_s: perS('Hits requested'),
        denied_per_s: perS('Hits denied'),
        decision_p50_ms: ms,
        decision_p99_ms: ms,
        store_p99_ms: ms,
      }),
    ),
    rules: Type.Array(rule),
    rules_omitted: Type.Integer({ minimum: 0, description: 'Rules with hits that are not listed.' }),
  }),
  problems: ['unavailable'],
  handle: async ({ query: { rules = RULES_DEFAULT, minutes = 10 } }, { live: figures, history }) => {
    const view = await figures.view({ rules });
    return { body: snakeKeys(minutes === 60 ? { ...view, history: await history.points() } : view) };
  },
});

export const LIVE_ROUTES: readonly AdminRoute[] = [live];
