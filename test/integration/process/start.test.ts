/** No port answers before all ports are bound, and one report has every problem of settings and configuration. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readStart } from '../../../src/program/app/start/read-start';
import { check } from '../../../src/program/cli/check';
import { runTestsBeside } from '../../../src/program/cli/test/coverage';
import { showSettings } from '../../../src/program/cli/show-settings';
import type { SettingsError } from '../../../src/configuration/settings/table/settings-error';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { runWeir } from '../../support/processes/command';
import { isLong } from '../../support/random/form';
import { startWeir } from '../../support/processes/weir-process';
import { makeCertificates, makeExpired } from '../../support/servers/certificates';
import { freePort } from '../../support/servers/ports';
import { hangLimitMs } from '../../support/clock/hang-limit';

type Env = Readonly<Record<string, string>>;

const MAIN = path.resolve('dist/main.js');
const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');
const FOLDER = mkdtempSync(path.join(tmpdir(), 'weir-start-'));
const HASH = 'a'.repeat(64);

function fileOf(name: string, text: string): string {
  const file = path.join(FOLDER, name);
  writeFileSync(file, text);
  return file;
}

const OPEN = { ADMIN_AUTH: 'off' };
const JWT = { ADMIN_JWT_ISSUER: 'https://issuer.test', ADMIN_JWT_AUDIENCE: 'weir' };
const valid = makeCertificates();
const expired = makeExpired();

interface Wrong {
  /** What is wrong; ports are those of the test. */
  readonly env: (ports: Ports) => Env;
  /** How the lines of the report begin, in their order. */
  readonly says: readonly string[];
  /** It is found when the ports are bound, so not by the commands that bind none. */
  readonly isOfPort?: true;
  /** The short form starts a process, too. */
  readonly isShort?: true;
}

interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly debug: number;
  readonly admin: number;
  readonly metrics: number;
  /** Somebody else listens there. */
  readonly taken: number;
}

const tls = ({ cert, key }: { cert: string; key: string }): Env => ({
  GRPC_SERVER_USE_TLS: 'true',
  GRPC_SERVER_TLS_CERT: cert,
  GRPC_SERVER_TLS_KEY: key,
});

