/** A session writes only with its CSRF token, and ends with its token, when idle or when too old. */

import { writeFileSync } from 'node:fs';
import { SessionCookie } from '../../../src/administration/admin/auth/session-cookie';
import {
  CALLER_SESSIONS_MAX,
  isCsrfOf,
  Sessions,
  SESSIONS_MAX,
  SESSION_IDLE_MS,
  SESSION_LIFE_MS,
} from '../../../src/administration/admin/auth/sessions';
import { callAdmin, type AdminRequest, type AdminResponse } from '../../support/admin/admin-client';
import { startAdminServer, tokenLine, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { until } from '../../support/clock/until';

describe('a session', () => {
  test('ends when it is idle, and when it is too old, however busy it is', () => {
    let nowMs = 0;
    const sessions = new Sessions(() => nowMs);
    const { id } = sessions.open('Bearer a', 'ann');
    nowMs = SESSION_IDLE_MS - 1;
    expect(sessions.find(id)?.authorization).toBe('Bearer a');
    nowMs += SESSION_IDLE_MS;
    expect(sessions.find(id)).toBeUndefined();
    const { id: busy } = sessions.open('Bearer a', 'ann');
    const openedAtMs = nowMs;
    while (nowMs < openedAtMs + SESSION_LIFE_MS - SESSION_IDLE_MS) {
      nowMs += SESSION_IDLE_MS - 1;
      expect(sessions.find(busy)).toBeDefined();
    }
    nowMs = openedAtMs + SESSION_LIFE_MS;
    expect(sessions.find(busy)).toBeUndefined();
    expect(sessions.size).toBe(0);
  });

  test('ends for the longest idle one when there are too many', () => {
    const sessions = new Sessions(() => 0);
    const ids = Array.from({ length: SESSIONS_MAX }, (_, i) => sessions.open('Bearer a', `caller ${i}`).id);
    expect(sessions.find(ids[0]!)).toBeDefined();
    sessions.open('Bearer b', 'bob');
    expect(sessions.size).toBe(SESSIONS_MAX);
    expect(sessions.find(ids[0]!)).toBeDefined();
    expect(sessions.find(ids[1]!)).toBeUndefined();
  });

  test('of one caller ends for another one of the same caller, and never for one of somebody else', () => {
    const sessions = new Sessions(() => 0);
    const { id: admins } = sessions.open('Bearer b', 'bob');
    const ids = Array.from({ length: 2 * SESSIONS_MAX }, () => sessions.open('Bearer a', 'ann').id);
    expect(sessions.find(admins)?.authorization).toBe('Bearer b');
    expect(sessions.size).toBe(CALLER_SESSIONS_MAX + 1);
    expect(ids.map((id) => sessions.find(id) !== undefined)).toEqual(ids.map((_, i) => i >= ids.length - CALLER_SESSIONS_MAX));
  });

  test('has a CSRF token of its own', () => {
    const sessions = new Sessions(() => 0);
    const [one, other] = [sessions.open('Bearer a', 'ann').session, sessions.open('Bearer a', 'ann').session];
    expect(isCsrfOf(one, one.csrf)).toBe(true);
    expect(isCsrfOf(one, other.csrf)).toBe(false);
    expect(isCsrfOf(one, undefined)).toBe(false);
  });
});

test('the cookie is for this port alone, out of reach of scripts and other sites, and over TLS only with TLS', () => {
  const id = 'x'.repeat(43);
  const plain = new SessionCookie({ port: 8090, isSecure: false });
  expect(plain.write(id)).toBe(`weir_session_8090=${id}; Path=/; HttpOnly; SameSite=Strict`);
  expect(new SessionCookie({ port: 8090, isSecure: true }).write(id)).toBe(
    `__Host-weir_session_8090=${id}; Path=/; HttpOnly; SameSite=Strict; Secure`,
  );
  expect(plain.write('')).toContain('Max-Age=0');
  expect(plain.read(`a=b; weir_session_8090=${id}`)).toBe(id);
  expect(plain.read(`weir_session_8091=${id}`)).toBeUndefined();
  expect(plain.read(`weir_session_8090=${id}!`)).toBeUndefined();
  expect(plain.read(`a=${'b'.repeat(9_000)}; weir_session_8090=${id}`)).toBeUndefined();
});

describe('requests', () => {
  let server: AdminHarness;

  beforeEach(async () => {
    server = await startAdminServer();
  });

  afterEach(() => server.close());

  interface SignedIn {
    readonly cookie: string;
    readonly csrf: string;
  }

  async function signIn(token: string): Promise<SignedIn> {
    const reply = await callAdmin(server.url, { method: 'POST', path: '/v1/session', token });
    expect(reply.status).toBe(200);
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(reply.body).not.toContain(cookie.split(';')[0]!.split('=')[1]!);
    return { cookie: cookie.split(';')[0]!, csrf: (reply.json as { readonly csrf: string }).csrf };
  }

  const by = ({ cookie }: SignedIn, request: AdminRequest): Promise<AdminResponse> =>
    callAdmin(server.url, { ...request, headers: { cookie, ...request.headers } });

  const block: AdminRequest = {
    method: 'PUT',
    path: '/v1/blocks/payments/b1',
    body: { entries: [{ key: 'merchant', value: 'm1' }] },
  };

  test('of a session read, and write with its CSRF token only', async () => {
    const session = await signIn(TOKENS.support);
    expect((await by(session, { path: '/v1/session' })).json).toMatchObject({ name: 'support-1', role: 'support', csrf: session.csrf });
    expect(await by(session, block)).toMatchObject({ status: 403, json: { detail: expect.stringContaining('X-Weir-CSRF') as string } });
    expect(await by(session, { ...block, headers: { 'x-weir-csrf': 'wrong' } })).toMatchObject({ status: 403 });
    expect(await by(session, { ...block, headers: { 'x-weir-csrf': session.csrf } })).toMatchObject({ status: 200 });
    const viewer = await signIn(TOKENS.viewer);
    expect(await by(viewer, { ...block, headers: { 'x-weir-csrf': viewer.csrf } })).toMatchObject({ status: 403 });
  });

  test('of pages of other sites and ports are refused, also reads', async () => {
    const session = await signIn(TOKENS.viewer);
    for (const site of ['cross-site', 'same-site'])
      expect(await by(session, { path: '/v1/whoami', headers: { 'sec-fetch-site': site } })).toMatchObject({ status: 403 });
    for (const site of ['same-origin', 'none'])
      expect(await by(session, { path: '/v1/whoami', headers: { 'sec-fetch-site': site } })).toMatchObject({ status: 200 });
  });

  test('are not needed behind a proxy that adds the token, and writes of other sites are refused there too', async () => {
    const token = TOKENS.support;
    const reply = await callAdmin(server.url, { path: '/v1/session', token });
    expect(reply.json).toMatchObject({ name: 'support-1', role: 'support', needs_sign_in: true });
    const written = (site: string) => callAdmin(server.url, { ...block, token, headers: { 'sec-fetch-site': site } });
    expect(await written('cross-site')).toMatchObject({ status: 403 });
    expect(await written('same-origin')).toMatchObject({ status: 200 });
  });

  test('end with the session, and with its token', async () => {
    const session = await signIn(TOKENS.support);
    const ended = await by(session, { method: 'DELETE', path: '/v1/session', headers: { 'x-weir-csrf': session.csrf } });
    expect(ended).toMatchObject({ status: 200, json: { ended: true } });
    expect(ended.headers['set-cookie']?.[0]).toContain('Max-Age=0');
    expect(await by(session, { path: '/v1/whoami' })).toMatchObject({ status: 401 });
    const other = await signIn(TOKENS.support);
    writeFileSync(server.tokensFile, tokenLine('ann', 'admin', TOKENS.admin));
    await until(async () => (await by(other, { path: '/v1/whoami' })).status === 401);
  });

  test('without credentials, or with an ended session, do not count as failed tries', async () => {
    for (let tries = 0; tries < 15; tries += 1) {
      expect(await callAdmin(server.url, { path: '/v1/session' })).toMatchObject({ status: 401 });
      const cookie = `weir_session_0=${'x'.repeat(43)}`;
      expect(await callAdmin(server.url, { path: '/v1/session', headers: { cookie } })).toMatchObject({ status: 401 });
    }
    expect(await callAdmin(server.url, { path: '/v1/whoami', token: TOKENS.viewer })).toMatchObject({ status: 200 });
  });

  test('with a wrong token open no session', async () => {
    expect(await callAdmin(server.url, { method: 'POST', path: '/v1/session', token: 'wrong' })).toMatchObject({ status: 401 });
    const session = await signIn(TOKENS.viewer);
    expect(await by(session, { method: 'POST', path: '/v1/session', headers: { 'x-weir-csrf': session.csrf } })).toMatchObject({
      status: 409,
    });
  });
});
