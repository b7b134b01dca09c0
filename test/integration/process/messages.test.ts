/** Each mistake on a command line gets a message that names it and the valid words. */

import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { ask } from '../../../src/program/cli/ask';
import { check } from '../../../src/program/cli/check';
import { runTestsBeside } from '../../../src/program/cli/test/coverage';
import { explain } from '../../../src/program/cli/explain/explain';
import { reserve } from '../../../src/program/cli/reserve';
import { showSettings } from '../../../src/program/cli/show-settings';
import { UsageError } from '../../../src/program/cli/usage-error';
import { runWeir } from '../../support/processes/command';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { until } from '../../support/clock/until';
import { CONFIG_MAP_TEXT } from '../../support/config/config-map-text';

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');

/** As `weir help` lists them. */
const COMMAND_NAMES =
  'serve, check, explain, test, diff, simulate, replay, settings, schema, ask, reserve, tenant, plan, override, block, pass, rollout, exceptions, credit, bucket, top, tail, audit, control, events, instances, completion, version, help';

type Command = (input: { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }) => unknown;

/** Those that can be called without a process: a wrong argument ends each before it does anything. */
const COMMANDS: Readonly<Record<string, Command>> = {
  check: (input) => check({ ...input, runTestsBeside }),
  explain,
  settings: showSettings,
  ask,
  reserve,
};

