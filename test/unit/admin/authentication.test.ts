/** The admin API rejects foreign or expired tokens, and limits failed tries without locking out credentials that were valid. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type * as Jose from 'jose' with { 'resolution-mode': 'import' };
import { Authenticator, type AuthenticatorOptions } from '../../../src/administration/admin/auth/authenticator';
import { FailedTries } from '../../../src/administration/admin/auth/failed-tries';
import { parseJwks } from '../../../src/administration/admin/auth/jwt-verifier';
import { ProvenCredentials } from '../../../src/administration/admin/auth/proven-credentials';
import { TokenList } from '../../../src/administration/admin/auth/token-list';
import { WatchedFile } from '../../../src/administration/admin/auth/watched-file';
import { chooseAdmin } from '../../../src/configuration/settings/admin-choice';
import { readSettings } from '../../../src/configuration/settings/table/settings';
import { callAdmin } from '../../support/admin/admin-client';
import { startAdminServer, tokenLine, TOKENS } from '../../support/admin/admin-server';
import { until } from '../../support/clock/until';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-admin-auth-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string, text: string): string => {
  const place = path.join(folder, name);
  writeFileSync(place, text);
  return place;
};

const open = (options: Partial<AuthenticatorOptions>) =>
  Authenticator.open({
    needsAuth: true,
    failedTriesMax: 5,
    nowMs: () => 0,
    onFileChange: () => undefined,
    onFileProblem: () => undefined,
    ...options,
  });

describe('the file of tokens', () => {
  test('has a name, a role and a hash on each line', () => {
    const list = TokenList.read(`# comment\n\n${tokenLine('ann', 'admin', 'a')}${tokenLine('bob', 'viewer', 'b')}`);
    expect(list.size).toBe(2);
    expect(list.find('b')).toEqual({ name: 'bob', role: 'viewer' });
    expect(list.find('c')).toBeUndefined();
  });

  const hash = 'a'.repeat(64);
  test.each([
    ['ann root', `ann root ${hash}`, 'line 1: the role must be tenant, viewer, support, admin'],
    ['a token in clear text', 'ann admin secret', 'line 1: the third word must be the SHA-256 of the token'],
    ['a repeated name', `ann admin ${hash}\nann viewer ${hash}`, 'line 2: the name is taken by an earlier line'],
    ['a long name', `${'n'.repeat(65)} admin ${hash}`, 'line 1: the name must have 1 to 64 printable characters'],
  ])('%s is refused, without the hash in the message', (_, text, message) => {
    expect(() => TokenList.read(text)).toThrow(message);
    expect(() => TokenList.read(text)).not.toThrow(/secret|aaaa/);
  });

  test('is read again when it changes; a bad one leaves the last good one in use', async () => {
    const place = file('tokens', tokenLine('ann', 'admin', 'old'));
    const [changes, problems]: [string[], string[]] = [[], []];
    const watched = new WatchedFile({
      setting: 'ADMIN_TOKENS_FILE',
      path: place,
      parse: (text) => TokenList.read(text),
      onChange: (sentence) => changes.push(sentence),
      onProblem: (sentence) => problems.push(sentence),
    });
    writeFileSync(place, tokenLine('ann', 'admin', 'new'));
    await watched.look();
    expect(watched.content.find('old')).toBeUndefined();
    expect(watched.content.find('new')).toEqual({ name: 'ann', role: 'admin' });
    writeFileSync(place, 'nonsense');
    await watched.look();
    await watched.look();
    expect(watched.content.find('new')).toBeDefined();
    expect(problems).toEqual([expect.stringContaining('is unusable: line 1')]);
    writeFileSync(place, '');
    await watched.look();
    expect(watched.content.find('new')).toBeUndefined();
    expect(changes).toHaveLength(2);
  });

  test('a server stops to accept a token that was removed', async () => {
    const server = await startAdminServer();
    try {
      const whoami = () => callAdmin(server.url, { path: '/v1/whoami', token: TOKENS.admin });
      expect((await whoami()).json).toEqual({ name: 'admin-1', role: 'admin' });
      writeFileSync(server.tokensFile, tokenLine('other', 'viewer', 'something-else'));
      await until(async () => (await whoami()).status !== 200);
      expect([401, 429]).toContain((await whoami()).status);
    } finally {
      await server.close();
    }
  });

  test('that is missing stops the start, with the name of the setting', async () => {
    await expect(open({ tokensFile: path.join(folder, 'missing') })).rejects.toThrow(/ADMIN_TOKENS_FILE: .*ENOENT/);
  });
});

describe('JWTs', () => {
  // It has only ES modules.
  let jose: typeof Jose;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwt = { issuer: 'https://idp.test', audience: 'weir', roleClaim: 'weir_role' };

  interface Claims {
    readonly issuer?: string;
    readonly audience?: string;
    readonly subject?: string;
    readonly role?: unknown;
    readonly expires?: string;
    readonly key?: typeof privateKey;
  }

  const sign = ({
    issuer = jwt.issuer,
    audience = jwt.audience,
    subject = 'ann@test',
    role = 'support',
    expires = '5m',
    key = privateKey,
  }: Claims) =>
    new jose.SignJWT({ weir_role: role })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setExpirationTime(expires)
      .sign(key);

  let authenticator: Authenticator;
  const authenticate = async (token: string, address = '10.0.0.1') =>
    authenticator.authenticate({ authorization: `Bearer ${token}`, address });

  beforeAll(async () => {
    jose = await import('jose');
    const jwks = JSON.stringify({ keys: [{ ...(await jose.exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] });
    authenticator = await open({ jwt: { ...jwt, jwksFile: file('jwks.json', jwks) }, failedTriesMax: 1_000 });
  });

  afterAll(() => {
    authenticator.close();
  });

  test('a valid one names the caller and the role; of several roles the highest counts', async () => {
    expect(await authenticate(await sign({}))).toEqual({ name: 'jwt:ann@test', role: 'support' });
    expect(await authenticate(await sign({ role: ['viewer', 'admin', 'owner'] }))).toEqual({ name: 'jwt:ann@test', role: 'admin' });
  });

  test('two subjects never have one name, nor that of a token', async () => {
    const names: string[] = [];
    for (const subject of ['Jörg', 'J?rg', 'J%C3%B6rg', 'ann b', `${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`])
      names.push((await authenticate(await sign({ subject }))).name);
    expect(names.slice(0, 4)).toEqual(['jwt:J%C3%B6rg', 'jwt:J?rg', 'jwt:J%25C3%25B6rg', 'jwt:ann%20b']);
    expect(names.slice(4)).toEqual([expect.stringMatching(/^jwt:x{43}~[\w-]{16}$/), expect.stringMatching(/^jwt:x{43}~[\w-]{16}$/)]);
    expect(new Set(names).size).toBe(names.length);
    // Somebody who knows the hash of a long subject cannot have its name.
    const forged = names[4]!.slice('jwt:'.length);
    expect((await authenticate(await sign({ subject: forged }))).name).not.toBe(names[4]);
    expect(() => TokenList.read(tokenLine('jwt:ann', 'admin', 't'))).toThrow('line 1: the name must not begin with jwt:');
  });

  test.each<[string, Claims]>([
    ['of another issuer', { issuer: 'https://evil.test' }],
    ['for another audience', { audience: 'other' }],
    ['that has expired', { expires: '-1m' }],
    ['without a role', { role: null }],
    ['with an unknown role', { role: 'root' }],
    ['without a subject', { subject: '' }],
    ['signed with another key', { key: other.privateKey }],
  ])('one %s is refused', async (_, claims) => {
    await expect(authenticate(await sign(claims))).rejects.toMatchObject({ problem: 'unauthenticated' });
  });

  test('one without a signature, and one signed with the public key as a secret, are refused', async () => {
    const payload = (await sign({})).split('.')[1]!;
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    await expect(authenticate(`${none}.${payload}.AA`)).rejects.toMatchObject({ problem: 'unauthenticated' });
    const secret = new TextEncoder().encode(publicKey.export({ type: 'spki', format: 'pem' }).toString());
    const forged = await new jose.SignJWT({ weir_role: 'admin' })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .setIssuer(jwt.issuer)
      .setAudience(jwt.audience)
      .setSubject('x')
      .setExpirationTime('5m')
      .sign(secret);
    await expect(authenticate(forged)).rejects.toMatchObject({ problem: 'unauthenticated' });
  });

  test('a set with a private key is refused', () => {
    expect(() => parseJwks(JSON.stringify({ keys: [privateKey.export({ format: 'jwk' })] }))).toThrow('private or secret key');
    expect(() => parseJwks('{"keys":[]}')).toThrow('not a JSON Web Key Set');
  });
});

describe('failed tries', () => {
  test('are limited for each address and minute, also for the right token if it is new here; IPv6 by its first 64 bits', async () => {
    let nowMs = 0;
    const authenticator = await open({
      tokensFile: file('limited', tokenLine('ann', 'admin', 'right')),
      failedTriesMax: 3,
      nowMs: () => nowMs,
    });
    const attempt = (token: string, address: string) => authenticator.authenticate({ authorization: `Bearer ${token}`, address });
    for (let i = 0; i < 3; i += 1)
      await expect(attempt('wrong', `2001:db8:0:1::${i + 1}`)).rejects.toMatchObject({ problem: 'unauthenticated' });
    await expect(attempt('right', '2001:db8:0:1:ffff::9')).rejects.toMatchObject({ problem: 'too-many-failed-tries', retryAfterS: 60 });
    expect(await attempt('right', '2001:db8:0:2::1')).toEqual({ name: 'ann', role: 'admin' });
    expect(await attempt('right', '10.0.0.1')).toEqual({ name: 'ann', role: 'admin' });
    nowMs = 60_000;
    expect(await attempt('right', '2001:db8:0:1::1')).toEqual({ name: 'ann', role: 'admin' });
    authenticator.close();
  });

  test('lock out no credentials that were valid before, until these end', async () => {
    const tokensFile = file('locked', `${tokenLine('ann', 'admin', 'right')}${tokenLine('bob', 'viewer', 'unused')}`);
    const authenticator = await open({ tokensFile, failedTriesMax: 2, nowMs: () => 0 });
    const attempt = (token: string) => authenticator.authenticate({ authorization: `Bearer ${token}`, address: '10.0.0.1' });
    const ann = { name: 'ann', role: 'admin' };
    expect(await attempt('right')).toEqual(ann);
    for (let i = 0; i < 2; i += 1) await expect(attempt(`wrong ${i}`)).rejects.toMatchObject({ problem: 'unauthenticated' });
    expect(await attempt('right')).toEqual(ann);
    for (const token of ['unused', 'wrong 0']) await expect(attempt(token)).rejects.toMatchObject({ problem: 'too-many-failed-tries' });
    authenticator.close();
  });

  test('remember a bounded number of valid credentials, the last used ones', () => {
    const proven = new ProvenCredentials();
    proven.add('first');
    for (let i = 0; i < 1_999; i += 1) proven.add(`token ${i}`);
    proven.add('first');
    proven.add('one more');
    expect([proven.has('first'), proven.has('token 0'), proven.has('token 1'), proven.has('one more')]).toEqual([true, false, true, true]);
    proven.delete('first');
    expect(proven.has('first')).toBe(false);
  });

  test('from very many addresses take bounded memory', () => {
    const tries = new FailedTries({ triesMax: 1, nowMs: () => 0 });
    for (let i = 0; i < 20_000; i += 1) tries.record(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    expect(tries.retryAfterS('10.0.78.31')).toBe(60);
    expect(tries.retryAfterS('10.0.0.0')).toBeUndefined();
  });

  test('get 429 with Retry-After', async () => {
    const server = await startAdminServer({ failedTriesMax: 2 });
    try {
      const call = (token: string) => callAdmin(server.url, { path: '/v1/whoami', token });
      expect([(await call('a')).status, (await call('b')).status]).toEqual([401, 401]);
      const limited = await call(TOKENS.admin);
      expect(limited.status).toBe(429);
      expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    } finally {
      await server.close();
    }
  });
});

describe('ADMIN_AUTH=off', () => {
  test('answers requests to a loopback host only', async () => {
    const server = await startAdminServer({ needsAuth: false });
    try {
      expect((await callAdmin(server.url, { path: '/v1/whoami' })).json).toEqual({ name: 'anyone', role: 'admin' });
      const rebound = await callAdmin(server.url, { path: '/v1/whoami', headers: { host: 'evil.test' } });
      expect(rebound).toMatchObject({ status: 421, json: { type: 'urn:weir:problem:misdirected' } });
    } finally {
      await server.close();
    }
  });
});

describe('settings', () => {
  const choose = (env: Readonly<Record<string, string>>) => chooseAdmin(readSettings(env));

  test('without ADMIN_PORT Weir serves no admin API', () => {
    expect(choose({ ADMIN_TOKENS_FILE: 'x' })).toBeUndefined();
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['ADMIN_PORT: it is set, but nothing says who may use the admin API', {}],
    ['ADMIN_AUTH: it is off, but ADMIN_HOST is 0.0.0.0', { ADMIN_AUTH: 'off', ADMIN_HOST: '0.0.0.0' }],
    ['ADMIN_AUTH: it is off, but tokens or JWTs are set', { ADMIN_AUTH: 'off', ADMIN_TOKENS_FILE: 'x' }],
    ['ADMIN_JWT_AUDIENCE: it is not set, but JWTs need', { ADMIN_JWT_JWKS_FILE: 'x', ADMIN_JWT_ISSUER: 'y' }],
    ['ADMIN_TLS_KEY: it is not set', { ADMIN_TOKENS_FILE: 'x', ADMIN_TLS_CERT: 'y' }],
  ])('%s', (message, env) => {
    expect(() => choose({ ADMIN_PORT: '9', ...env })).toThrow(message);
  });

  test('tokens in clear text over a network are warned of', () => {
    expect(choose({ ADMIN_PORT: '9', ADMIN_TOKENS_FILE: 'x', ADMIN_HOST: '0.0.0.0' })?.warning).toContain('clear text');
    expect(choose({ ADMIN_PORT: '9', ADMIN_TOKENS_FILE: 'x' })?.warning).toBeUndefined();
  });
});
