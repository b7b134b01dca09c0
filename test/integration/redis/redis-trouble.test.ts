/** A restart of Redis, a hang or a script flush loses or doubles no hit, and calls fail only meanwhile. */

import { status, type ServiceError } from '@grpc/grpc-js';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CALLERS = 8;
const TIMEOUT_MS = 60_000;

const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: k
    rate_limit: { unit: year, requests_per_unit: 1000000, algorithm: token_bucket }
  - key: few
    rate_limit: { unit: hour, requests_per_unit: 2, algorithm: token_bucket }
`);

interface Failure {
  readonly atMs: number;
  readonly tookMs: number;
  readonly code: number;
}

let redis: RedisServer;
let weir: WeirProcess;
let client: RlsClient;

beforeEach(async () => {
  redis = await startRedis();
  const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  weir = await startWeir({ config: CONFIG, env });
  client = new RlsClient(weir.grpcPort);
});

afterEach(async () => {
  client.close();
  await weir.stop();
  await redis.stop();
});

/** Callers in a loop for as long as `during` runs, which is told how many calls were answered so far, and of each that failed; how many were, and every one that failed. */
async function underTraffic(
  during: (answeredSoFar: () => number, failed: readonly Failure[]) => Promise<void>,
): Promise<{ answered: number; failures: Failure[] }> {
  let running = true;
  let answered = 0;
  const failures: Failure[] = [];
  const call = async (): Promise<void> => {
    while (running) {
      const startedMs = performance.now();
      try {
        await client.ask('d', [{ entries: { k: 'v' } }]);
        answered += 1;
      } catch (error) {
        const atMs = performance.now();
        failures.push({ atMs, tookMs: atMs - startedMs, code: (error as ServiceError).code });
        // A refusal comes at once; a client that asks again at once would do nothing else.
        await pause(2);
      }
    }
  };
  const callers = Array.from({ length: CALLERS }, call);
  try {
    await during(() => answered, failures);
  } finally {
    running = false;
    await Promise.all(callers);
  }
  return { answered, failures };
}

async function remaining(): Promise<number> {
  return (await client.ask('d', [{ entries: { k: 'v' }, hits_addend: { value: '0' } }])).statuses[0]!.limit_remaining;
}

test(
  'SCRIPT FLUSH under traffic fails no call, and loses or doubles no hit',
  async () => {
    const admin = await makeTestClient(redis.port).connect();
    const { answered, failures } = await underTraffic(async (answeredSoFar, failed) => {
      for (let flush = 0; flush < 20 || (answeredSoFar() <= 100 && failed.length === 0); flush += 1) {
        await admin.scriptFlush();
        await pause(50);
      }
    });
    admin.destroy();
    expect(failures).toEqual([]);
    expect(answered).toBeGreaterThan(100);
    expect(await remaining()).toBe(1_000_000 - answered);
  },
  TIMEOUT_MS,
);

test(
  'a restart of Redis fails calls at once with UNAVAILABLE while it is down, and none after',
  async () => {
    let downFromMs = 0;
    let backAtMs = 0;
    const { failures } = await underTraffic(async (answeredSoFar, failed) => {
      await until(() => answeredSoFar() > 100);
      downFromMs = performance.now();
      redis.kill('SIGKILL');
      await until(
        async () =>
          (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body ===
          'OK\ndegraded: redis\ndegraded: redis breaker open\n',
      );
      // They come only together: if each took a second, a minute would be too short.
      const refused = failed.length;
      await until(() => failed.length > refused + 500);
      await redis.restart();
      backAtMs = await untilAnswered();
      const answered = answeredSoFar();
      await until(() => answeredSoFar() > answered + 100);
    });
    expect(failures.length).toBeGreaterThan(0);
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set([status.UNAVAILABLE]));
    expect(Math.min(...failures.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(downFromMs);
    expect(Math.max(...failures.map(({ atMs, tookMs }) => atMs - tookMs))).toBeLessThanOrEqual(backAtMs);
    // Empty again, so full; then it counts as before.
    expect((await client.ask('d', [{ entries: { few: 'v' } }])).overall_code).toBe(OK);
    expect((await client.ask('d', [{ entries: { few: 'v' } }])).overall_code).toBe(OK);
    expect((await client.ask('d', [{ entries: { few: 'v' } }])).overall_code).toBe(OVER_LIMIT);
    expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body).toBe('OK');
  },
  TIMEOUT_MS,
);

/** Tries until a call is answered again; when that was. */
async function untilAnswered(asker = client): Promise<number> {
  await until(() =>
    asker.ask('d', [{ entries: { k: 'v' } }]).then(
      () => true,
      () => false,
    ),
  );
  return performance.now();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test(
  'a hanging Redis makes calls UNAVAILABLE after REDIS_OP_TIMEOUT, over gRPC and /json, until it resumes',
  async () => {
    await client.ask('d', [{ entries: { few: 'v' } }]);
    redis.kill('SIGSTOP');
    await expect(client.ask('d', [{ entries: { few: 'v' } }], { timeoutMs: 5_000 })).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: 'the store did not answer within 1000 ms',
    });
    const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'few', value: 'v' }] }] });
    const json = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { method: 'POST', body });
    expect([json.status, json.body]).toEqual([503, 'the store did not answer within 1000 ms\n']);
    redis.kill('SIGCONT');
    // Both were sent, so both ran late: the first took the last hit. A busy host may have given the connection up for its silence.
    let code: number | undefined;
    await until(async () => {
      code = await client.ask('d', [{ entries: { few: 'v' } }]).then(
        ({ overall_code: answered }) => answered,
        () => undefined,
      );
      return code !== undefined;
    });
    expect(code).toBe(OVER_LIMIT);
  },
  TIMEOUT_MS,
);

test(
  'a bucket key that holds something else fails its own calls, and the log names it',
  async () => {
    const admin = await makeTestClient(redis.port).connect();
    await admin.set('1{d}tb31536000|k=theirs', 'no bucket');
    admin.destroy();
    await expect(client.ask('d', [{ entries: { k: 'theirs' } }])).rejects.toMatchObject({
      details: 'the key of a bucket holds a value that Weir did not write',
    });
    expect((await client.ask('d', [{ entries: { k: 'ours' } }])).overall_code).toBe(OK);
    expect(weir.output()).toContain(
      `Redis cannot decide on "1{d}tb31536000|k=theirs": the key of a bucket holds a value that Weir did not write`,
    );
  },
  TIMEOUT_MS,
);

test(
  'Weir starts without Redis, reports it, and decides once Redis is there',
  async () => {
    redis.kill('SIGKILL');
    const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
    const early = await startWeir({ config: CONFIG, env });
    const earlyClient = new RlsClient(early.grpcPort);
    await expect(earlyClient.ask('d', [{ entries: { few: 'v' } }])).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: 'Redis is not connected',
    });
    expect(early.output()).toContain('no Redis at redis://127.0.0.1');
    await redis.restart();
    await untilAnswered();
    await until(() => early.output().includes('connected to Redis'));
    expect((await earlyClient.ask('d', [{ entries: { few: 'v' } }])).overall_code).toBe(OK);
    earlyClient.close();
    expect(await early.stop()).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'Weir logs a silent connection, closes it, and opens another one, although more calls wait than may be in flight',
  async () => {
    const proxy = await TcpProxy.start(redis.port);
    const env = { REDIS_URL: `redis://127.0.0.1:${proxy.port}`, REDIS_OP_TIMEOUT: '50ms', REDIS_IN_FLIGHT_MAX: '20' };
    const server = await startWeir({ config: CONFIG, env });
    const asker = new RlsClient(server.grpcPort);
    // A busy machine may take longer than the 50 ms, which are so few for the many calls that time out below.
    await untilAnswered(asker);
    proxy.silenceOpen();
    // More calls than may wait: even when every place is taken by a call that nobody will answer, it comes back.
    await untilAnswered(asker);
    expect(proxy.connections).toBeGreaterThan(1);
    expect(server.output()).toContain('no answer for 1000 ms');
    asker.close();
    await server.stop();
    await proxy.stop();
  },
  TIMEOUT_MS,
);