/** What a command says of wrong arguments, on standard error, with the exit code of wrong usage. */
async function refusalOf([name = '', ...args]: readonly string[]): Promise<string> {
  const command = COMMANDS[name];
  if (command === undefined || args.length === 0) {
    const { exitCode, stdout, stderr } = await runWeir([name, ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    return stderr;
  }
  const refusal = await Promise.resolve()
    .then(() => command({ args, env: {} }))
    .catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(UsageError);
  return (refusal as UsageError).message;
}

describe('wrong arguments', () => {
  test.each<readonly [readonly string[], string]>([
    [['serve', 'limits.yaml'], 'weir serve: "limits.yaml" is not an option; give a file or a directory as --config limits.yaml'],
    [['serve', '--port', '8080'], 'weir serve: --port is not an option; set PORT=8080 in the environment'],
    [['serve', '--redis-url=localhost:6379'], 'weir serve: --redis-url is not an option; set REDIS_URL in the environment'],
    [['serve', '--confg', 'x'], 'weir serve: --confg is not an option; did you mean --config?'],
    [['serve', '-c', 'x'], 'weir serve: -c is not an option; use --config, --or-example'],
    [['serve', '--config'], 'weir serve: --config has no value; write it as --config FILE|DIR'],
    [['check', '--starct'], 'weir check: --starct is not an option; did you mean --strict?'],
    [['check', '--strict=yes'], 'weir check: --strict takes no value; leave out =yes'],
    [['check', '--config', 'a.yaml'], 'weir check: --config is not an option; give a file or a directory as weir check a.yaml'],
    [['check', 'a', 'b'], 'weir check: "b" is an unexpected argument; weir check takes one FILE or DIR'],
    [['check', ''], 'weir check: FILE is empty; name a YAML file or a directory of YAML files'],
    [
      ['explain', 'limits.yaml', '--domain', 'd'],
      'weir explain: "limits.yaml" is not an option; give a file or a directory as --config limits.yaml',
    ],
    [
      ['ask', '--domain', 'd', 'user=ann'],
      'weir ask: "user=ann" is not an option; give the entries of a descriptor as --descriptor user=ann',
    ],
    [['ask', '--descriptor', 'user=ann'], '--domain is missing; give the domain that the server configures'],
    [
      ['ask', '--domain', 'd', '--descriptor', 'a=b', '--hits', '-50'],
      '--hits: "-50" is not accepted; use a whole number from 0 to 4294967295',
    ],
    [['ask', '--domain', 'd', '--descriptor', 'foo'], '--descriptor: "foo" has no value; write foo=VALUE, or foo= for an empty value'],
    [
      ['ask', '--domain', 'd', '--descriptor', 'foo:bar'],
      '--descriptor: "foo:bar" has no value; write foo=bar, or foo:bar= for an empty value',
    ],
    [['ask', '--domain', 'd', '--descriptor', 'a=b', '--address', 'localhost'], '--address: "localhost" has no port; write localhost:8081'],
    [
      ['ask', '--domain', 'd', '--descriptor', 'a=b', '--address', 'http://localhost:8081'],
      '--address: "http://localhost:8081" is a URL; write localhost:8081',
    ],
    [
      ['ask', '--domain', 'd', '--descriptor', 'a=b', '--address', 'localhost:99999'],
      '--address: the port of "localhost:99999" is out of range; use a port from 1 to 65535',
    ],
    [
      ['reserve', 'comit', '--id', 'x'],
      'weir reserve: "comit" is not a step; did you mean commit? use commit, release or extend, or no step to reserve',
    ],
    [['reserve', 'release', '--domain', 'd', '--id', 'x', '--hits', '3'], 'weir reserve release does not take --hits; remove it'],
    [['settings', 'PORT'], 'weir settings: "PORT" is an unexpected argument; weir settings takes only options'],
    [['limits.yaml'], '"limits.yaml" is not a command; use weir serve --config limits.yaml or weir check limits.yaml'],
    [['--port', '8080'], `weir needs a command before --port; use one of ${COMMAND_NAMES}`],
    [['chek'], `"chek" is not a command; did you mean check? use one of ${COMMAND_NAMES}`],
    [['help', 'chek'], `"chek" is not a command; did you mean check? use one of ${COMMAND_NAMES}`],
  ])('%j', async (args, message) => {
    expect((await refusalOf(args)).split('\n')[0]).toBe(message);
  });
});

test('weir check reads a ConfigMap and names its file, key and line', async () => {
  const file = writeConfig(CONFIG_MAP_TEXT);
  const { exitCode, stdout } = await runWeir(['check', file]);
  expect(stdout.split('\n').slice(0, 2)).toEqual([
    `${file}:11:29: error: data.limits.yaml: descriptors[0].rate_limit.unit: unknown unit "secnod"; did you mean second? use one of second, minute, hour, day, week, month, year, total`,
    expect.stringMatching(/:17:1: error: data\.more\.yml: domain: is missing/),
  ]);
  expect(exitCode).toBe(1);
});

test('weir help lists every command with its purpose; weir COMMAND --help lists its options', async () => {
  const { exitCode, stdout } = await runWeir(['help']);
  expect(exitCode).toBe(0);
  for (const command of [
    'serve',
    'check',
    'explain',
    'settings',
    'ask',
    'reserve',
    'version',
    'help',
    'ratelimit_client',
    'ratelimit_config_check',
  ]) {
    expect(stdout).toMatch(new RegExp(`^  ${command} +\\w+.{10}`, 'm'));
  }
  const [ofHelp, ofOption] = [await runWeir(['help', 'check']), await runWeir(['check', '--help'])];
  expect(ofHelp).toEqual(ofOption);
  expect(ofHelp).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^weir check shows every error and warning of a configuration\.\n\nUsage: weir check \[FILE\|DIR\]/,
    ) as string,
  });
});

