/** The routes of the last hour by minute, and of a day from Prometheus. */

import { Type } from '@sinclair/typebox';
import { TOP_COUNT_MAX } from '../../../state/top/top-keys';
import { HISTORY_QUESTIONS, type NamedKey } from '../history/history';
import { sumOf, type MinuteView } from '../history/minutes';
import { AdminProblem } from '../problem';
import { route, type AdminRoute } from '../route/route';
import { domain, object } from '../route/schemas';
import { UsageError } from '../usage/prometheus-usage';

const TAG = 'system';

const KEYS_DEFAULT = 50;
const RULES_MAX = 1_000;
const RULES_DEFAULT = 200;

const times = Type.Array(Type.String({ format: 'date-time' }), {
  description: 'The end of each minute, the oldest first; at most 61. The last one is now. A minute that could not be read is not there.',
});

const perMinute = (what: string) => Type.Array(Type.Number({ minimum: 0 }), { description: `${what} in each of these minutes.` });

const rule = Type.String({ description: "The rule's path, joined with dots, as in GET /v1/rules." });

const keyEntries = Type.String({ minLength: 1, maxLength: 1024, description: 'The entries of a key, as GET /v1/top shows them.' });

const keys = route({
  method: 'GET',
  path: '/v1/history/keys',
  id: 'listKeyHistory',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows hits by minute over the last hour of the keys that GET /v1/top had listed first, over all instances.',
  query: object({
    question: Type.Optional(
      Type.Union(
        HISTORY_QUESTIONS.map((question) => Type.Literal(question)),
        { default: 'denied' },
      ),
    ),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: TOP_COUNT_MAX, default: KEYS_DEFAULT, description: 'Most keys.' })),
    domain: Type.Optional(domain),
    rule: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    entries: Type.Optional(keyEntries),
  }),
  reply: object({
    at: times,
    items: Type.Array(object({ domain: Type.String(), rule, entries: Type.String(), hits: perMinute('Hits that are certain') }), {
      description: 'Keys with most hits in the hour come first.',
    }),
    others: perMinute('Hits of the other keys that were found'),
  }),
  problems: ['unavailable', 'not-supported'],
  handle: async ({ query }, { history }) => {
    const { question = 'denied', count = KEYS_DEFAULT } = query;
    const { atMs, rows } = await history.keys(question);
    const asked = rows.filter(({ named }) => isAsked(named, query));
    return {
      body: {
        at: atMs.map(timeOf),
        items: asked.slice(0, count).map(({ named, columns: [hits = []] }) => ({ ...named, hits: [...hits] })),
        others: sumsOf(asked.slice(count), atMs.length),
      },
    };
  },
});

type KeyFilter = Partial<NamedKey>;

function isAsked(named: NamedKey, filter: KeyFilter): boolean {
  return (['domain', 'rule', 'entries'] as const).every((name) => filter[name] === undefined || filter[name] === named[name]);
}

function sumsOf(rows: MinuteView<NamedKey>['rows'], length: number): number[] {
  return Array.from({ length }, (_, minute) => sumOf(rows.map(({ columns: [hits = []] }) => hits[minute] ?? 0)));
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

const rules = route({
  method: 'GET',
  path: '/v1/history/rules',
  id: 'listRuleHistory',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows hits by minute over the last hour of the rules of this instance with all its workers.',
  query: object({
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: RULES_MAX, default: RULES_DEFAULT, description: 'Most rules, those that denied most first.' }),
    ),
  }),
  reply: object({
    at: times,
    items: Type.Array(object({ domain: Type.String(), rule, denied: perMinute('Hits denied'), asked: perMinute('Hits requested') })),
  }),
  problems: ['unavailable'],
  handle: async ({ query: { count = RULES_DEFAULT } }, { history }) => {
    const { atMs, rows } = await history.rules();
    const items = rows
      .slice(0, count)
      .map(({ named, columns: [denied = [], asked = []] }) => ({ ...named, denied: [...denied], asked: [...asked] }));
    return { body: { at: atMs.map(timeOf), items } };
  },
});

const instances = route({
  method: 'GET',
  path: '/v1/history/instances',
  id: 'listInstanceHistory',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows the load of each serving process by minute over the last hour.',
  reply: object({
    at: times,
    items: Type.Array(
      object({
        id: Type.String({ description: 'As in GET /v1/instances.' }),
        decisions_per_s: perMinute('Requests decided in a second, at the end'),
        event_loop_utilization: perMinute('Part of the time in which the event loop worked, at the end'),
      }),
    ),
  }),
  problems: ['unavailable'],
  handle: async (_, { history }) => {
    const { atMs, rows } = await history.instances();
    const items = rows.map(({ named, columns: [decisions = [], busy = []] }) => ({
      id: named,
      decisions_per_s: [...decisions],
      event_loop_utilization: [...busy],
    }));
    return { body: { at: atMs.map(timeOf), items } };
  },
});

const day = route({
  method: 'GET',
  path: '/v1/history/day',
  id: 'showDayOfKey',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows the hits of a key over the last day, in steps of ten minutes, from Prometheus (ADMIN_PROMETHEUS_URL).',
  query: object({ domain, entries: keyEntries }),
  reply: object({
    source: Type.Union([Type.Literal('none'), Type.Literal('prometheus')], { description: '`none`: ADMIN_PROMETHEUS_URL is not set.' }),
    items: Type.Array(
      object({
        at: Type.String({ format: 'date-time' }),
        asked: Type.Number({ minimum: 0, description: 'Hits in the ten minutes before.' }),
        denied: Type.Number({ minimum: 0 }),
      }),
      { description: 'The oldest first. Steps without the key among the METRIC_TOP_KEYS first ones are not there.' },
    ),
  }),
  problems: ['unavailable'],
  handle: async ({ query }, { usage }) => {
    const items = usage === undefined ? [] : [...(await usage.day(query).catch(refuse))];
    return { body: { source: usage === undefined ? ('none' as const) : ('prometheus' as const), items } };
  },
});

function refuse(error: unknown): never {
  throw error instanceof UsageError ? new AdminProblem('unavailable', error.message) : error;
}

export const HISTORY_ROUTES: readonly AdminRoute[] = [keys, rules, instances, day];