test(
  'after a failover Weir leaves a primary that became a replica',
  async () => {
    const second = await startRedis();
    const admin = await makeTestClient(redis.port).connect();
    const proxy = await TcpProxy.start(redis.port);
    const env = { REDIS_URL: `redis://127.0.0.1:${proxy.port}`, REDIS_OP_TIMEOUT: '1s' };
    const server = await startWeir({ config: CONFIG, env });
    const asker = new RlsClient(server.grpcPort);
    await asker.ask('d', [{ entries: { k: 'v' } }]);
    proxy.pointTo(second.port);
    await admin.sendCommand(['REPLICAOF', '127.0.0.1', String(second.port)]);
    // A task of Weir itself may get the error first, and leaves the replica as a call does.
    const errors = new Set<string>();
    await until(async () => {
      await asker.ask('d', [{ entries: { k: 'v' } }]).catch((error: unknown) => errors.add((error as ServiceError).details));
      return server.output().includes('Redis answered the error READONLY');
    });
    expect(['Redis answered the error READONLY', 'Redis is not connected']).toEqual(expect.arrayContaining([...errors]));
    await untilAnswered(asker);
    const successor = await makeTestClient(second.port).connect();
    expect(await successor.keys('*k=v')).toHaveLength(1);
    successor.destroy();
    asker.close();
    admin.destroy();
    await server.stop();
    await proxy.stop();
    await second.stop();
  },
  TIMEOUT_MS,
);
