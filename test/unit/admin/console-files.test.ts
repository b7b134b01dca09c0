/** The console is served compressed, under a policy that allows nothing inline and no other host. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { ConsoleFiles } from '../../../src/administration/admin/server/console-files';
import { startAdminServer, type AdminHarness } from '../../support/admin/admin-server';

let folder: string;
let server: AdminHarness;

const SCRIPT = 'console.log("weir");'.repeat(50);

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-console-files-'));
  for (const [name, text] of [
    ['index.html', '<!doctype html>'],
    ['console-0123.js', SCRIPT],
  ] as const) {
    writeFileSync(path.join(folder, name), text);
    writeFileSync(path.join(folder, `${name}.br`), brotliCompressSync(text));
    writeFileSync(path.join(folder, `${name}.gz`), gzipSync(text));
  }
  writeFileSync(path.join(folder, 'notes.txt'), 'not served');
  const consoleFiles = ConsoleFiles.read(folder);
  server = await startAdminServer({ ...(consoleFiles && { consoleFiles }) });
});

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As it is on the wire: fetch would decompress. */
async function get(url: string, encoding: string) {
  const { request } = await import('node:http');
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    request(`${server.url}${url}`, { headers: { 'accept-encoding': encoding } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    })
      .once('error', reject)
      .end();
  });
}

test.each([
  ['gzip, deflate, br', 'br', brotliDecompressSync],
  ['gzip', 'gzip', gunzipSync],
  ['br;q=0, gzip', 'gzip', gunzipSync],
  ['identity', undefined, (body: Buffer) => body],
] as const)('for %s the script is sent as %s', async (accepted, encoding, decompress) => {
  const { status, headers, body } = await get('/console-0123.js', accepted);
  expect(status).toBe(200);
  expect(headers['content-encoding']).toBe(encoding);
  expect(decompress(body).toString()).toBe(SCRIPT);
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  });
});

test('the page allows nothing inline and nothing from other hosts', async () => {
  const { headers } = await get('/', 'identity');
  expect(headers).toMatchObject({ 'cache-control': 'no-cache', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
});

test('other files and paths are those of the API', async () => {
  for (const url of ['/notes.txt', '/index.html', '/console-0123.js.br', '/..%2f..%2fpackage.json', '/x'])
    expect((await get(url, 'identity')).status).toBe(401);
});

test('a folder without a page has no console', () => {
  expect(ConsoleFiles.read(path.join(folder, 'missing'))).toBeUndefined();
});
