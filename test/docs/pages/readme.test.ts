/** The commands of the README print its output. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { compileConfig } from '../../../src/configuration/compile/compile';
import { ConfigError } from '../../../src/configuration/problems/config-error';
import { fencedBlocks } from '../../support/docs/markdown';
import { startRedis } from '../../support/redis/redis-server';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const run = promisify(execFile);
const README = readFileSync('README.md', 'utf8');
const COMMANDS = fencedBlocks('README.md', 'sh');
const BUF = path.resolve('node_modules/.bin/buf');

let weir: WeirProcess;

beforeAll(async () => {
  // As scripts/start.mjs starts the example.
  weir = await startWeir({ config: 'deploy/example/payments.yaml', env: { BACKEND_TYPE: 'memory' } });
});

afterAll(() => weir.stop());

/** The README's indented lines that begin so. */
function shownLine(start: string): string {
  const line = README.split('\n').find((each) => each.startsWith(`    ${start}`));
  if (line === undefined) throw new Error(`the README shows no line that begins with ${start}`);
  return line.trim();
}

test('each npm command of the README is a script of package.json, whose program exists', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const named = Array.from(README.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g), ([, script, short]) => script ?? short!);
  expect(named[0]).toBe('start');
  for (const name of named) expect({ name, exists: existsSync(scripts[name]?.split(' ')[2] ?? '') }).toEqual({ name, exists: true });
});

test('npm start prints the output in the README', async () => {
  // The last of its lines comes once all ports are open, one of which said that it is there.
  await until(() => weir.output().includes('INFO: Weir'));
  for (const start of ['INFO: limits', 'INFO: Weir']) {
    const [text] = shownLine(start).split(' …');
    const told = weir.output().replaceAll(/\b\d{4,5}\b/g, 'PORT');
    expect(told).toContain(text!.replaceAll(/\b\d{4,5}\b/g, 'PORT'));
  }
});

test('curl to /json prints the answer in the README', async () => {
  const command = COMMANDS.find((block) => block.startsWith('curl'))!;
  const { stdout } = await run('sh', ['-c', command.replace('localhost:8080', `127.0.0.1:${weir.httpPort}`)]);
  expect(stdout).toBe(shownLine('{"overallCode"'));
});

test("the grpcurl line's request and method work for a Go client without a .proto", async () => {
  const command = COMMANDS.find((block) => block.startsWith('grpcurl'))!;
  const [, data, method] = /-d '([^']+)' localhost:8081 (\S+)/.exec(command)!;
  const url = `http://127.0.0.1:${weir.grpcPort}/${method}`;
  const { stdout } = await run(BUF, ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '-d', data!, url]);
  expect(JSON.parse(stdout)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] });
});

test('the other paths in the README answer', async () => {
  const named = [...README.matchAll(/curl localhost:(8080|6070)(\/\w+)/g)];
  expect(named).toHaveLength(3);
  for (const [, port, page] of named) {
    const at = port === '8080' ? weir.httpPort : weir.debugPort;
    const { stdout } = await run('curl', ['-sf', `http://127.0.0.1:${at}${page}`]);
    expect(stdout).not.toBe('');
  }
});

test('the environment for Redis makes Weir count in Redis', async () => {
  const command = COMMANDS.find((block) => block.includes('REDIS_URL'))!;
  const redis = await startRedis();
  const env = Object.fromEntries(Array.from(command.matchAll(/([A-Z_]+)=(\S+)/g), ([, name, value]) => [name!, value!]));
  const onRedis = await startWeir({
    config: 'deploy/example/payments.yaml',
    env: { ...env, REDIS_URL: env.REDIS_URL!.replace('6379', String(redis.port)) },
  });
  expect(onRedis.output()).toContain(`connected to Redis at redis://localhost:${redis.port}/0`);
  await onRedis.stop();
  await redis.stop();
});

test('the limits load, and weir check reports the mistake as the README shows', () => {
  const yaml = fencedBlocks('README.md', 'yaml').find((block) => block.startsWith('domain:'))!;
  const compile = (text: string) =>
    compileConfig({ files: [{ name: 'limits.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1 });
  expect(compile(yaml).domains.size).toBe(1);
  expect(() => compile(yaml.replace('unit: minute', 'unit: secnod'))).toThrow(ConfigError);
  expect(() => compile(yaml.replace('unit: minute', 'unit: secnod'))).toThrow(shownLine('limits.yaml:').split(' …')[0]);
});
