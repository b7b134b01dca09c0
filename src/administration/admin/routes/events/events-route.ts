/** The route of events: those that wait for their delivery, and the latest that were delivered or given up. */

import { Type } from '@sinclair/typebox';
import { LISTED_MAX, type ListedEvent } from '../../../../state/events/outbox';
import { route } from '../../route/route';
import { object, time } from '../../route/schemas';

const event = object({
  id: Type.String(),
  type: Type.String(),
  subject: Type.String(),
  time: Type.Union([time], { description: 'When it happened.' }),
  state: Type.Union(['waiting', 'delivered', 'undelivered'].map((each) => Type.Literal(each))),
  at: Type.Union([time], { description: 'When it is due, or when it was delivered or given up.' }),
  tries: Type.Integer({ minimum: 0, description: 'Tries to deliver it so far.' }),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'As the receiver gets it.' }),
});

export const events = route({
  method: 'GET',
  path: '/v1/events',
  id: 'listEvents',
  tag: 'system',
  role: 'support',
  summary: `Lists events: at most ${LISTED_MAX} that wait, and as many of the latest that were delivered or given up.`,
  reply: object({
    enabled: Type.Boolean({ description: 'Whether EVENTS_URL is set.' }),
    waiting: Type.Integer({ minimum: 0, description: 'Events that wait for their delivery.' }),
    oldest_at: Type.Optional(Type.Union([time], { description: 'When the oldest of them was queued. Absent: there is none.' })),
    delivered: Type.Integer({ minimum: 0, description: 'Events that were delivered since the outbox began.' }),
    undelivered: Type.Integer({ minimum: 0, description: 'Events that were given up since then.' }),
    items: Type.Array(event),
  }),
  problems: ['unavailable'],
  handle: async (_request, { events: outbox }) => {
    const list = await outbox?.read();
    return {
      body: {
        enabled: list !== undefined,
        waiting: list?.events ?? 0,
        ...(list?.oldestAtMs !== undefined && { oldest_at: new Date(list.oldestAtMs).toISOString() }),
        delivered: list?.deliveredCount ?? 0,
        undelivered: list?.undeliveredCount ?? 0,
        items: [
          ...showAll(list?.undelivered, 'undelivered'),
          ...showAll(list?.waiting, 'waiting'),
          ...showAll(list?.delivered, 'delivered'),
        ],
      },
    };
  },
});

/** Events whose text another hand wrote are left out. */
function showAll(list: readonly ListedEvent[] = [], state: 'waiting' | 'delivered' | 'undelivered') {
  return list.flatMap(({ id, text, atMs, tries }) => {
    const content = readContent(text);
    return content === undefined ? [] : [{ id, ...content, state, at: new Date(atMs).toISOString(), tries }];
  });
}

interface Content {
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly data: Record<string, unknown>;
}

function readContent(text: string): Content | undefined {
  try {
    const { type, subject, time: at, data } = JSON.parse(text) as Partial<Record<string, unknown>>;
    const isGood = typeof type === 'string' && typeof subject === 'string' && typeof at === 'string' && typeof data === 'object';
    return isGood && data !== null ? { type, subject, time: at, data: data as Record<string, unknown> } : undefined;
  } catch {
    return undefined;
  }
}
