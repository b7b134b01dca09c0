/** Each command prints its result or every error with its place, and exits with the documented code. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, runWeir } from '../../support/processes/command';
import { makeCertificates } from '../../support/servers/certificates';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

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
  test('every error of every file is printed with file:line:column and path; exit code 1', async () => {
    const { exitCode, stdout, stderr } = await runWeir(['check', BAD]);
    expect(stdout.split('\n')).toEqual([
      `${BAD}/a.yaml:4:25: error: descriptors[0].rate_limit.unit: unknown unit "secnod"; did you mean second? use one of second, minute, hour, day, week, month, year, total`,
      `${BAD}/a.yaml:5:5: error: descriptors[1]: key "k" is configured twice here: on line 3 and on line 5; merge them`,
      `${BAD}/a.yaml:6:5: error: descriptors[1].vlaue: unknown key in a descriptor; did you mean value?`,
      `${BAD}/b.yaml:2:1: error: domain: given twice: on line 1 and on line 2; keep one`,
      'not ok: 4 errors, 0 warnings in 2 files',
      '',
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
  });

  test('all errors of many bad files are printed, the first of each file first; a start prints 20 after the summary', async () => {
    const names = Array.from({ length: 30 }, (_, n) => `f${10 + n}.yaml`);
    const folder = folderOf(
      Object.fromEntries(names.map((name) => [name, `domain: ${name}\ndescriptors:\n${'  - { x: 1 }\n'.repeat(60)}`])),
    );
    const { stdout } = await runWeir(['check', '--format', 'json', folder]);
    const { errors, errorsOmitted } = JSON.parse(stdout) as {
      readonly errors: readonly { readonly file: string; readonly line: number }[];
      readonly errorsOmitted: number;
    };
    // A key that is missing, and one that is unknown.
    expect([errors.length, errorsOmitted]).toEqual([30 * 60 * 2, 0]);
    expect(errors.slice(0, 30).map(({ file, line }) => `${path.basename(file)}:${line}`)).toEqual(names.map((name) => `${name}:3`));
    const start = await runWeir(['serve', '--config', folder]);
    const [summary, ...lines] = start.stderr.trimEnd().split('\n');
    expect([start.exitCode, summary]).toEqual([1, 'configuration rejected with 3600 problems in 30 files:']);
    expect(lines.map((line) => line.replace(/^.*\/(f\d+)\.yaml:3:\d+: .*$/, '$1.yaml'))).toEqual([
      ...names.slice(0, 20),
      'and 3580 more; weir check shows them',
    ]);
  });

  test('weir check reports a pipe without a writer', async () => {
    const folder = folderOf({});
    // Whoever writes waits for what is told, 15 s at most.
    const writer = 'for i in $(seq 150); do grep -q waited "$1/told" && break; sleep 0.1; done; echo "domain: d" > "$1/pipe"';
    const script = `mkfifo "$1/pipe"; touch "$1/told"; (${writer}) & "$2" dist/main.js check "$1/pipe" 2> "$1/told"`;
    const { exitCode, stdout } = await runCommand('sh', ['-c', script, 'sh', folder, process.execPath]);
    expect(readFileSync(path.join(folder, 'told'), 'utf8')).toBe(`still reading the configuration in ${folder}/pipe after 1000 ms\n`);
    expect([exitCode, stdout]).toEqual([0, 'ok: 1 domain, 0 limits in 1 file, 0 errors, 0 warnings\n']);
  });

  test('long output goes through a pipe completely', async () => {
    const wildcards = Array.from(
      { length: 2000 },
      (_, n) => `  - { key: k, value: "v${n}*", rate_limit: { unit: hour, requests_per_unit: 5 } }\n`,
    );
    const folder = folderOf({ 'many.yaml': `domain: d\ndescriptors:\n${wildcards.join('')}` });
    const { stdout } = await runCommand('sh', ['-c', `"${process.execPath}" dist/main.js check --format json "${folder}" | cat`]);
    expect(stdout.length).toBeGreaterThan(100_000);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, limits: 2000 });
  });

  test('warnings fail with --strict alone, and ignored ones do not fail', async () => {
    const [lenient, strict, ignoring] = [
      await runWeir(['check', WARNED]),
      await runWeir(['check', WARNED, '--strict']),
      await runWeir(['check', '--strict', '--ignore', 'missing-requests-per-unit', '--ignore', 'unreachable-descriptor', WARNED]),
    ];
    expect(lenient.stdout).toMatch(
      /w\.yaml:3:27: warning: .*\[missing-requests-per-unit\]\nok: 1 domain, 1 limit in 1 file, 0 errors, 2 warnings\n$/s,
    );
    expect([lenient, strict, ignoring].map(({ exitCode }) => exitCode)).toEqual([0, 1, 0]);
    expect(ignoring.stdout).toBe('ok: 1 domain, 1 limit in 1 file, 0 errors, 0 warnings\n');
  });

  test('--format prints github annotations and json', async () => {
    const github = await runWeir(['check', BAD, '--format', 'github']);
    expect(github.stdout.split('\n').filter((line) => line.startsWith('::error file='))).toHaveLength(4);
    const json = await runWeir(['check', WARNED, '--format=json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: true,
      errors: [],
      warnings: [
        { rule: 'unreachable-descriptor', line: 3, column: 5 },
        { rule: 'missing-requests-per-unit', line: 3, column: 27 },
      ],
    });
    expect([github.exitCode, json.exitCode]).toEqual([1, 0]);
  });

  test('without a path weir check reads what weir serve would read', async () => {
    const { stdout, exitCode } = await runWeir(['check', '--strict'], {
      env: { RUNTIME_ROOT: 'deploy', RUNTIME_APPDIRECTORY: 'example', PORT: 'none of its business' },
    });
    // Under the reference's fixed_window the example's bursts would have no effect, but for algorithms of their own.
    expect(stdout).toMatch(/^ok: 1 domain, \d+ limits in 1 file, 0 errors, 0 warnings\n$/);
    expect(exitCode).toBe(0);
  });

  test('--merge-domains allows a domain in several files', async () => {
    const both = folderOf({ 'a.yaml': 'domain: d\ndescriptors: [{ key: a }]\n', 'b.yaml': 'domain: d\ndescriptors: [{ key: b }]\n' });
    expect(await runWeir(['check', both])).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('MERGE_DOMAIN_CONFIG') as string });
    expect(await runWeir(['check', both, '--merge-domains'])).toMatchObject({ exitCode: 0 });
    const explained = await runWeir(['explain', '--config', both, '--merge-domains', '--domain', 'd', '--descriptor', 'b=1']);
    expect(explained.stdout).toContain(`wins   ${both}/b.yaml:2: key b alone`);
  });

  test('an unreadable file is an error like any other', async () => {
    expect(await runWeir(['check', 'nowhere.yaml'])).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('nowhere.yaml: error: does not exist') as string,
    });
  });

  test.each([
    [['check', 'a', 'b']],
    [['check', '--format', 'xml']],
    [['check', '--cost', '0']],
    [['check', '--ignore', 'all']],
    [['check', '--starct']],
  ])('%j is invalid: exit code 2', async (args) => {
    const { exitCode, stderr } = await runWeir(args);
    expect(exitCode).toBe(2);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('weir explain', () => {
  test('weir explain prints the winner, why the others lose, the limit and the bucket', async () => {
    const { exitCode, stdout } = await runWeir(
      ['explain', '--config', EXAMPLE, '--domain', 'payments', '--descriptor', 'path=/payment,client=c'],
      { env: { CACHE_KEY_PREFIX: 'p:' } },
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\n {4}wins {3}deploy\/example\/payments\.yaml:\d+: key path, value \/payment: exact match\n/);
    expect(stdout).toMatch(/\n {4}loses {2}deploy\/example\/payments\.yaml:\d+: key path, value \/login: has another value\n/);
    expect(stdout).toMatch(/\n {2}bucket: p:1\{payments\}\w+\|path=\/payment\|client=c\n/);
  });

  test('weir explain explains an override, and exits with 2 for one that the rule cannot count', async () => {
    const file = path.join(
      folderOf({
        'c.yaml': 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 5, algorithm: sliding_window_log } }]\n',
      }),
      'c.yaml',
    );
    const explain = (limit: string) => runWeir(['explain', '--config', file, '--domain', 'd', '--descriptor', 'k=v', '--limit', limit]);
    expect(await explain('20/5minute')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('override of the request: 20 per 5 minutes, sliding_window_log') as string,
    });
    expect(await explain('20000/minute')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(/^descriptors\[0\]\.limit\.requests_per_unit is over 10000, .*\n$/) as string,
    });
  });

  test('--format json works, and an invalid configuration exits with 1', async () => {
    const { stdout } = await runWeir(['explain', '--config', EXAMPLE, '--domain', 'other', '--descriptor', 'a=b', '--format', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({
      domain: 'other',
      domainFound: false,
      descriptors: [{ notLimited: 'the domain is not configured; configured domains: payments' }],
    });
    const bad = await runWeir(['explain', '--config', BAD, '--domain', 'a', '--descriptor', 'k=v']);
    expect(bad).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('a.yaml:4:25: ') as string });
  });

  test.each([[['--descriptor', 'a=b']], [['--domain', 'd']], [['--domain', 'd', '--descriptor', '=b']]])(
    '%j is incomplete: exit code 2',
    async (args) => {
      expect(await runWeir(['explain', '--config', EXAMPLE, ...args])).toMatchObject({ exitCode: 2, stdout: '' });
    },
  );
});

test('weir settings prints values and their origin without secrets, and exits with 1 if they would not start', async () => {
  const env = { GRPC_PORT: '9090', REDIS_URL: 'redis:6379', REDIS_AUTH: 'hunter2', REDIS_POOL_SIZE: '20', REDIS_OP_TIMOUT: '1ms' };
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
    settings: [
      { name: 'PORT', value: 'x' },
      { name: 'GRPC_PORT', value: '9090' },
      { name: 'REDIS_URL', value: '(secret)' },
      { name: 'REDIS_AUTH', value: '(secret)' },
    ],
    problems: [{ name: 'PORT' }],
  });
});

describe('weir ask', () => {
  const certificates = makeCertificates();
  let weir: WeirProcess;
  let guarded: WeirProcess;

  beforeAll(async () => {
    const { server, ca } = certificates;
    const env = {
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: server.cert,
      GRPC_SERVER_TLS_KEY: server.key,
      GRPC_CLIENT_TLS_CACERT: ca.cert,
    };
    weir = await startWeir({ config: EXAMPLE });
    guarded = await startWeir({ config: EXAMPLE, env });
  });

  afterAll(async () => {
    await weir.stop();
    await guarded.stop();
  });

  const question = ['--domain', 'payments', '--descriptor', 'path=/payment,client=c'];

  test('weir ask prints the answer of /json', async () => {
    const ask = (hits: string) => runWeir(['ask', '--address', `127.0.0.1:${weir.grpcPort}`, ...question, '--hits', hits]);
    expect(JSON.parse((await ask('2')).stdout)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 1 }] });
    expect(await ask('2')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"overallCode":"OVER_LIMIT"') as string });
  });

  test('--hits 0 takes nothing and prints what is left', async () => {
    const peek = [
      'ask',
      '--address',
      `127.0.0.1:${weir.grpcPort}`,
      '--domain',
      'payments',
      '--descriptor',
      'path=/payment,client=peeked',
      '--hits',
      '0',
    ];
    for (let time = 0; time < 2; time += 1)
      expect(JSON.parse((await runWeir(peek)).stdout)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 3 }] });
  });

  test('an override on the command line belongs to the descriptor before it', async () => {
    const other = ['--descriptor', 'path=/payment,client=d'];
    const { stdout } = await runWeir([
      'ask',
      '--address',
      `127.0.0.1:${weir.grpcPort}`,
      '--domain',
      'payments',
      ...other,
      ...question.slice(2),
      '--limit',
      '40/5minute',
      '--hits',
      '2',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      overallCode: 'OK',
      statuses: [{ limitRemaining: 1 }, { limitRemaining: 38, currentLimit: { requestsPerUnit: 40 } }],
    });
  });

  test('weir ask works over TLS, with a client certificate', async () => {
    const { ca, client } = certificates;
    const address = ['--address', `localhost:${guarded.grpcPort}`];
    expect(await runWeir(['ask', ...address, ...question, '--ca', ca.cert, '--cert', client.cert, '--key', client.key])).toMatchObject({
      exitCode: 0,
    });
    // By address too, without a warning of Node's.
    const byAddress = ['--address', `127.0.0.1:${guarded.grpcPort}`, '--ca', ca.cert, '--cert', client.cert, '--key', client.key];
    expect(await runWeir(['ask', ...byAddress, ...question])).toMatchObject({ exitCode: 0, stderr: '' });
    const stranger = await runWeir(['ask', ...address, ...question, '--tls', '--timeout', '2s']);
    expect(stranger).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^no answer from localhost:\d+: .*self-signed certificate in certificate chain; pass the CA that signed the server's certificate with --ca\n$/,
      ) as string,
    });
  });

  test.each(['localhost', '127.0.0.1'])('weir ask trusts the authorities of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: %s', async (host) => {
    const { ca, otherCa, client } = certificates;
    const args = [
      'ask',
      '--address',
      `${host}:${guarded.grpcPort}`,
      ...question,
      '--cert',
      client.cert,
      '--key',
      client.key,
      '--timeout',
      '2s',
    ];
    expect(await runWeir(args, { env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: ca.cert } })).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await runWeir(args, { env: { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: otherCa.cert } })).toMatchObject({ exitCode: 1 });
  });

  test('without a connection weir ask prints what it tried and what to check', async () => {
    const asked = await runWeir(['ask', '--address', `127.0.0.1:${weir.httpPort}`, ...question]);
    expect(asked).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^no answer from 127\.0\.0\.1:\d+: No connection .*; check that this is its gRPC port, and that TLS \(--tls\) is on at both ends or at neither\n$/,
      ) as string,
    });
  });

  test.each([
    [[]],
    [['--timeout', 'soon']],
    [['--cert', 'a.pem']],
    [['--ca', 'nowhere.pem']],
    [['--ca', 'package.json']],
    [['--hits', 'many']],
    [['--limit', '40/fortnight']],
  ])('%j exits with 2', async (more) => {
    const { exitCode, stderr } = await runWeir([
      'ask',
      '--address',
      '127.0.0.1:1',
      '--domain',
      'd',
      ...(more.length === 0 ? [] : ['--descriptor', 'a=b']),
      ...more,
    ]);
    expect(exitCode).toBe(2);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

test.each([['serve'], ['check'], ['explain'], ['settings'], ['ask']])(
  'weir %s --help prints the help of that command alone, whatever other arguments are given',
  async (command) => {
    const { exitCode, stdout } = await runWeir([command, '--nothing', '--help']);
    expect(exitCode).toBe(0);
    expect(stdout.match(/^weir \w+/gm)).toEqual([`weir ${command}`]);
  },
);
