/** Gives tokens like those of Microsoft Entra ID to a managed identity, and verifies them as Azure's Redis does. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AuthVerdict } from '../fake-engine';

const KEY = 'the key of this issuer';
const HEADER_SECRET = 'a header that only the host knows';
/** In an answer that is not JSON. */
export const SECRET_TEXT = 'eyJ.secret "and" more';

const AUDIENCE = 'https://redis.azure.com';
/** Longer than a start waits for Redis. */
const LATE_MS = 2_500;

export const OBJECT_ID = '5f1a1f2e-0000-4000-8000-00000000000a';

export interface EntraServer {
  /** What a process needs to find it: the endpoint of App Service, which needs no fixed address. */
  readonly env: Readonly<Record<string, string>>;
  /** Tokens given. */
  readonly given: number;
  /** What it answers to the next requests, one after the other; then tokens. */
  readonly next: ('text' | 'long token' | 'late' | 'nothing')[];
  readonly auth: (words: readonly string[]) => AuthVerdict;
  stop(): Promise<void>;
}

export async function startEntra({ lifeS }: { readonly lifeS: number }): Promise<EntraServer> {
  let given = 0;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { searchParams } = new URL(request.url ?? '', 'http://host');
    const other = entra.next.shift();
    if (other === 'nothing') return;
    if (other === 'text') return void response.writeHead(200).end(SECRET_TEXT);
    if (request.headers['x-identity-header'] !== HEADER_SECRET || searchParams.get('resource') !== AUDIENCE)
      return void response.writeHead(400).end('{}');
    given += 1;
    const exp = Math.floor(Date.now() / 1_000) + lifeS;
    const token = signToken({ aud: AUDIENCE, oid: OBJECT_ID, exp, jti: other === 'long token' ? 'x'.repeat(70_000) : given });
    const body = { access_token: token, expires_on: String(exp), resource: AUDIENCE, token_type: 'Bearer', client_id: 'any' };
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      other === 'late' ? LATE_MS : 0,
    );
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const entra: EntraServer = {
    env: { IDENTITY_ENDPOINT: `http://127.0.0.1:${port}/msi/token`, IDENTITY_HEADER: HEADER_SECRET },
    get given() {
      return given;
    },
    next: [],
    auth: verify,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return entra;
}

export function signToken(payload: object): string {
  const text = [{ alg: 'HS256', typ: 'JWT' }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${signatureOf(text).toString('base64url')}`;
}

function verify([, user, token = '']: readonly string[]): AuthVerdict {
  const end = token.lastIndexOf('.');
  const [signature, expected] = [Buffer.from(token.slice(end + 1), 'base64url'), signatureOf(token.slice(0, Math.max(0, end)))];
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return { refusal: 'WRONGPASS no valid token' };
  const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Readonly<Record<string, unknown>>;
  const forMs = Number(payload.exp) * 1_000 - Date.now();
  if (payload.aud !== AUDIENCE || payload.oid !== user || !(forMs > 0)) return { refusal: 'WRONGPASS no valid token' };
  return { forMs };
}

function signatureOf(text: string): Buffer {
  return createHmac('sha256', KEY).update(text).digest();
}
