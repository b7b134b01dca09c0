/** The routes of sessions: a browser exchanges a token for a cookie that its pages cannot read. */

import { Type } from '@sinclair/typebox';
import { AdminProblem } from '../problem';
import { ROLES } from '../role';
import { route, type AdminRoute } from '../route/route';
import { object } from '../route/schemas';
import { MS_PER_S } from '../../../lib/time-units';

const TAG = 'session';

const session = object({
  name: Type.String({ description: 'The name of the caller.' }),
  role: Type.Union(ROLES.map((role) => Type.Literal(role))),
  needs_sign_in: Type.Boolean({ description: 'False: this instance asks for no credentials (ADMIN_AUTH=off).' }),
  csrf: Type.Optional(Type.String({ description: 'The header X-Weir-CSRF of writes. Absent: the call has no session, and needs none.' })),
  ends_in_s: Type.Optional(Type.Integer({ minimum: 0, description: 'Seconds until the session is too old.' })),
});

const open = route({
  method: 'POST',
  path: '/v1/session',
  id: 'openSession',
  tag: TAG,
  role: 'viewer',
  summary: 'Opens a session of a browser for the bearer token of the request, and sets its cookie.',
  reply: session,
  problems: ['conflict'],
  handle: ({ caller: { name, role }, session: desk }) => {
    const opened = desk.open();
    if (opened === undefined) throw new AdminProblem('conflict', 'the request has no bearer token of its own, so it opens no session');
    const { id, csrf, restMs } = opened;
    return Promise.resolve({
      body: { name, role, needs_sign_in: desk.needsSignIn, csrf, ends_in_s: Math.floor(restMs / MS_PER_S) },
      sessionId: id,
    });
  },
});

const show = route({
  method: 'GET',
  path: '/v1/session',
  id: 'getSession',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows the caller, and the CSRF token of its session.',
  reply: session,
  handle: ({ caller: { name, role }, session: { needsSignIn, current } }) =>
    Promise.resolve({
      body: {
        name,
        role,
        needs_sign_in: needsSignIn,
        ...(current && { csrf: current.csrf, ends_in_s: Math.floor(current.restMs / MS_PER_S) }),
      },
    }),
});

const end = route({
  method: 'DELETE',
  path: '/v1/session',
  id: 'endSession',
  tag: TAG,
  role: 'viewer',
  summary: 'Ends the session of the browser, and removes its cookie.',
  reply: object({ ended: Type.Boolean() }),
  handle: ({ session: desk }) => {
    desk.end();
    return Promise.resolve({ body: { ended: desk.current !== undefined }, sessionId: '' });
  },
});

export const SESSION_ROUTES: readonly AdminRoute[] = [open, show, end];