const WRONG: readonly (readonly [name: string, wrong: Wrong])[] = [
  [
    'a tokens file that does not exist',
    { env: () => ({ ADMIN_TOKENS_FILE: '/nowhere/tokens' }), says: ["ADMIN_TOKENS_FILE: /nowhere/tokens can't be read (ENOENT)"] },
  ],
  [
    'a role that does not exist',
    {
      env: () => ({ ADMIN_TOKENS_FILE: fileOf('tokens', `ann root ${HASH}\n`) }),
      says: ['ADMIN_TOKENS_FILE: '],
      isShort: true,
    },
  ],
  [
    'a key set that does not exist',
    { env: () => ({ ...JWT, ADMIN_JWT_JWKS_FILE: '/nowhere/jwks' }), says: ["ADMIN_JWT_JWKS_FILE: /nowhere/jwks can't be read"] },
  ],
  [
    'a key set with a secret key',
    { env: () => ({ ...JWT, ADMIN_JWT_JWKS_FILE: fileOf('jwks', '{"keys":[{"kty":"oct","k":"eA"}]}') }), says: ['ADMIN_JWT_JWKS_FILE: '] },
  ],
  ['nobody who may use the admin API', { env: () => ({}), says: ['ADMIN_PORT: it is set, but nothing says who may use'] }],
  [
    'the port of the admin API in use',
    { env: ({ taken }) => ({ ...OPEN, ADMIN_PORT: String(taken) }), says: ['ADMIN_PORT: 127.0.0.1:'], isOfPort: true },
  ],
  [
    'all ports in use',
    {
      env: ({ taken }) => ({
        ...OPEN,
        ...Object.fromEntries(['PORT', 'GRPC_PORT', 'DEBUG_PORT', 'ADMIN_PORT'].map((name) => [name, String(taken)])),
        // Each at an address of its own, or the settings would contradict each other.
        HOST: '127.0.0.2',
        GRPC_HOST: '127.0.0.3',
        DEBUG_HOST: '127.0.0.4',
      }),
      says: ['GRPC_PORT: 127.0.0.3:', 'PORT: 127.0.0.2:', 'DEBUG_PORT: 127.0.0.4:', 'ADMIN_PORT: 127.0.0.1:'],
      isOfPort: true,
    },
  ],
  [
    'one port for two',
    {
      env: ({ grpc, http }) => ({ ...OPEN, ADMIN_PORT: String(grpc), DEBUG_HOST: '0.0.0.0', DEBUG_PORT: String(http) }),
      says: ['DEBUG_PORT: it is port', 'ADMIN_PORT: it is port'],
      isShort: true,
    },
  ],
  [
    'the port of PROMETHEUS_ADDR twice',
    { env: ({ http }) => ({ ...OPEN, USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: `:${http}` }), says: ['PROMETHEUS_ADDR: it is port'] },
  ],
  [
    'certificates of the admin API that do not match',
    {
      env: () => ({ ...OPEN, ADMIN_TLS_CERT: valid.server.cert, ADMIN_TLS_KEY: valid.client.key }),
      says: ['ADMIN_TLS_KEY: it is not the key'],
    },
  ],
  [
    'an expired certificate of the admin API',
    {
      env: () => ({ ...OPEN, ADMIN_TLS_CERT: expired.cert, ADMIN_TLS_KEY: expired.key }),
      says: ['ADMIN_TLS_CERT: the certificate in'],
    },
  ],
  [
    'an expired certificate of the gRPC port',
    { env: () => ({ ...OPEN, ...tls(expired) }), says: ['GRPC_SERVER_TLS_CERT: the certificate in'] },
  ],
  [
    'an expired certificate for Redis',
    {
      env: () => ({
        ...OPEN,
        BACKEND_TYPE: 'redis',
        REDIS_URL: 'rediss://127.0.0.1:1',
        REDIS_TLS_CLIENT_CERT: expired.cert,
        REDIS_TLS_CLIENT_KEY: expired.key,
      }),
      says: ['REDIS_TLS_CLIENT_CERT: the certificate in'],
    },
  ],
  [
    'a password file of Redis that is empty',
    {
      env: () => ({ ...OPEN, BACKEND_TYPE: 'redis', REDIS_URL: '127.0.0.1:1', REDIS_AUTH_FILE: fileOf('password', '') }),
      says: ['REDIS_AUTH_FILE: '],
    },
  ],
  [
    'a CA of Redis that is none',
    {
      env: () => ({ ...OPEN, BACKEND_TYPE: 'redis', REDIS_URL: 'rediss://127.0.0.1:1', REDIS_TLS_CACERT: CONFIG }),
      says: ['REDIS_TLS_CACERT: '],
    },
  ],
  [
    'a control file in a folder that does not exist',
    { env: () => ({ ...OPEN, CONTROL_FILE: '/nowhere/control' }), says: ['CONTROL_FILE: the folder /nowhere does not exist'] },
  ],
  [
    'a control file that is a folder',
    { env: () => ({ ...OPEN, CONTROL_FILE: FOLDER }), says: [`CONTROL_FILE: ${FOLDER} exists and is not a file`] },
  ],
  ['a control file of another program', { env: () => ({ ...OPEN, CONTROL_FILE: fileOf('other', '{"a":1}\n') }), says: ['CONTROL_FILE: '] }],
  [
    'a socket at the path of a file',
    {
      env: () => ({ ...OPEN, GRPC_UDS: fileOf('socket', '') }),
      says: [`GRPC_UDS: ${path.join(FOLDER, 'socket')} exists and is not a socket`],
    },
  ],
  [
    'a socket in a folder that does not exist',
    { env: () => ({ ...OPEN, GRPC_UDS: '/nowhere/weir.sock' }), says: ['GRPC_UDS: the folder /nowhere does not exist'] },
  ],
  [
    'a pattern of statsd that is invalid',
    {
      env: () => ({
        ...OPEN,
        USE_DOG_STATSD: 'true',
        USE_DOG_STATSD_MOGRIFIERS: 'A',
        DOG_STATSD_MOGRIFIER_A_PATTERN: '(',
        DOG_STATSD_MOGRIFIER_A_NAME: 'a',
      }),
      says: ['DOG_STATSD_MOGRIFIER_A_PATTERN: '],
    },
  ],
  [
    'a receiver of traces that is no URL',
    {
      env: () => ({ ...OPEN, TRACING_ENABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }),
      says: ['OTEL_EXPORTER_OTLP_ENDPOINT: '],
    },
  ],
  ['half of the settings of /check', { env: () => ({ ...OPEN, CHECK_DOMAIN: 'd' }), says: ['CHECK_DESCRIPTORS: '] }],
  [
    'everything at once',
    {
      env: ({ http }) => ({
        LOG_LEVEL: 'loud',
        ADMIN_TOKENS_FILE: '/nowhere/tokens',
        CONTROL_FILE: '/nowhere/control',
        DEBUG_PORT: String(http),
        USE_STATSD: 'true',
        USE_DOG_STATSD: 'true',
        MEMCACHE_SRV: 'a',
        ...tls(expired),
      }),
      says: [
        'LOG_LEVEL: ',
        'MEMCACHE_SRV: ',
        'USE_STATSD: ',
        'GRPC_SERVER_TLS_CERT: ',
        'DEBUG_PORT: ',
        'CONTROL_FILE: ',
        'ADMIN_TOKENS_FILE: ',
      ],
      isShort: true,
    },
  ],
];

