/** The installed library packages work with `import`, `require` and strict TypeScript, stay small, and load nothing of the server. */

import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { figure } from '../../support/docs/figure';
import { installPackages, LIBRARIES, packAll, sizeOf, type Library } from '../../support/library/installed-package';
import { runCommand, type CommandResult } from '../../support/processes/command';

const RULES = "{ text: 'domain: shop\\ndescriptors:\\n  - key: user\\n    rate_limit: { unit: hour, requests_per_unit: 1 }\\n' }";
const REQUEST = "{ domain: 'shop', descriptors: [{ user: 'zoe' }] }";
const MIDDLEWARE = ['express', 'fastify', 'hono', 'koa'];
const MEGABYTE = 1_000_000;
const INSTALL_MS = 600_000;

/** Most of the client is grpc-js with what it depends on; most of the limiter is luxon, prom-client and pino. */
const BARS: Readonly<Record<Library, { readonly packages: number; readonly bytes: number }>> = {
  client: { packages: 40, bytes: 12 * MEGABYTE },
  limiter: { packages: 40, bytes: 15 * MEGABYTE },
};

let packs: string;
let folder: string;

beforeAll(() => {
  packs = packAll();
  const types = ['@types/node', '@types/express', '@types/koa'];
  folder = installPackages({ packs, others: ['express', 'fastify', 'hono', 'koa', ...types] });
}, INSTALL_MS);

function run(
  name: string,
  text: string,
  { cwd = folder, args = [] }: { cwd?: string; args?: readonly string[] } = {},
): Promise<CommandResult> {
  writeFileSync(path.join(cwd, name), text);
  return runCommand(process.execPath, [...args, name], { cwd });
}

describe.each(LIBRARIES)('@weir-rls/%s alone in an empty folder', (library) => {
  let alone: string;

  beforeAll(() => {
    alone = installPackages({ packs, libraries: [library] });
  }, INSTALL_MS);

  afterAll(() => {
    rmSync(alone, { recursive: true });
  });

  test('the package stays small', () => {
    const { packages, bytes } = sizeOf(alone);
    figure(`@weir-rls/${library}: ${packages} packages, ${(bytes / MEGABYTE).toFixed(1)} MB`);
    expect(packages).toBeLessThanOrEqual(BARS[library].packages);
    expect(bytes).toBeLessThanOrEqual(BARS[library].bytes);
  });

  test('the package loads nothing but itself and its dependencies, and its middleware nothing but itself', async () => {
    const { stdout } = await run(
      'loaded.cjs',
      `const { relative } = require('node:path');
const loaded = () => Object.keys(require.cache).map((file) => relative('node_modules', file)).filter((file) => !file.startsWith('..'));
${MIDDLEWARE.map((name) => `require('@weir-rls/${library}/${name}');`).join('\n')}
console.log(JSON.stringify(loaded()));
require('@weir-rls/${library}');
console.log(JSON.stringify(loaded()));`,
      { cwd: alone },
    );
    const [middleware, all] = stdout.split('\n', 2).map((line) => JSON.parse(line) as string[]);
    const own = `@weir-rls/${library}/dist/`;
    for (const file of middleware!) expect(file).toMatch(new RegExp(`^${own}(?:program/library/(?:middleware|limiter)|lib)/`));
    const others = all!.filter((file) => !file.startsWith(own)).map((file) => /^(?:@[^/]+\/)?[^/]+/.exec(file)![0]);
    const rooms = new Set(
      all!.filter((file) => file.startsWith(own)).map((file) => /^(?:lib|[^/]+\/[^/]+|[^/]+)/.exec(file.slice(own.length))![0]),
    );
    if (library === 'client') {
      expect([...rooms].sort()).toEqual([
        'domain/descriptor',
        'lib',
        'program/app',
        'program/library',
        'server/transport',
        'state/resilience',
      ]);
      expect(others.filter((name) => /protobufjs|proto-loader|pino|prom-client|luxon/.test(name))).toEqual([]);
    } else {
      for (const room of rooms) expect(room).not.toMatch(/^(?:administration\/|state\/top|server\/workers|main)/);
      expect(others.filter((name) => /grpc|protobufjs|fastify|opentelemetry|redis/.test(name) && name !== '@opentelemetry/api')).toEqual(
        [],
      );
    }
  });
});

