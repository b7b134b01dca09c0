/** The commands as a person types them: what they print, and what they exit with. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, runWeir } from '../support/command';
import { makeCertificates } from '../support/certificates';
import { startWeir, type WeirProcess } from '../support/weir-process';

const EXAMPLE = 'deploy/example/payments.yaml';

/** A folder with these files. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-cli-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

const BAD = folderOf({
  'a.yaml': 'domain: a\ndescriptors:\n  - key: k\n    rate_limit: { unit: secnod }\n  - key: k\n    vlaue: v\n',
  'b.yaml': 'domain: b\ndomain: c\n',
});

const WARNED = folderOf({ 'w.yaml': 'domain: w\ndescriptors:\n  - { key: k, rate_limit: { unit: day } }\n  - { key: k, value: "*" }\n' });

describe('weir check', () => {
  test('every error of every file at once, with file:line:column and path; exit code 1', async () => {
    const { exitCode, stdout, stderr } = await runWeir(['check', BAD]);
    expect(stdout.split('\n')).toEqual([
      `${BAD}/a.yaml:4:25: error: descriptors[0].rate_limit.unit: "secnod" is no unit; did you mean second? use one of second, minute, hour, day, week, month, year`,
      `${BAD}/a.yaml:5:5: error: descriptors[1]: key "k" is configured twice here: on line 3 and on line 5; merge them`,
      `${BAD}/a.yaml:6:5: error: descriptors[1].vlaue: no key of a descriptor; did you mean value?`,
      `${BAD}/b.yaml:2:1: error: domain: given twice: on line 1 and on line 2; keep one`,
      'not ok: 4 errors, 0 warnings in 2 files',
      '',
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
  });

  test('all of it goes through a pipe, however much it is', async () => {
    const wildcards = Array.from({ length: 2000 }, (_, n) => `  - { key: k, value: "v${n}*", rate_limit: { unit: hour, requests_per_unit: 5 } }\n`);
    const folder = folderOf({ 'many.yaml': `domain: d\ndescriptors:\n${wildcards.join('')}` });
    const { stdout } = await runCommand('sh', ['-c', `"${process.execPath}" dist/main.js check --format json "${folder}" | cat`]);
    expect(stdout.length).toBeGreaterThan(100_000);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, limits: 2000 });
  });

  test('warnings fail with --strict alone, and not those that are ignored', async () => {
    const [lenient, strict, ignoring] = [
      await runWeir(['check', WARNED]),
      await runWeir(['check', WARNED, '--strict']),
      await runWeir(['check', '--strict', '--ignore', 'missing-requests-per-unit', '--ignore', 'unreachable-descriptor', WARNED]),
    ];
    expect(lenient.stdout).toMatch(/w\.yaml:3:27: warning: .*\[missing-requests-per-unit\]\nok: 1 domain, 1 limit in 1 file, 0 errors, 2 warnings\n$/s);
    expect([lenient, strict, ignoring].map(({ exitCode }) => exitCode)).toEqual([0, 1, 0]);
    expect(ignoring.stdout).toBe('ok: 1 domain, 1 limit in 1 file, 0 errors, 0 warnings\n');
  });

  test('--format github and json', async () => {
    const github = await runWeir(['check', BAD, '--format', 'github']);
    expect(github.stdout.split('\n').filter((line) => line.startsWith('::error file='))).toHaveLength(4);
    const json = await runWeir(['check', WARNED, '--format=json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, errors: [], warnings: [{ rule: 'unreachable-descriptor', line: 3, column: 5 }, { rule: 'missing-requests-per-unit', line: 3, column: 27 }] });
    expect([github.exitCode, json.exitCode]).toEqual([1, 0]);
  });

  test('without a name: what weir serve would read, counted as it would', async () => {
    const { stdout, exitCode } = await runWeir(['check', '--strict'], { env: { RUNTIME_ROOT: 'deploy', RUNTIME_APPDIRECTORY: 'example', PORT: 'none of its business' } });
    // Under the reference's fixed_window the example's bursts would have no effect, but for algorithms of their own.
    expect(stdout).toMatch(/^ok: 1 domain, \d+ limits in 1 file, 0 errors, 0 warnings\n$/);
    expect(exitCode).toBe(0);
  });

  test('--merge-domains: a domain in several files', async () => {
    const both = folderOf({ 'a.yaml': 'domain: d\ndescriptors: [{ key: a }]\n', 'b.yaml': 'domain: d\ndescriptors: [{ key: b }]\n' });
    expect(await runWeir(['check', both])).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('MERGE_DOMAIN_CONFIG') as string });
    expect(await runWeir(['check', both, '--merge-domains'])).toMatchObject({ exitCode: 0 });
    const explained = await runWeir(['explain', '--config', both, '--merge-domains', '--domain', 'd', '--descriptor', 'b=1']);
    expect(explained.stdout).toContain(`wins   ${both}/b.yaml:2: key b alone`);
  });

  test('what can not be read is an error like any other', async () => {
    expect(await runWeir(['check', 'nowhere.yaml'])).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('nowhere.yaml: error: does not exist') as string });
  });

  test.each([[['check', 'a', 'b']], [['check', '--format', 'xml']], [['check', '--cost', '0']], [['check', '--ignore', 'all']], [['check', '--starct']]])(
    '%j makes no sense: exit code 2',
    async (args) => {
      const { exitCode, stderr } = await runWeir(args);
      expect(exitCode).toBe(2);
      expect(stderr).not.toMatch(/^\s+at /m);
    },
  );
});

describe('weir explain', () => {
  test('who wins, why the others lose, the limit and the bucket', async () => {
    const { exitCode, stdout } = await runWeir(['explain', '--config', EXAMPLE, '--domain', 'payments', '--descriptor', 'path=/payment,client=c'], { env: { CACHE_KEY_PREFIX: 'p:' } });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\n {4}wins {3}deploy\/example\/payments\.yaml:\d+: key path, value \/payment: has this very value\n/);
    expect(stdout).toMatch(/\n {4}loses {2}deploy\/example\/payments\.yaml:\d+: key path, value \/login: has another value\n/);
    expect(stdout).toMatch(/\n {2}bucket: p:1\{payments\}\w+\|path=\/payment\|client=c\n/);
  });

  test('a limit that the request brings; one that its rule can not count is told, with exit code 2', async () => {
    const file = path.join(folderOf({ 'c.yaml': 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 5, algorithm: sliding_window_log } }]\n' }), 'c.yaml');
    const explain = (limit: string) => runWeir(['explain', '--config', file, '--domain', 'd', '--descriptor', 'k=v', '--limit', limit]);
    expect(await explain('20/5minute')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('limit of the request: 20 per 5 minutes, sliding_window_log') as string });
    expect(await explain('20000/minute')).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(/^descriptors\[0\]\.limit\.requests_per_unit is over 10000, .*\n$/) as string });
  });

  test('--format json; a wrong configuration is told, with exit code 2', async () => {
    const { stdout } = await runWeir(['explain', '--config', EXAMPLE, '--domain', 'other', '--descriptor', 'a=b', '--format', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ domain: 'other', domainFound: false, descriptors: [{ notLimited: 'no domain of that name; there is payments' }] });
    const bad = await runWeir(['explain', '--config', BAD, '--domain', 'a', '--descriptor', 'k=v']);
    expect(bad).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('a.yaml:4:25: ') as string });
  });

  test.each([[['--descriptor', 'a=b']], [['--domain', 'd']], [['--domain', 'd', '--descriptor', '=b']]])('%j is not enough: exit code 2', async (args) => {
    expect(await runWeir(['explain', '--config', EXAMPLE, ...args])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});

test('weir settings: values in force, where they are from, secrets hidden; 1 if these would not start', async () => {
  const env = { GRPC_PORT: '9090', REDIS_AUTH: 'hunter2', REDIS_POOL_SIZE: '20', REDIS_OP_TIMOUT: '1ms' };
  const { exitCode, stdout } = await runWeir(['settings'], { env });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^ {2}GRPC_PORT +9090 +environment$/m);
  expect(stdout).toMatch(/^ {2}PORT +8080 +default$/m);
  expect(stdout).toMatch(/^ {2}REDIS_AUTH +\(secret\) +environment$/m);
  expect(stdout).toContain('REDIS_POOL_SIZE: ignored. One connection carries all calls.');
  expect(stdout).toContain('REDIS_OP_TIMOUT: did you mean REDIS_OP_TIMEOUT?');
  expect(stdout).not.toContain('hunter2');
  const changed = await runWeir(['settings', '--changed', '--format', 'json'], { env: { ...env, PORT: 'x' } });
  expect(changed.exitCode).toBe(1);
  expect(JSON.parse(changed.stdout)).toMatchObject({
    settings: [{ name: 'PORT', value: 'x' }, { name: 'GRPC_PORT', value: '9090' }, { name: 'REDIS_AUTH', value: '(secret)' }],
    problems: [{ name: 'PORT' }],
  });
});

describe('weir ask', () => {
  const certificates = makeCertificates();
  let weir: WeirProcess;
  let guarded: WeirProcess;

  beforeAll(async () => {
    const { server, ca } = certificates;
    const env = { GRPC_SERVER_USE_TLS: 'true', GRPC_SERVER_TLS_CERT: server.cert, GRPC_SERVER_TLS_KEY: server.key, GRPC_CLIENT_TLS_CACERT: ca.cert };
    weir = await startWeir({ config: EXAMPLE });
    guarded = await startWeir({ config: EXAMPLE, env });
  });

  afterAll(async () => {
    await weir.stop();
    await guarded.stop();
  });

  const question = ['--domain', 'payments', '--descriptor', 'path=/payment,client=c'];

  test('the answer of /json, whichever it is', async () => {
    const ask = (hits: string) => runWeir(['ask', '--address', `127.0.0.1:${weir.grpcPort}`, ...question, '--hits', hits]);
    expect(JSON.parse((await ask('2')).stdout)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] });
    expect(await ask('2')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"overallCode":"OVER_LIMIT"') as string });
  });

  test('--hits 0 takes nothing and says what is left', async () => {
    const peek = ['ask', '--address', `127.0.0.1:${weir.grpcPort}`, '--domain', 'payments', '--descriptor', 'path=/payment,client=peeked', '--hits', '0'];
    for (let time = 0; time < 2; time += 1) expect(JSON.parse((await runWeir(peek)).stdout)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 3 }] });
  });

  test('a limit that the request brings along is that of the descriptor before it', async () => {
    const other = ['--descriptor', 'path=/payment,client=d'];
    const { stdout } = await runWeir(['ask', '--address', `127.0.0.1:${weir.grpcPort}`, '--domain', 'payments', ...other, ...question.slice(2), '--limit', '40/5minute', '--hits', '2']);
    expect(JSON.parse(stdout)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }, { limitRemaining: 38, currentLimit: { requestsPerUnit: 40 } }] });
  });

  test('over TLS, with a certificate of its own', async () => {
    const { ca, client } = certificates;
    const address = ['--address', `localhost:${guarded.grpcPort}`];
    expect(await runWeir(['ask', ...address, ...question, '--ca', ca.cert, '--cert', client.cert, '--key', client.key])).toMatchObject({ exitCode: 0 });
    // By address too, without a warning of Node's.
    const byAddress = ['--address', `127.0.0.1:${guarded.grpcPort}`, '--ca', ca.cert, '--cert', client.cert, '--key', client.key];
    expect(await runWeir(['ask', ...byAddress, ...question])).toMatchObject({ exitCode: 0, stderr: '' });
    const stranger = await runWeir(['ask', ...address, ...question, '--tls', '--timeout', '2s']);
    expect(stranger).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(/^no answer from localhost:\d+: 14 UNAVAILABLE/) as string });
  });

  test.each(['localhost', '127.0.0.1'])('over TLS, trusting whom GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names: %s', async (host) => {
    const { ca, otherCa, client } = certificates;
    const args = ['ask', '--address', `${host}:${guarded.grpcPort}`, ...question, '--cert', client.cert, '--key', client.key, '--timeout', '2s'];
    expect(await runWeir(args, { env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: ca.cert } })).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await runWeir(args, { env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: otherCa.cert } })).toMatchObject({ exitCode: 1 });
  });

  test('without a connection: what was tried, and what to look at', async () => {
    const asked = await runWeir(['ask', '--address', `127.0.0.1:${weir.httpPort}`, ...question]);
    expect(asked).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(/^no answer from 127\.0\.0\.1:\d+: 14 UNAVAILABLE: No connection .*; see that this is its gRPC port, and that TLS \(--tls\) is on at both ends or at none\n$/) as string });
  });

  test.each([[[]], [['--timeout', 'soon']], [['--cert', 'a.pem']], [['--ca', 'nowhere.pem']], [['--ca', 'package.json']], [['--hits', 'many']], [['--limit', '40/fortnight']]])('%j: exit code 2', async (more) => {
    const { exitCode, stderr } = await runWeir(['ask', '--address', '127.0.0.1:1', '--domain', 'd', ...(more.length === 0 ? [] : ['--descriptor', 'a=b']), ...more]);
    expect(exitCode).toBe(2);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

test('weir help shows every command', async () => {
  const { stdout } = await runWeir(['help']);
  for (const command of ['serve', 'check', 'explain', 'settings', 'ask', 'version']) expect(stdout).toMatch(new RegExp(`^  weir ${command}`, 'm'));
});

test.each([
  [['chekc'], '"chekc" is no command; did you mean check? use one of serve, check, explain, settings, ask, reserve, version, help\n'],
  [['limits.yaml'], '"limits.yaml" is no command; use one of serve, check, explain, settings, ask, reserve, version, help\n'],
  [['check', '--starct'], expect.stringMatching(/^Unknown option '--starct'.*\nweir check --help shows what it takes\.\n$/) as string],
])('%j: what is wrong, and what to do', async (args, stderr) => {
  expect(await runWeir(args)).toEqual({ exitCode: 2, stdout: '', stderr });
});

test.each([['serve'], ['check'], ['explain'], ['settings'], ['ask']])('weir %s --help shows that one alone, whatever else is said', async (command) => {
  const { exitCode, stdout } = await runWeir([command, '--nothing', '--help']);
  expect(exitCode).toBe(0);
  expect(stdout.match(/^weir \w+/gm)).toEqual([`weir ${command}`]);
});