/** Whoever listens on a port of the test, at each of its addresses. */
async function takePort(): Promise<{ readonly port: number; readonly close: () => void }> {
  const port = await freePort();
  const servers = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'].map((host) =>
    createServer((socket) => socket.destroy()).listen(port, host),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  return {
    port,
    close: () => {
      for (const server of servers) server.close();
    },
  };
}

/** The answers of the ports, from now on until `stop`: what a client of HTTP, and one of HTTP/2, gets. */
function watchPorts(ports: readonly number[]): { readonly stop: () => Promise<readonly string[]> } {
  const answers: string[] = [];
  let isOver = false;
  const ask = (port: number, bytes: string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      socket.setTimeout(1_000, () => socket.destroy());
      socket.on('data', (data) => answers.push(`${port}: ${data.toString('latin1').slice(0, 60)}`));
      socket.on('error', () => undefined);
      socket.once('close', () => {
        resolve();
      });
    });
  const watch = async (port: number): Promise<void> => {
    while (!isOver) {
      await Promise.all([
        ask(port, 'GET /healthcheck HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
        ask(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
      ]);
    }
  };
  const watching = Promise.all(ports.map(watch));
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return answers;
    },
  };
}

async function serveUntilEnd(env: Env): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', CONFIG], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: hangLimitMs(60_000),
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

async function portsOf(taken: number): Promise<Ports> {
  const [http = 0, grpc = 0, debug = 0, admin = 0, metrics = 0] = await Promise.all(Array.from({ length: 5 }, () => freePort()));
  return { http, grpc, debug, admin, metrics, taken };
}

function environment(ports: Ports, wrong: Env): Env {
  return {
    HOST: '127.0.0.1',
    GRPC_HOST: '127.0.0.1',
    DEBUG_HOST: '127.0.0.1',
    PORT: String(ports.http),
    GRPC_PORT: String(ports.grpc),
    DEBUG_PORT: String(ports.debug),
    ADMIN_PORT: String(ports.admin),
    BACKEND_TYPE: 'memory',
    WARM_UP: 'false',
    ...wrong,
  };
}

/** The lines that begin with a setting. */
function problemsIn(text: string): readonly string[] {
  return text.split('\n').filter((line) => /^[A-Z][A-Z0-9_]+: /.test(line));
}

/** What a command writes to standard output. */
async function outputOf(run: () => number | Promise<number>): Promise<{ readonly code: number; readonly stdout: string }> {
  let stdout = '';
  const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  try {
    return { code: await run(), stdout };
  } finally {
    write.mockRestore();
  }
}