test('the packages have the version of the server, their license, and no file that none of their exports loads', () => {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as { version: string; name: string };
  for (const library of LIBRARIES) {
    const place = path.join(folder, 'node_modules', '@weir-rls', library);
    expect(read(path.join(place, 'package.json')).version).toBe(read('package.json').version);
    expect(existsSync(path.join(place, 'LICENSE'))).toBe(true);
    const folders = readdirSync(path.join(place, 'dist'), { recursive: true });
    for (const name of ['administration/console', 'administration/admin', 'server/warm-up', 'server/workers', 'main.js'])
      expect(folders).not.toContain(name);
  }
});

test('without the package @redis/client a limiter on Redis says what to install', async () => {
  const { stdout } = await run(
    'no-redis.mjs',
    `import { createLimiter } from '@weir-rls/limiter';
await createLimiter({ rules: ${RULES}, store: { redis: '127.0.0.1:1' } }).catch(({ name, message }) => console.log(name, message));`,
  );
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: { '@redis/client': string } };
  const [major] = dependencies['@redis/client'].split('.');
  expect(stdout).toBe(
    `TypeError store.redis needs the package @redis/client, which is not installed; run npm install @redis/client@${major}\n`,
  );
});

const BODY = `
  const limiter = await createLimiter({ rules: ${RULES} });
  const client = createClient({ address: '127.0.0.1:1', timeoutMs: 1000 });
  const results = [await limiter.check(${REQUEST}), await limiter.check(${REQUEST}), await client.check(${REQUEST})];
  console.log(JSON.stringify(results.map(({ allowed, decidedBy }) => [allowed, decidedBy])));
  console.log([express, fastify, hono, koa].every((each) => typeof each === 'function'));
`;

