/** SIGTERM turns health off, answers calls in flight and exits with 0, and an invalid setting stops the start. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { status, type ServiceError } from '@grpc/grpc-js';
import { startChild } from '../../support/processes/child-process';
import { childPidsOf } from '../../support/processes/child-pids';
import { findFirstProcess } from '../../support/processes/first-process';
import { httpRequest } from '../../support/clients/http-client';
import { freePort } from '../../support/servers/ports';
import { startRedis } from '../../support/redis/redis-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { writeConfig } from '../../support/config/temp-config';
import { slowness } from '../../support/clock/slowness';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const MAIN = path.resolve('dist/main.js');
const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');

/** Weir sends one each second; a call has more. */
const PING_BYTES_MAX = 50;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `weir` to its end, at most 60 s. */
function weir(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env }, timeout: hangLimitMs(60_000) };
    const child = execFile(process.execPath, [MAIN, ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

describe('the server prints each problem on standard error and exits with 1', () => {
  test('all bad settings are printed at once', async () => {
    const { code, stderr } = await weir(['serve', '--config', CONFIG], { GRPC_PORT: 'x', REDIS_OP_TIMEOUT: '5' });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^GRPC_PORT: "x" is not accepted; use a port from 0 to 65535.*\nREDIS_OP_TIMEOUT: "5" is not accepted; use a duration/,
    );
  });

  test('a bad configuration is printed with file, line and column', async () => {
    const file = writeConfig('domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: eon, requests_per_unit: 1 }\n');
    const { code, stderr } = await weir(['serve', '--config', file]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${file}:4:25: descriptors[0].rate_limit.unit: unknown unit "eon"`);
  });

  test('a missing configuration is an error', async () => {
    const { code, stderr } = await weir(['serve'], { RUNTIME_APPDIRECTORY: 'nowhere', BACKEND_TYPE: 'memory' });
    expect(code).toBe(1);
    expect(stderr).toContain('nowhere: does not exist; set RUNTIME_ROOT');
  });

  test('an embedded store where pods share a configuration is an error', async () => {
    const { code, stderr } = await weir(['serve', '--config', CONFIG], { RUNTIME_ROOT: '/data' });
    expect(code).toBe(1);
    expect(stderr).toContain('BACKEND_TYPE: neither it nor REDIS_URL is set, but RUNTIME_ROOT is');
  });

  test.each([[['serve', '--confg', 'x']], [['sevre']], [[]]])('the arguments %j are an error', async (args) => {
    const { code, stderr } = await weir(args);
    expect(code).toBe(2);
    expect(stderr).not.toBe('');
  });
});

test.each([
  ['serve', ['serve', '--config'], 1],
  ['check', ['check'], 1],
] as const)('a configuration that takes too much memory is an error of %s, without a dump of V8', async (_, args, exitCode) => {
  const descriptors = Array.from({ length: 100_000 }, (_value, i) => `  - { key: k, value: "value ${i}" }\n`);
  // An anchor: such a text is read by the library, which takes a hundred times its size.
  const config = writeConfig(`domain: d\ndescriptors:\n  - &first { key: k }\n${descriptors.join('')}`);
  const { code, stdout, stderr } = await weir([...args, config], { NODE_OPTIONS: '--max-old-space-size=64' });
  expect(stdout + stderr).toMatch(
    /: takes more than \d+ MiB of memory to be read; make it smaller, write it without aliases and merge keys, or give Weir more memory\n/,
  );
  expect(code).toBe(exitCode);
});

test('the start logs variables without effect', async () => {
  const config = writeConfig(
    'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3, calendar: true, algorithm: fixed_window } }]\n',
  );
  const server = await startWeir({ config, env: { BACKEND_TYPE: 'memory', REDIS_POOL_SIZE: '5', FAILURE_MOD: 'open' } });
  expect(server.output()).toContain('REDIS_POOL_SIZE has no effect here. One connection carries all calls.');
  expect(server.output()).toContain('WARN: FAILURE_MOD is not a setting; did you mean FAILURE_MODE?');
  expect(server.output()).toContain(
    'descriptors[0].rate_limit.calendar: has no effect, because every calendar has the same hours; remove it',
  );
  expect(await server.stop()).toBe(0);
});

test('--version and --help print to standard output', async () => {
  for (const word of ['version', '--version', '-v']) {
    expect(await weir([word])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as unknown });
  }
  for (const word of ['help', '--help', '-h']) {
    expect(await weir([word])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: weir COMMAND.*\n {2}serve +answers/s) as unknown,
    });
    expect(await weir(['serve', word])).toMatchObject(
      word === 'help' ? { code: 2 } : { code: 0, stdout: expect.stringMatching(/^weir serve/) as unknown },
    );
  }
});

test('a port that is in use makes it exit with 1', async () => {
  const first = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } });
  const env = { GRPC_HOST: '127.0.0.1', GRPC_PORT: String(first.grpcPort), PORT: '0', DEBUG_PORT: '0', BACKEND_TYPE: 'memory' };
  const { code, stderr } = await weir(['serve', '--config', CONFIG], env);
  await first.stop();
  expect(code).toBe(1);
  expect(stderr).toContain(
    `GRPC_PORT: 127.0.0.1:${first.grpcPort} is in use already; set GRPC_PORT to a free port, or stop the process that listens there\n`,
  );
  expect(stderr).not.toContain('    at ');
});

test.each([
  [
    'an unknown host',
    { HOST: 'nobody.invalid', PORT: '0' },
    /^HOST: the name nobody\.invalid cannot be resolved \(\w+\); set HOST to an address of this machine, or to 0\.0\.0\.0 for all of them\n$/m,
  ],
  [
    'a path of GRPC_UDS where a file is',
    { GRPC_UDS: CONFIG, PORT: '0' },
    /^GRPC_UDS: .* exists and is not a socket; remove it, or use another path\n$/m,
  ],
])('%s makes it exit with 1 and one line', async (_what, env, told) => {
  const { code, stderr } = await weir(['serve', '--config', CONFIG], {
    HOST: '127.0.0.1',
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: '0',
    DEBUG_PORT: '0',
    BACKEND_TYPE: 'memory',
    ...env,
  });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(told) as unknown });
  expect(stderr).not.toContain('    at ');
});

test('SIGTERM turns health off, answers the call in flight, rejects new ones, and exits with 0', async () => {
  const redis = await startRedis();
  const proxy = await TcpProxy.start(redis.port);
  const env = { REDIS_URL: `redis://127.0.0.1:${proxy.port}`, REDIS_OP_TIMEOUT: '1s', FAILURE_MODE: 'open', DRAIN_TIMEOUT: '10m' };
  const server = await startWeir({ config: CONFIG, env });
  const client = new RlsClient(server.grpcPort);
  await client.ask('d', [{ entries: { k: 'v' } }]);
  const held = holdDrain(server);
  // A Redis that pauses keeps the call in flight until after the signal; on a busy machine that may take longer than a call may wait.
  redis.kill('SIGSTOP');
  const bytesBefore = proxy.bytesFromClients;
  const askedMs = performance.now();
  const inFlight = client.ask('d', [{ entries: { k: 'v' } }]);
  await until(() => proxy.bytesFromClients > bytesBefore + PING_BYTES_MAX);
  const exitCode = server.stop();
  await until(() => server.output().includes('SIGTERM: health is off'));
  redis.kill('SIGCONT');
  const { overall_code: code, dynamic_metadata: fallback } = await inFlight;
  expect(code).toBe(OK);
  expect(!fallback || performance.now() - askedMs > 1_000 || slowness() > 2).toBe(true);
  const late = new RlsClient(server.grpcPort);
  // One that comes before the port is closed is still answered; one that found it open, and is sent away, has been UNAVAILABLE too.
  const isRefused = (error: unknown) =>
    (error as ServiceError).code === status.UNAVAILABLE && (error as ServiceError).details.includes('ECONNREFUSED');
  await until(() => late.ask('d', [{ entries: { k: 'v' } }]).then(() => false, isRefused));
  await expect(httpRequest(`http://127.0.0.1:${server.httpPort}/healthcheck`)).rejects.toThrow();
  expect(isRunning(server.pid)).toBe(true);
  held.destroy();
  expect(await exitCode).toBe(0);
  client.close();
  late.close();
  await proxy.stop();
  await redis.stop();
});

test.each(['grpc-js', 'lean'])('DRAIN_DELAY turns health off and answers everything, also on new connections (%s)', async (transport) => {
  const server = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', TRANSPORT: transport, DRAIN_DELAY: '3s' } });
  const client = new RlsClient(server.grpcPort);
  await client.ask('d', [{ entries: { k: 'v' } }]);
  const exitCode = server.stop();
  await until(() => server.output().includes('SIGTERM: health is off'));
  const late = new RlsClient(server.grpcPort);
  expect((await client.ask('d', [{ entries: { k: 'v' } }])).overall_code).toBe(OK);
  expect((await late.ask('d', [{ entries: { k: 'v' } }])).overall_code).toBe(OK);
  const { status: healthStatus } = await httpRequest(`http://127.0.0.1:${server.httpPort}/healthcheck`);
  expect(healthStatus).not.toBe(200);
  expect(await exitCode).toBe(0);
  await expect(late.ask('d', [{ entries: { k: 'v' } }], { timeoutMs: 2000 })).rejects.toMatchObject({ code: status.UNAVAILABLE });
  client.close();
  late.close();
});

test('any second signal ends a drain at once', async () => {
  const server = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', DRAIN_TIMEOUT: '10m' } });
  const held = holdDrain(server);
  server.kill('SIGTERM');
  await until(() => server.output().includes('SIGTERM: health is off'));
  server.kill('SIGINT');
  await until(() => !isRunning(server.pid));
  held.destroy();
});

test('the server decides and drains after the reader of its log has gone', async () => {
  const [httpPort, grpcPort, debugPort] = [await freePort(), await freePort(), await freePort()];
  const loopback = { HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' };
  const env = {
    PATH: process.env.PATH,
    ...loopback,
    PORT: String(httpPort),
    GRPC_PORT: String(grpcPort),
    DEBUG_PORT: String(debugPort),
    BACKEND_TYPE: 'memory',
    DRAIN_DELAY: '0s',
  };
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', CONFIG], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: hangLimitMs(20_000),
  });
  const ended = once(child, 'exit');
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  await until(() => log.includes('serves'));
  child.stderr.destroy();
  await once(child.stderr, 'close');
  const client = new RlsClient(grpcPort);
  const loads = async () => (await httpRequest(`http://127.0.0.1:${debugPort}/metrics`)).body;
  // Each load is a line of the log.
  for (let times = 2; times <= 4; times += 1) {
    child.kill('SIGHUP');
    await until(async () => (await loads()).includes(`config_load_success ${times}`));
    expect((await client.ask('d', [{ entries: { k: 'v' } }])).overall_code).toBe(OK);
  }
  client.close();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

/** The server as the first process of a container: no signal does anything there by itself. */
const first = findFirstProcess();
const FIRST_PROCESS: readonly [string, ...string[]] = [...(first.command ?? ['unshare']), process.execPath, MAIN, 'serve'];
/** A machine that lets nobody make a PID namespace has these skipped by name; where nobody reads along that is a failure. */
const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
const testFirst = first.command !== undefined || isCi ? test : test.skip;
const because = first.command === undefined ? ` (no PID namespace here: ${first.reason})` : '';

/** The bit of SIGHUP in the set of signals that a process catches: the last that Weir begins to, and one that Node does not by itself. */
const CATCHES_HANG_UP = 1n << 0n;

describe('as the first process of a container', () => {
  testFirst(`a signal before it serves ends it${because}`, async () => {
    const [command, ...args] = FIRST_PROCESS;
    const env = { REDIS_URL: 'redis://127.0.0.1:1', REDIS_CONNECT_TIMEOUT: '1m', PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0' };
    const child = startChild({ command, args: [...args, '--config', CONFIG], env });
    await until(() => childPidsOf(child.pid).some(catchesHangUp));
    const [server] = childPidsOf(child.pid);
    process.kill(server!, 'SIGTERM');
    await until(() => !child.isRunning());
    expect(await child.stop()).toBe(143);
  });

  testFirst(`a second signal ends a drain${because}`, async () => {
    const server = await startWeir({ command: FIRST_PROCESS, config: CONFIG, env: { BACKEND_TYPE: 'memory', DRAIN_DELAY: '10m' } });
    const [pid] = childPidsOf(server.pid);
    process.kill(pid!, 'SIGTERM');
    await until(() => server.output().includes('SIGTERM: health is off'));
    process.kill(pid!, 'SIGTERM');
    await until(() => !isRunning(pid!));
    expect(await server.stop()).toBe(143);
  });
});

/** A request whose body never ends: a drain waits for it. */
function holdDrain({ httpPort }: WeirProcess): Socket {
  const held = connect(httpPort, '127.0.0.1');
  held.on('error', () => undefined);
  held.write('POST /json HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n');
  return held;
}

function catchesHangUp(pid: number): boolean {
  const [, caught = '0'] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) & CATCHES_HANG_UP) !== 0n;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
