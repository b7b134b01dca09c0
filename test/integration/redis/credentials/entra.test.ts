/** A managed identity, an application and a pod get tokens of Microsoft Entra ID, and a failure has a reason without a secret. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { writeText } from '../../../support/config/temp-config';
import { OBJECT_ID, SECRET_TEXT, signToken, startEntra, type EntraServer } from '../../../support/redis/tokens/entra-server';
import { makeCertificates } from '../../../support/servers/certificates';

const ROOT = resolve(__dirname, '..', '..', '..', '..');

type Environment = Readonly<Record<string, string>>;

interface Tried {
  readonly user?: string;
  readonly error?: string;
}

/** Asks for a token so often, in a process of its own: the library uses what jest replaces. */
async function tryToSignIn(env: Environment, { tries = 1, waitMs = 10_000, pauseMs = 0 } = {}): Promise<readonly Tried[]> {
  const script = `
    const { openIdentity } = require('./dist/program/app/deciding/open-identity.js');
    const open = openIdentity({ kind: 'entra', renewMs: 3600000 }, { waitMs: ${waitMs} });
    const tried = [];
    (async () => {
      for (let i = 0; i < ${tries}; i += 1) {
        tried.push(await open(() => undefined).then(({ username }) => ({ user: username }), ({ message }) => ({ error: message })));
        await new Promise((resolve) => setTimeout(resolve, ${pauseMs}));
      }
      console.log(JSON.stringify(tried));
      process.exit();
    })();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: ROOT, env: { ...process.env, ...env } });
  return JSON.parse(stdout) as Tried[];
}

describe('a managed identity', () => {
  let entra: EntraServer;

  beforeEach(async () => {
    entra = await startEntra({ lifeS: 3_600 });
  });

  afterEach(() => entra.stop());

  test('gets a token, which all connections share while it is new', async () => {
    expect(await tryToSignIn(entra.env, { tries: 3 })).toEqual([{ user: OBJECT_ID }, { user: OBJECT_ID }, { user: OBJECT_ID }]);
    expect(entra.given).toBe(1);
  });

  test('keeps a garbled answer out of its error, and asks again only after a pause', async () => {
    entra.next.push('text');
    const [first, second] = await tryToSignIn(entra.env, { tries: 2 });
    expect(first?.error).toMatch(/^no credentials from Microsoft Entra ID: .*"…"/);
    expect(SECRET_TEXT.split(/\W+/).filter((word) => first?.error?.includes(word) === true)).toEqual([]);
    expect(second).toEqual(first);
  });

  test('does not use a token of impossible length', async () => {
    entra.next.push('long token');
    const [tried] = await tryToSignIn(entra.env);
    expect(tried?.error).toMatch(/: a token of \d{5} characters, where at most 65536 are possible$/);
  });

  test('does not wait for an answer for ever, and asks again', async () => {
    entra.next.push('nothing');
    const [first, second] = await tryToSignIn(entra.env, { tries: 2, waitMs: 1_500, pauseMs: 500 });
    expect(first).toEqual({ error: 'no credentials from Microsoft Entra ID: nothing within 1500 ms' });
    expect(second).toEqual({ user: OBJECT_ID });
  });
});

describe('an application', () => {
  const { server: pair, ca } = makeCertificates();
  const forms: string[] = [];
  const server = createServer({ cert: readFileSync(pair.cert), key: readFileSync(pair.key) }, (request, response) => {
    let form = '';
    request.on('data', (part: Buffer) => {
      form += part.toString();
    });
    request.on('end', () => {
      const issuer = `https://localhost:${port()}/tenant`;
      const isToken = new URL(request.url ?? '', issuer).pathname.endsWith('/token');
      if (isToken) forms.push(form);
      const places = { issuer: `${issuer}/v2.0`, token_endpoint: `${issuer}/oauth2/v2.0/token` };
      const metadata = { ...places, authorization_endpoint: `${issuer}/authorize`, jwks_uri: `${issuer}/keys` };
      const token = { token_type: 'Bearer', expires_in: 3_600, access_token: signToken({ oid: OBJECT_ID }) };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(isToken ? token : metadata));
    });
  });
  const port = () => (server.address() as AddressInfo).port;

  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, 'localhost', done));
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test.each([
    ['a secret', { AZURE_CLIENT_SECRET: 'a+secret' }, { client_secret: 'a+secret' }],
    ['the file of a pod', { AZURE_FEDERATED_TOKEN_FILE: writeText('the.token.of-a-pod') }, { client_assertion: 'the.token.of-a-pod' }],
  ])('proves itself by %s', async (_, proof, sent) => {
    forms.length = 0;
    const application = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'application', AZURE_AUTHORITY_HOST: `https://localhost:${port()}/` };
    const tried = await tryToSignIn({ ...application, ...proof, NODE_EXTRA_CA_CERTS: ca.cert });
    expect(tried).toEqual([{ user: OBJECT_ID }]);
    expect(forms.map((form) => Object.fromEntries(new URLSearchParams(form)))).toEqual([
      expect.objectContaining({
        client_id: 'application',
        grant_type: 'client_credentials',
        scope: expect.stringContaining('https://redis.azure.com/.default') as string,
        ...sent,
      }),
    ]);
  });
});