test.each([
  [
    'an ES module',
    'consumer.mjs',
    `import { createLimiter } from '@weir-rls/limiter';
import { createClient } from '@weir-rls/client';
import { rateLimit as express } from '@weir-rls/client/express';
import { rateLimit as fastify } from '@weir-rls/limiter/fastify';
import { rateLimit as hono } from '@weir-rls/client/hono';
import { rateLimit as koa } from '@weir-rls/limiter/koa';
${BODY}`,
  ],
  [
    'CommonJS',
    'consumer.cjs',
    `const { createLimiter } = require('@weir-rls/limiter');
const { createClient } = require('@weir-rls/client');
const [express, fastify, hono, koa] = ['express', 'fastify', 'hono', 'koa'].map((name) => require('@weir-rls/client/' + name).rateLimit);
(async () => {${BODY}})();`,
  ],
])('%s uses every part, and ends although nothing was closed', async (_, name, text) => {
  const { exitCode, stdout, stderr } = await run(name, text);
  const decided = '[[true,"weir"],[false,"weir"],[true,"failure-mode"]]';
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${decided}\ntrue\n` });
  // Nobody serves the client, and its program has no hook.
  expect(stderr).toContain('[WEIR_FAILURE_MODE] WeirWarning: The failure mode open allowed 1 request without a decision of Weir.');
});

/** `flags`: those beside the strict ones. */
async function compile(name: string, text: string, { flags = [] }: { readonly flags?: readonly string[] } = {}): Promise<CommandResult> {
  writeFileSync(path.join(folder, name), text);
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', ...flags];
  const modules = ['--module', 'node16', '--moduleResolution', 'node16', '--target', 'es2022'];
  const libraries = ['--lib', 'es2023,dom,dom.iterable,dom.asynciterable', '--types', 'node'];
  const tsc = path.resolve('node_modules/typescript/bin/tsc');
  return runCommand(process.execPath, [tsc, ...strict, ...modules, ...libraries, name], { cwd: folder });
}

test('a program in strict TypeScript compiles with all declarations checked', async () => {
  const { exitCode, stdout } = await compile(
    'consumer.mts',
    `import { createServer } from 'node:http';
import express, { type Request } from 'express';
import { createLimiter, InvalidRequestError, type LimitResult } from '@weir-rls/limiter';
import { createClient, type Client } from '@weir-rls/client';
import * as forExpress from '@weir-rls/client/express';
import * as forHono from '@weir-rls/limiter/hono';

const client: Client = createClient({ address: 'weir:8081', failureMode: 'closed', tls: { ca: 'PEM' } });
const limiter = await createLimiter({ rules: { documents: [{ domain: 'shop' }] }, store: { redis: 'localhost:6379' }, settings: { FAILURE_MODE: 'open' } });
const result: LimitResult = await limiter.check({ domain: 'shop', descriptors: [{ user: 'zoe' }, { entries: [['user', 'zoe']], hitsAddend: 0 }] }, { signal: AbortSignal.timeout(5) });
const left: number | undefined = result.statuses[0]?.remaining;
const error: Error = new InvalidRequestError(String(left));
console.log(error, limiter.explain({ domain: 'shop', descriptors: [] }));
// @ts-expect-error no such mode
createClient({ address: 'weir:8081', failureMode: 'ajar' });

const handler = forExpress.rateLimit({ limiter, domain: 'shop', descriptors: (request) => [{ path: request.url ?? '/' }] });
createServer((request, response) => { handler(request, response, () => response.end('ok')); });
express().use(forExpress.rateLimit({ limiter: client, domain: 'shop', descriptors: (request) => [{ address: forExpress.clientAddress(request, { trustedHops: 1 }) }] }));
express().get('/', forExpress.rateLimit({ limiter, domain: 'shop', descriptors: (request: Request) => [{ path: request.path }], onDenied: ({ retryAfterMs = 0 }, _request, response) => { response.end(String(retryAfterMs)); } }));
console.log(typeof forHono.rateLimit);
`,
  );
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
});

test('the declarations fit those of Fastify, Hono and Koa', async () => {
  // The types of Koa do not compile by themselves.
  const { exitCode, stdout } = await compile(
    'frameworks.mts',
    `import Fastify, { type FastifyRequest } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { createClient } from '@weir-rls/client';
import * as forFastify from '@weir-rls/client/fastify';
import * as forHono from '@weir-rls/client/hono';
import * as forKoa from '@weir-rls/client/koa';

const limiter = createClient({ address: 'weir:8081' });
const fastify = Fastify();
await fastify.register(forFastify.rateLimitPlugin, { limiter, domain: 'shop', descriptors: (request: FastifyRequest) => [{ path: request.url }], hook: 'preHandler' });
fastify.get('/', { onRequest: forFastify.rateLimit({ limiter, domain: 'shop', descriptors: ({ raw }) => [{ path: raw.url ?? '/' }] }) }, () => 'ok');
new Hono().use(forHono.rateLimit({ limiter, domain: 'shop', descriptors: (context) => [{ path: context.req.raw.url }], onDenied: () => new Response('no', { status: 429 }) }));
new Koa().use(forKoa.rateLimit({ limiter, domain: 'shop', descriptors: (context) => [{ path: context.req.url ?? '/' }], hitsAddend: () => 2 }));
`,
    { flags: ['--skipLibCheck'] },
  );
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
});

test('only what is exported can be imported', async () => {
  const { stdout } = await run(
    'names.mjs',
    `for (const name of ['@weir-rls/client/dist/program/library/client/weir-client.js', '@weir-rls/limiter/dist/program/cli/log-load.js'])
  console.log(await import(name).catch(({ code }) => code));`,
  );
  expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\nERR_PACKAGE_PATH_NOT_EXPORTED\n');
});

test('a limiter that watches its files takes their changes, and keeps its rules while they are wrong', async () => {
  const { exitCode, stdout, stderr } = await run(
    'watch.mjs',
    `import { writeFileSync, renameSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createLimiter } from '@weir-rls/limiter';
const write = (unit, requests) => {
  writeFileSync('rules.new', \`domain: shop\\ndescriptors:\\n  - key: user\\n    rate_limit: { unit: \${unit}, requests_per_unit: \${requests} }\\n\`);
  renameSync('rules.new', 'rules.yaml');
};
write('hour', 5);
const lines = [];
const limiter = await createLimiter({ rules: 'rules.yaml', watch: true, log: { write: (line) => lines.push(line) } });
const limit = async () => (await limiter.check(${REQUEST})).statuses[0].limit.requestsPerUnit;
const until = async (holds) => { for (let n = 0; n < 2000 && !(await holds()); n += 1) await pause(10); };
console.log(await limit());
write('hour', 9);
await until(async () => (await limit()) === 9);
console.log(await limit());
write('secnod', 2);
await until(() => lines.some((line) => line.includes('rules.yaml:4')));
console.log(await limit(), lines.some((line) => line.includes('stays in force')));
await limiter.close();`,
  );
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: '5\n9\n9 true\n', stderr: '' });
});
