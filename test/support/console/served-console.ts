/** A real Weir with the console, for tests in a browser: its configuration, its tokens, and requests that it decides. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Role } from '../../../src/administration/admin/role';
import { callAdmin, type AdminRequest, type AdminResponse } from '../admin/admin-client';
import { tokenLine } from '../admin/admin-server';
import { httpRequest } from '../clients/http-client';
import { until } from '../clock/until';
import { startWeir, type WeirProcess } from '../processes/weir-process';
import { freePort } from '../servers/ports';

export const CONSOLE_TOKENS: Readonly<Record<Role, string>> = {
  tenant: 'tenant-0123456789abcdef0123456789abcdef',
  viewer: 'viewer-0123456789abcdef0123456789abcdef',
  support: 'support-0123456789abcdef0123456789abcdef',
  admin: 'admin-0123456789abcdef0123456789abcdef',
};

/** That of docs/tenants.md. */
export const TENANTS_FILE = path.resolve('deploy/tenants/payments.yaml');

export interface ServedConsole {
  readonly url: string;
  readonly tokensFile: string;
  readonly weir: () => WeirProcess;
  /** As the role admin. */
  readonly admin: (request: AdminRequest) => Promise<AdminResponse>;
  /** The code of a request with one descriptor for each text `key=value`. */
  readonly ask: (entries: readonly (readonly [key: string, value: string])[], options?: AskOptions) => Promise<string>;
  /** Gives tokens other roles. */
  readonly setRoles: (roles: Partial<Readonly<Record<Role, Role>>>) => void;
  /** Starts Weir again on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface AskOptions {
  readonly hits?: number;
  readonly domain?: string;
}

export interface ServeOptions {
  /** Text of a configuration; absent: that of docs/tenants.md. */
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function serveConsole({ yaml, env = {} }: ServeOptions = {}): Promise<ServedConsole> {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-console-'));
  const tokensFile = path.join(folder, 'tokens');
  const config = yaml === undefined ? TENANTS_FILE : path.join(folder, 'limits.yaml');
  if (yaml !== undefined) writeFileSync(config, yaml);
  const setRoles = (roles: Partial<Readonly<Record<Role, Role>>>): void => {
    const lines = (Object.entries(CONSOLE_TOKENS) as [Role, string][]).map(([role, token]) =>
      tokenLine(`${role}-1`, roles[role] ?? role, token),
    );
    writeFileSync(tokensFile, lines.join(''));
  };
  setRoles({});
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async (): Promise<WeirProcess> => {
    const started = await startWeir({
      config,
      env: { BACKEND_TYPE: 'memory', TOP_KEYS: 'true', ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: tokensFile, ...env },
    });
    await until(() =>
      callAdmin(url, { path: '/' }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    return started;
  };
  let weir = await start();
  return {
    url,
    tokensFile,
    weir: () => weir,
    admin: (request) => callAdmin(url, { token: CONSOLE_TOKENS.admin, ...request }),
    ask: async (entries, { hits = 1, domain = 'payments' } = {}) => {
      const body = { domain, hitsAddend: hits, descriptors: entries.map(([key, value]) => ({ entries: [{ key, value }] })) };
      const reply = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
      return (JSON.parse(reply.body) as { overallCode: string }).overallCode;
    },
    setRoles,
    restart: async () => {
      await weir.stop();
      weir = await start();
    },
    close: async () => {
      await weir.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