describe('an unusable address stops the start and names its setting', () => {
  let taken: Server;
  let port: number;

  beforeAll(async () => {
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    ({ port } = taken.address() as AddressInfo);
  });

  afterAll(() => taken.close());

  test.each<readonly [string, (port: number) => Readonly<Record<string, string>>, (port: number) => string]>([
    [
      'PORT',
      (of) => ({ PORT: String(of) }),
      (of) => `PORT: 127.0.0.1:${of} is in use already; set PORT to a free port, or stop the process that listens there\n`,
    ],
    [
      'GRPC_PORT',
      (of) => ({ GRPC_PORT: String(of) }),
      (of) => `GRPC_PORT: 127.0.0.1:${of} is in use already; set GRPC_PORT to a free port, or stop the process that listens there\n`,
    ],
    [
      'DEBUG_PORT',
      (of) => ({ DEBUG_PORT: String(of) }),
      (of) => `DEBUG_PORT: 127.0.0.1:${of} is in use already; set DEBUG_PORT to a free port, or stop the process that listens there\n`,
    ],
    [
      'PROMETHEUS_ADDR',
      (of) => ({ USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: `127.0.0.1:${of}` }),
      (of) =>
        `PROMETHEUS_ADDR: 127.0.0.1:${of} is in use already; set PROMETHEUS_ADDR to a free port, or stop the process that listens there\n`,
    ],
    [
      'HOST',
      () => ({ HOST: '192.0.2.1' }),
      () => 'HOST: 192.0.2.1 is not an address of this machine; set HOST to one, or to 0.0.0.0 for all of them\n',
    ],
    ['GRPC_HOST', () => ({ GRPC_HOST: 'nobody.invalid' }), () => 'GRPC_HOST: the name nobody.invalid cannot be resolved'],
    ['GRPC_UDS', () => ({ GRPC_UDS: '/nowhere/weir.sock' }), () => 'GRPC_UDS: the folder /nowhere does not exist'],
  ])('%s', async (_setting, envOf, message) => {
    const env = {
      HOST: '127.0.0.1',
      GRPC_HOST: '127.0.0.1',
      DEBUG_HOST: '127.0.0.1',
      PORT: '0',
      GRPC_PORT: '0',
      DEBUG_PORT: '0',
      BACKEND_TYPE: 'memory',
      WARM_UP: 'false',
      ...envOf(port),
    };
    const { exitCode, stderr } = await runWeir(['serve', '--config', CONFIG], { env });
    expect(stderr).toContain(message(port));
    expect(exitCode).toBe(1);
  });
});

describe('a domain that is not configured', () => {
  let weir: WeirProcess;

  beforeAll(async () => {
    weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', LOG_FORMAT: 'json' } });
  });

  afterAll(() => weir.stop());

  const post = (domain: string) =>
    fetch(`http://127.0.0.1:${weir.httpPort}/json`, {
      method: 'POST',
      body: JSON.stringify({ domain, descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] }),
    });

  test('/json answers as the reference does, with a header and a log line for the unknown domain', async () => {
    const [unknown, known] = [await post('other'), await post('d')];
    expect([unknown.status, await unknown.text()]).toEqual([200, '{"overallCode":"OK","statuses":[{"code":"OK"}]}']);
    expect(unknown.headers.get('x-weir-warning')).toBe('the domain is not configured, so no limit applies');
    expect(known.headers.get('x-weir-warning')).toBeNull();
    await until(() => weir.output().includes('"code":"domain_not_found","domain":"other"'));
  });

  test('weir ask reports the unknown domain, and prints nothing about it where a limit applies', async () => {
    const args = (domain: string) => ['ask', '--address', `127.0.0.1:${weir.grpcPort}`, '--domain', domain, '--descriptor', 'k=v'];
    expect(await runWeir(args('other'))).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^No limit applies: /) as string });
    expect(await runWeir(args('d'))).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('each JSON log line has a code', () => {
    const codes = weir
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => (JSON.parse(line) as { code?: string }).code);
    expect(codes).toEqual(expect.arrayContaining(['default_algorithm', 'listening', 'domain_not_found']));
    expect(codes).not.toContain(undefined);
  });
});

test('a request that the server rejects is not reported as one without an answer', async () => {
  const config = writeConfig(
    'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3, algorithm: sliding_window_log } }]\n',
  );
  const weir = await startWeir({ config, env: { BACKEND_TYPE: 'memory' } });
  const address = `127.0.0.1:${weir.grpcPort}`;
  const { exitCode, stderr } = await runWeir([
    'ask',
    '--address',
    address,
    '--domain',
    'd',
    '--descriptor',
    'k=v',
    '--limit',
    '20000/minute',
  ]);
  await weir.stop();
  expect(stderr).toMatch(
    new RegExp(`^${address} rejected the request: INVALID_ARGUMENT: descriptors\\[0\\]\\.limit\\.requests_per_unit is over 10000`),
  );
  expect(exitCode).toBe(1);
});
