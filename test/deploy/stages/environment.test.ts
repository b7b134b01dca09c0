/** Neither variables of the machine nor earlier runs change a result of `npm test`. */

import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CODE_CACHE, runCommand } from '../../support/processes/command';

const SCRIPT = `
  import { cleanEnvironment } from './scripts/test/environment.mjs';
  import { run } from './scripts/process/run.mjs';
  cleanEnvironment(process.env);
  const print = 'console.log(JSON.stringify(process.env))';
  console.log((await run(process.execPath, ['-e', print], { timeoutS: 600, output: 'pipe' })).output);`;

/** What a program sees that a stage starts. */
async function seen(env: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', SCRIPT], { env });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Readonly<Record<string, string>>;
}

test('variables that change what Node, gRPC, OpenTelemetry or Weir does are gone', async () => {
  const strange = {
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: '/etc/ssl/certs/ca-certificates.crt',
    NODE_OPTIONS: '--no-warnings',
    NODE_ENV: 'production',
    OTEL_SERVICE_NAME: 'other',
    REDIS_URL: 'redis://127.0.0.1:1',
    LOG_LEVEL: 'debug',
    TZ: 'Pacific/Chatham',
  };
  const names = Object.keys(await seen({ ...strange, WEIR_SEED: '7' }));
  expect(names).toEqual(expect.arrayContaining(['PATH', 'HOME', 'WEIR_SEED']));
  expect(names.filter((name) => name in strange)).toEqual([]);
});

test('what npm, pip and Go need to reach their packages is there', async () => {
  const needed = {
    npm_config_registry: 'http://127.0.0.1:1/',
    NODE_EXTRA_CA_CERTS: '',
    PIP_INDEX_URL: 'http://127.0.0.1:1/simple',
    GOPROXY: 'off',
    SSL_CERT_FILE: '/nowhere.pem',
    CI: '1',
  };
  expect(await seen(needed)).toMatchObject(needed);
});

test('a proxy is asked for packages, and never for the servers of tests', async () => {
  const direct = '127.0.0.1,::1,localhost';
  expect(await seen({ https_proxy: 'http://proxy:1' })).toMatchObject({
    https_proxy: 'http://proxy:1',
    no_proxy: direct,
    NO_PROXY: direct,
  });
  expect(await seen({ HTTP_PROXY: 'http://proxy:1', NO_PROXY: '.lan' })).toMatchObject({ no_proxy: `.lan,${direct}` });
  expect(await seen({})).not.toHaveProperty('no_proxy');
});

test('npm test runs its stages in this environment', async () => {
  // A build is the shortest stage that starts a program; a wrong option of Node ends every program at once.
  const script = path.join('scripts', 'test.mjs');
  const { exitCode, stdout } = await runCommand(process.execPath, [
    '-e',
    `process.env.NODE_OPTIONS = '--none-such'; process.argv.splice(1, 0, ${JSON.stringify(script)}); process.argv[2] = 'types-console'; import('./${script}')`,
  ]);
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
  expect(stdout).toContain('total: 1 passed, 0 failed');
});

test('a Weir compiles a module again whose text has changed, also when its length and time stay the same', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-code-cache-'));
  const cache = path.join(folder, 'cache');
  // So many that the process leaves something.
  const modules = 30;
  const write = (index: number, text: string): void => {
    const file = path.join(folder, `module-${index}.js`);
    writeFileSync(file, `module.exports = () => '${text}';`);
    utimesSync(file, 0, 0);
  };
  const script = `console.log(Array.from({ length: ${modules} }, (_, index) => require('${folder}/module-' + index)()).join(''))`;
  const load = async (): Promise<string> =>
    (await runCommand(process.execPath, [...CODE_CACHE, '-e', script], { env: { WEIR_CODE_CACHE: cache } })).stdout.trim();
  try {
    for (let index = 0; index < modules; index++) write(index, 'a');
    expect(await load()).toBe('a'.repeat(modules));
    if (process.version.startsWith('v20.')) expect(readdirSync(cache)).toHaveLength(1);
    write(1, 'b');
    expect(await load()).toBe(`ab${'a'.repeat(modules - 2)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
