/** The proxies that the tests run: each with its published configuration, on free loopback ports, before a backend and a Weir. */

import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startChild, waitUntilReady } from '../support/processes/child-process';
import { runCommand } from '../support/processes/command';
import { freePort } from '../support/servers/ports';
import { httpRequest } from '../support/clients/http-client';
import { installed } from '../support/processes/installed';

const DEPLOY = resolve(__dirname, '..', '..', 'deploy');
const READY_TIMEOUT_MS = 30_000;

/** How long a proxy waits for Weir here: on a busy machine Weir takes longer than the published times, and the request would pass. */
const PATIENCE_MS = 1_000;

/** Exact strings and what stands there instead; each has to occur in some file. */
type Replacements = Readonly<Record<string, string>>;

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Kind {
  /** The folder of the configuration in deploy/. */
  readonly folder: string;
  readonly binary: () => string;
  /** Prints the version. */
  readonly versionArgs: readonly string[];
  /** What differs from the published files besides ports. `folder` is a copy of them. */
  readonly replacements?: (folder: string) => Replacements;
  readonly start: (binary: string, folder: string) => Started;
  /** Whether a request passes while Weir does not answer. */
  readonly failsOpen: boolean;
  /** Whether it stops waiting for a slow Weir within a second. */
  readonly givesUp: boolean;
  /** Whether responses that pass have the headers of Weir. */
  readonly showsLimits: boolean;
  /** The body of a denial, if it is not that of Weir. */
  readonly ownBody?: string;
}

const NGINX_TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export type ProxyName = 'nginx' | 'traefik' | 'caddy' | 'haproxy' | 'apache';

