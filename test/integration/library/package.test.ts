/** The package as npm publishes it: types, CommonJS and ES modules, what its parts load, and that it keeps no process alive. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { installPackage } from '../../support/library/installed-package';
import { runCommand, type CommandResult } from '../../support/processes/command';

const RULES = "{ text: 'domain: shop\\ndescriptors:\\n  - key: user\\n    rate_limit: { unit: hour, requests_per_unit: 1 }\\n' }";
const REQUEST = "{ domain: 'shop', descriptors: [{ user: 'zoe' }] }";
const NAMES = ['.', './client', './express', './fastify', './hono', './koa'];

let folder: string;

beforeAll(() => {
  const types = ['@types/node', '@types/express', '@types/koa'];
  folder = installPackage({ others: ['express', 'hono', 'koa', ...types] });
});

function run(name: string, text: string, args: readonly string[] = []): Promise<CommandResult> {
  writeFileSync(path.join(folder, name), text);
  return runCommand(process.execPath, [...args, name], { cwd: folder });
}

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
    `import { createLimiter } from 'weir';
import { createClient } from 'weir/client';
import { rateLimit as express } from 'weir/express';
import { rateLimit as fastify } from 'weir/fastify';
import { rateLimit as hono } from 'weir/hono';
import { rateLimit as koa } from 'weir/koa';
${BODY}`,
  ],
  [
    'CommonJS',
    'consumer.cjs',
    `const { createLimiter } = require('weir');
const { createClient } = require('weir/client');
const [express, fastify, hono, koa] = ['express', 'fastify', 'hono', 'koa'].map((name) => require('weir/' + name).rateLimit);
(async () => {${BODY}})();`,
  ],
])('%s uses every part, and ends although nothing was closed', async (_, name, text) => {
  const { exitCode, stdout, stderr } = await run(name, text);
  const decided = '[[true,"weir"],[false,"weir"],[true,"failure-mode"]]';
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: `${decided}\ntrue\n`, stderr: '' });
});

test('a program in strict TypeScript compiles against the declarations and the frameworks', async () => {
  writeFileSync(
    path.join(folder, 'consumer.mts'),
    `import express, { type Request } from 'express';
import Fastify, { type FastifyRequest } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { createLimiter, InvalidRequestError, type LimitResult } from 'weir';
import { createClient, type Client } from 'weir/client';
import * as forExpress from 'weir/express';
import * as forFastify from 'weir/fastify';
import * as forHono from 'weir/hono';
import * as forKoa from 'weir/koa';

const client: Client = createClient({ address: 'weir:8081', failureMode: 'closed', tls: { ca: 'PEM' } });
const limiter = await createLimiter({ rules: { documents: [{ domain: 'shop' }] }, store: { redis: 'localhost:6379' }, settings: { FAILURE_MODE: 'open' } });
const result: LimitResult = await limiter.check({ domain: 'shop', descriptors: [{ user: 'zoe' }, { entries: [['user', 'zoe']], hitsAddend: 0 }] }, { signal: AbortSignal.timeout(5) });
const left: number | undefined = result.statuses[0]?.remaining;
const error: Error = new InvalidRequestError(String(left));
console.log(error, limiter.explain({ domain: 'shop', descriptors: [] }));
// @ts-expect-error no such mode
createClient({ address: 'weir:8081', failureMode: 'ajar' });

express().use(forExpress.rateLimit({ limiter: client, domain: 'shop', descriptors: (request) => [{ address: forExpress.clientAddress(request, { trustedHops: 1 }) }] }));
express().get('/', forExpress.rateLimit({ limiter, domain: 'shop', descriptors: (request: Request) => [{ path: request.path }], onDenied: ({ retryAfterMs = 0 }, _request, response) => { response.end(String(retryAfterMs)); } }));
const fastify = Fastify();
await fastify.register(forFastify.rateLimitPlugin, { limiter, domain: 'shop', descriptors: (request: FastifyRequest) => [{ path: request.url }], hook: 'preHandler' });
fastify.get('/', { onRequest: forFastify.rateLimit({ limiter, domain: 'shop', descriptors: ({ raw }) => [{ path: raw.url ?? '/' }] }) }, () => 'ok');
new Hono().use(forHono.rateLimit({ limiter, domain: 'shop', descriptors: (context) => [{ path: context.req.raw.url }], onDenied: () => new Response('no', { status: 429 }) }));
new Koa().use(forKoa.rateLimit({ limiter, domain: 'shop', descriptors: (context) => [{ path: context.req.url ?? '/' }], hitsAddend: () => 2 }));
`,
  );
  // The types of Koa do not compile by themselves.
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const { exitCode, stdout } = await runCommand(
    process.execPath,
    [
      path.resolve('node_modules/typescript/bin/tsc'),
      ...options,
      ...['--module', 'node16', '--moduleResolution', 'node16', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable,dom.asynciterable'],
      ...['--types', 'node', 'consumer.mts'],
    ],
    { cwd: folder },
  );
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
});

test('no declaration names a file that the package does not have', async () => {
  const { stdout } = await runCommand('sh', ['-c', 'find node_modules/weir/dist -name "*.d.ts" -exec grep -l "from \'" {} + | sort'], {
    cwd: folder,
  });
  expect(
    stdout
      .trim()
      .split('\n')
      .every((name) => name.startsWith('node_modules/weir/dist/library/')),
  ).toBe(true);
});

test('middleware loads no package, and the client neither Redis nor metrics', async () => {
  const { stdout } = await run(
    'loaded.cjs',
    `const packages = () => [...new Set(Object.keys(require.cache).flatMap((file) => file.split('node_modules/').slice(1).map((each) => each.split('/')[0])))];
require('weir/express'); require('weir/fastify'); require('weir/hono'); require('weir/koa');
console.log(JSON.stringify(packages()));
require('weir/client');
console.log(packages().filter((name) => /redis|prom-client|fastify|pino|yaml/.test(name)).length);`,
  );
  expect(stdout).toBe('["weir"]\n0\n');
});

test('only what is exported can be imported', async () => {
  const { stdout } = await run(
    'names.mjs',
    `for (const name of ${JSON.stringify(NAMES.map((each) => path.posix.join('weir', each)))}) await import(name);
console.log(await import('weir/dist/main.js').catch(({ code }) => code));`,
  );
  expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n');
});

test('a limiter that watches its files takes their changes, and keeps its rules while they are wrong', async () => {
  const { exitCode, stdout, stderr } = await run(
    'watch.mjs',
    `import { writeFileSync, renameSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createLimiter } from 'weir';
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
