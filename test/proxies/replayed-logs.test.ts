/** `weir replay` reads the access logs that nginx and Apache write in their combined form. */

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { startChild, waitUntilReady, type Child } from '../support/processes/child-process';
import { freePort } from '../support/servers/ports';
import { configurationOf, replayOf } from '../support/replay/replay-of';
import { PROXIES } from './proxies';

const READY_TIMEOUT_MS = 30_000;

const CONFIG = `domain: shop
descriptors:
  - key: agent
    descriptors:
      - {key: path, rate_limit: {unit: year, requests_per_unit: 2, algorithm: fixed_window}}
`;
const MAP = `domain: shop
descriptors:
  - [{key: agent, field: user_agent}, {key: path, field: path, match: '^/[^/?]*'}]
`;

interface Requested {
  readonly path: string;
  readonly agent: string | undefined;
}

const REQUESTS: readonly Requested[] = [
  ...['/pay?a=1', '/pay', '/pay/x', '/pay'].map((path) => ({ path, agent: 'plain/1.0' })),
  ...['/a', '/a', '/a'].map((path) => ({ path, agent: 'with "quotes" and \\ [x]' })),
  ...['/b', '/b', '/b'].map((path) => ({ path, agent: 'zoë' })),
  { path: '/c', agent: undefined },
];

function nginx(folder: string, port: number): Child {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`);
  const server = `server { listen 127.0.0.1:${port}; access_log ${folder}/access.log combined; location / { return 200; } }`;
  writeFileSync(join(folder, 'nginx.conf'), `events {}\nhttp { ${temporary.join(' ')} ${server} }\n`);
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr', '-g', `daemon off; pid ${folder}/nginx.pid;`];
  return startChild({ command: PROXIES.nginx.binary(), args });
}

function apache(folder: string, port: number): Child {
  const command = PROXIES.apache.binary();
  const unpacked = resolve(command, '..', '..', 'root', 'usr', 'lib', 'apache2', 'modules');
  const modules = existsSync(unpacked) ? unpacked : '/usr/lib/apache2/modules';
  const conf = [
    `ServerRoot ${folder}`,
    ...['mpm_event', 'authz_core'].map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`),
    'ServerName localhost',
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/httpd.pid`,
    `DefaultRuntimeDir ${folder}`,
    'Mutex pthread',
    `ErrorLog ${folder}/error.log`,
    `DocumentRoot ${folder}`,
    'LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined',
    `CustomLog ${folder}/access.log combined`,
    '',
  ];
  writeFileSync(join(folder, 'main.conf'), conf.join('\n'));
  return startChild({ command, args: ['-DFOREGROUND', '-f', join(folder, 'main.conf')] });
}

test.each([
  ['nginx', nginx],
  ['Apache', apache],
])('%s', async (name, start) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-replayed-'));
  chmodSync(folder, 0o777);
  const port = await freePort();
  const server = start(folder, port);
  const log = () => (existsSync(join(folder, 'access.log')) ? readFileSync(join(folder, 'access.log')) : Buffer.alloc(0));
  let lines = 0;
  try {
    await waitUntilReady(name, server, async () => (await httpRequest(`http://127.0.0.1:${port}/ready`)).status > 0, READY_TIMEOUT_MS);
    for (const { path, agent } of REQUESTS) {
      const headers = agent === undefined ? {} : { 'user-agent': Buffer.from(agent).toString('latin1') };
      await httpRequest(`http://127.0.0.1:${port}${path}`, { headers });
    }
    await until(() => (lines = log().toString().split('\n').length - 1) > REQUESTS.length);
  } finally {
    await server.stop();
  }
  const configurations = [await configurationOf(CONFIG)];
  const report = await replayOf({ logs: [log()], map: MAP, configurations });
  rmSync(folder, { recursive: true, force: true });
  // The first requests asked whether the server is ready, and one had no agent.
  expect({ wrong: report.lines_wrong, without: report.lines_without_descriptors, requests: report.requests }).toEqual({
    wrong: 0,
    without: lines - REQUESTS.length + 1,
    requests: REQUESTS.length - 1,
  });
  expect(report.denied?.keys.map(({ entries, requests }) => [...entries.map(({ value }) => value), requests])).toEqual([
    ['plain/1.0', '/pay', 2],
    ['with "quotes" and \\ [x]', '/a', 1],
    ['zoë', '/b', 1],
  ]);
});