describe('a setting that Weir cannot use ends it with 1 before any port answers', () => {
  let taken: Awaited<ReturnType<typeof takePort>>;

  beforeAll(async () => {
    taken = await takePort();
  });

  afterAll(() => {
    taken.close();
  });

  test.each(WRONG)('%s', async (_name, { env: wrong, says, isOfPort, isShort }) => {
    const ports = await portsOf(taken.port);
    const env = environment(ports, wrong(ports));
    const startOf = (lines: readonly string[]) => lines.map((line, index) => line.slice(0, says[index]?.length));
    if (isLong || isShort === true || isOfPort === true) {
      const watched = watchPorts([ports.http, ports.grpc, ports.debug, ports.admin, ports.metrics]);
      const { code, stderr } = await serveUntilEnd(env);
      expect(await watched.stop()).toEqual([]);
      expect(startOf(problemsIn(stderr))).toEqual(says);
      expect({ code, stack: /^\s+at /m.test(stderr) }).toEqual({ code: 1, stack: false });
    }
    if (isOfPort === true) return;
    // What a start reports first, without a process.
    const refusal: unknown = await readStart(env).catch((error: unknown) => error);
    const problems = (refusal as SettingsError).message.split('\n');
    expect(startOf(problems)).toEqual(says);
    const [settings, checked] = [
      await outputOf(() => showSettings({ args: [], env })),
      await outputOf(() => check({ args: ['--settings', CONFIG], env, runTestsBeside })),
    ];
    expect([settings.code, checked.code]).toEqual([1, 1]);
    for (const problem of problems) {
      expect(settings.stdout).toContain(`  ${problem}\n`);
      expect(checked.stdout).toContain(`environment: error: ${problem}\n`);
    }
  });
});

test('with workers, no port answers before all of them are bound', async () => {
  const taken = await takePort();
  const ports = await portsOf(taken.port);
  const env = environment(ports, {
    ...OPEN,
    ADMIN_PORT: String(taken.port),
    BACKEND_TYPE: 'redis',
    REDIS_URL: '127.0.0.1:1',
    WORKERS: '2',
  });
  const watched = watchPorts([ports.http, ports.grpc, ports.debug]);
  const { code, stderr } = await serveUntilEnd(env);
  taken.close();
  expect(await watched.stop()).toEqual([]);
  expect({ code, problems: problemsIn(stderr).length }).toEqual({ code: 1, problems: 1 });
});

test('the report has the problems of the settings and those of the configuration', async () => {
  const config = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: secnod } }]\n');
  const { exitCode, stderr } = await runWeir(['serve', '--config', config], { env: { PORT: 'x', LOG_LEVEL: 'loud' } });
  expect(stderr).toMatch(/^PORT: .*\nLOG_LEVEL: .*\nconfiguration rejected with 1 problem in 1 file:\n.*unknown unit "secnod".*\n$/);
  expect(exitCode).toBe(1);
});

test('Weir may write neither to a folder nor to a file that is read-only', async () => {
  const folder = path.join(FOLDER, 'locked');
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  const { code, stdout } = await outputOf(() =>
    showSettings({ args: [], env: { BACKEND_TYPE: 'memory', CONTROL_FILE: path.join(folder, 'control') } }),
  );
  // The superuser may write everywhere.
  if (process.getuid?.() === 0) expect(code).toBe(0);
  else expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('CONTROL_FILE: Weir may not write to') as string });
});

test('all ports answer once Weir says that it serves', async () => {
  const [admin, metrics] = [await freePort(), await freePort()];
  const weir = await startWeir({
    config: CONFIG,
    env: { BACKEND_TYPE: 'memory', ...OPEN, ADMIN_PORT: String(admin), USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: `127.0.0.1:${metrics}` },
  });
  const urls = [`${weir.httpPort}/healthcheck`, `${weir.debugPort}/`, `${metrics}/metrics`, `${admin}/v1/whoami`];
  const answers = await Promise.all(urls.map((url) => httpRequest(`http://127.0.0.1:${url}`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(((await once(connect(weir.grpcPort, '127.0.0.1'), 'data')) as [Buffer])[0].length).toBeGreaterThan(0);
  expect(await weir.stop()).toBe(0);
});