export const PROXIES: Readonly<Record<ProxyName, Kind>> = {
  nginx: {
    folder: 'nginx',
    binary: () => installed('WEIR_NGINX', 'install/system/nginx.mjs'),
    versionArgs: ['-v'],
    // The folders of the package are for root alone.
    replacements: (folder) => ({
      'http {\n': `http {\n${NGINX_TEMPORARY.map((name) => `  ${name}_temp_path ${folder}/${name};\n`).join('')}`,
      'worker_processes auto;': 'worker_processes 1;',
      '/var/log/nginx/access.log': join(folder, 'access.log'),
      'proxy_connect_timeout 50ms': `proxy_connect_timeout ${PATIENCE_MS}ms`,
      'proxy_send_timeout 50ms': `proxy_send_timeout ${PATIENCE_MS}ms`,
      'proxy_read_timeout 100ms': `proxy_read_timeout ${PATIENCE_MS}ms`,
    }),
    start: (command, folder) => ({
      command,
      args: ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr', '-g', `daemon off; pid ${folder}/nginx.pid;`],
    }),
    failsOpen: true,
    givesUp: true,
    showsLimits: true,
    ownBody: '{"error":"rate limit exceeded"}\n',
  },
  traefik: {
    folder: 'traefik',
    binary: () => installed('WEIR_TRAEFIK', 'install/traefik.mjs'),
    versionArgs: ['version'],
    replacements: (folder) => ({ '/etc/traefik/dynamic.yaml': join(folder, 'dynamic.yaml') }),
    start: (command, folder) => ({ command, args: [`--configFile=${join(folder, 'traefik.yaml')}`] }),
    failsOpen: false,
    // Its timeout is 30 s, and cannot be set.
    givesUp: false,
    showsLimits: false,
  },
  caddy: {
    folder: 'caddy',
    binary: () => installed('WEIR_CADDY', 'install/go/caddy.mjs'),
    // `caddy version` of one that `go install` built says `unknown`.
    versionArgs: ['build-info'],
    replacements: () => ({
      'dial_timeout 50ms': `dial_timeout ${PATIENCE_MS}ms`,
      'response_header_timeout 100ms': `response_header_timeout ${PATIENCE_MS}ms`,
    }),
    start: (command, folder) => ({
      command,
      args: ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
      env: { XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
    }),
    failsOpen: true,
    givesUp: true,
    showsLimits: true,
  },
  haproxy: {
    folder: 'haproxy',
    binary: () => installed('WEIR_HAPROXY', 'install/system/haproxy.mjs'),
    versionArgs: ['-v'],
    replacements: (folder) => ({
      '/etc/haproxy/weir.lua': join(folder, 'weir.lua'),
      'log /dev/log local0': 'log stdout format raw local0',
      'local TIMEOUT_MS = 50': `local TIMEOUT_MS = ${PATIENCE_MS}`,
    }),
    start: (command, folder) => ({ command, args: ['-db', '-f', join(folder, 'haproxy.cfg')] }),
    failsOpen: true,
    givesUp: true,
    showsLimits: true,
  },
  apache: {
    folder: 'apache',
    binary: () => installed('WEIR_APACHE', 'install/system/apache.mjs'),
    versionArgs: ['-v'],
    replacements: (folder) => ({
      '/etc/apache2/weir.lua': join(folder, 'weir.lua'),
      '/var/log/apache2/access.log': join(folder, 'access.log'),
      'http.TIMEOUT = 0.1': `http.TIMEOUT = ${PATIENCE_MS / 1000}`,
    }),
    start: (command, folder) => {
      writeFileSync(join(folder, 'main.conf'), apacheMain(command, folder));
      return { command, args: ['-DFOREGROUND', '-f', join(folder, 'main.conf')] };
    },
    failsOpen: true,
    givesUp: true,
    showsLimits: true,
  },
};

export const PROXY_NAMES = Object.keys(PROXIES) as readonly ProxyName[];

/** The modules of the system, or those beside an Apache that was unpacked into the cache. */
function apacheModules(binary: string): string {
  const unpacked = resolve(binary, '..', '..', 'root', 'usr', 'lib', 'apache2', 'modules');
  return existsSync(unpacked) ? unpacked : '/usr/lib/apache2/modules';
}

/** What the files of a distribution do: modules, and where logs and the process id are. */
function apacheMain(binary: string, folder: string): string {
  const from = apacheModules(binary);
  const modules = ['mpm_event', 'authz_core', 'lua', 'proxy', 'proxy_http', 'headers'];
  return [
    `ServerRoot ${folder}`,
    ...modules.map((name) => `LoadModule ${name}_module ${from}/mod_${name}.so`),
    'ServerName localhost',
    `PidFile ${folder}/httpd.pid`,
    `DefaultRuntimeDir ${folder}`,
    `Mutex pthread`,
    `ErrorLog ${folder}/error.log`,
    'StartServers 1',
    'ThreadsPerChild 8',
    'MinSpareThreads 1',
    'MaxSpareThreads 8',
    'ServerLimit 1',
    'MaxRequestWorkers 8',
    `Include ${folder}/weir.conf`,
    '',
  ].join('\n');
}

export interface ProxyOptions {
  readonly weirPort: number;
  readonly backendPort: number;
}

export interface Proxy {
  readonly url: string;
  /** Its access log so far. */
  accessLog(): string;
  stop(): Promise<void>;
}

export async function versionOf(name: ProxyName): Promise<string> {
  const { binary, versionArgs } = PROXIES[name];
  const { stdout, stderr } = await runCommand(binary(), versionArgs);
  return /(?:^|[^go\d.])(\d+\.\d+\.\d+)/.exec(`${stdout}${stderr}`)?.[1] ?? 'unknown';
}

/** Starts it with its published configuration; only ports, paths and PATIENCE_MS differ. */
export async function startProxy(name: ProxyName, { weirPort, backendPort }: ProxyOptions): Promise<Proxy> {
  const kind = PROXIES[name];
  const folder = mkdtempSync(join(tmpdir(), `weir-${name}-`));
  // Workers of some proxies have another user.
  chmodSync(folder, 0o777);
  cpSync(join(DEPLOY, kind.folder), folder, { recursive: true });
  const port = await freePort();
  replaceIn(folder, {
    '127.0.0.1:8080': `127.0.0.1:${weirPort}`,
    '127.0.0.1:9000': `127.0.0.1:${backendPort}`,
    '10000': `${port}`,
    ...kind.replacements?.(folder),
  });
  const child = startChild(kind.start(kind.binary(), folder));
  const url = `http://127.0.0.1:${port}`;
  // Traefik answers 404 until it has read its routes.
  const isReady = async (): Promise<boolean> => (await httpRequest(`${url}/ready`)).status !== 404;
  await waitUntilReady(name, child, isReady, READY_TIMEOUT_MS);
  return {
    url,
    accessLog: () => {
      const file = join(folder, 'access.log');
      return existsSync(file) ? readFileSync(file, 'utf8') : child.output();
    },
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function replaceIn(folder: string, replacements: Replacements): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    let text = readFileSync(path, 'utf8');
    for (const [from, to] of Object.entries(replacements)) text = text.replaceAll(from, to);
    writeFileSync(path, text);
  }
}
