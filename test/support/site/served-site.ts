/** The built docs site on a plain file server, as anybody may host it: under a path, with a folder for each version. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../processes/command';

const BUILT_WITHIN_MS = 300_000;

/** The path under which the site is served. */
export const BASE = '/weir/';

export const VERSION = '1.2.3';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
};

/** The folder of all versions: that of the stage, or one that is built now. */
export async function builtSite(): Promise<string> {
  const { WEIR_SITE } = process.env;
  if (WEIR_SITE !== undefined) return WEIR_SITE;
  const out = mkdtempSync(path.join(tmpdir(), 'weir-site-'));
  const args = ['scripts/docs.mjs', '--build', '--version', VERSION, '--base', BASE, '--out', out];
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, args, { timeoutMs: BUILT_WITHIN_MS });
  if (exitCode !== 0) throw new Error(`the docs site was not built: ${stdout}${stderr}`);
  return out;
}

export interface ServedSite {
  /** Without a slash at the end. */
  readonly origin: string;
  /** The address of a page of the version. */
  readonly at: (page: string) => string;
  readonly close: () => Promise<void>;
}

export async function serveSite(folder: string): Promise<ServedSite> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const name = pathname.startsWith(BASE) ? decodeURIComponent(pathname.slice(BASE.length)) : undefined;
    const file = name === undefined ? undefined : path.join(folder, name.endsWith('/') || name === '' ? `${name}index.html` : name);
    const content = file === undefined ? undefined : contentOf(file);
    response.writeHead(content === undefined ? 404 : 200, {
      'content-type': TYPES[path.extname(file ?? '')] ?? 'application/octet-stream',
    });
    response.end(content);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    at: (page) => `${origin}${BASE}${VERSION}/${page}`,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => {
          done();
        });
      }),
  };
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
