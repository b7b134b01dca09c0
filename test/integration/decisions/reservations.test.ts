/** Reservations are made, committed, released, extended and lapsed over gRPC, HTTP and commands, on both stores. */

import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { callReservations, type ReservationAnswers } from '../../../src/server/transport/grpc/call-server';
import { loadProto } from '../../../src/server/transport/messages/proto';
import { runWeir } from '../../support/processes/command';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const CONFIG = writeConfig(`
domain: llm
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 1000, algorithm: fixed_window, reservations: { max_share: 0.5 } }
  - key: team
    rate_limit: { unit: day, requests_per_unit: 10000, algorithm: fixed_window, reservations: { max_share: 1, on_lapse: charge } }
  - key: free
    rate_limit: { unlimited: true }
`);

const HELD = 1;
const COMMITTED = 2;
const RELEASED = 3;
const OK = 1;
const OVER_LIMIT = 2;

function entries(key: string, value: string) {
  return { entries: [{ key, value }] };
}

/** Calls one server. */
class Caller {
  private readonly rls: RlsClient;

  constructor(private readonly weir: WeirProcess) {
    this.rls = new RlsClient(weir.grpcPort);
  }

  step<Name extends keyof ReservationAnswers>(
    name: Name,
    id: string,
    parts: { readonly hits?: number; readonly ttlMs?: number; readonly users?: readonly string[]; readonly team?: string } = {},
  ) {
    const { hits, ttlMs, users = ['a'], team } = parts;
    const descriptors = [...users.map((user) => entries('user', user)), ...(team === undefined ? [] : [entries('team', team)])];
    const ttl = ttlMs === undefined ? {} : { ttl: { seconds: Math.floor(ttlMs / 1000), nanos: (ttlMs % 1000) * 1_000_000 } };
    const step = { domain: 'llm', descriptors, id, ...(hits !== undefined && { hits: String(hits) }), ...ttl };
    return callReservations(name, step, { address: `127.0.0.1:${this.weir.grpcPort}`, timeoutMs: hangLimitMs(5_000) });
  }

  /** Hits left, as an ordinary check is answered. */
  async left(key: string, value: string): Promise<number> {
    const { statuses } = await this.rls.ask('llm', [{ entries: { [key]: value }, hits_addend: { value: '0' } }]);
    return statuses[0]!.limit_remaining;
  }

  close(): void {
    this.rls.close();
  }
}

/** 64-bit numbers come as digits. */
function numbers(answer: object) {
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [name, name.endsWith('_hits') ? Number(value) : (value as unknown)]),
  );
}

describe.each(['memory', 'redis'] as const)('on the store %s', (kind) => {
  let redis: RedisServer | undefined;
  let weir: WeirProcess;
  let caller: Caller;

  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedis() : undefined;
    const env =
      redis === undefined
        ? { BACKEND_TYPE: 'memory' }
        : { BACKEND_TYPE: 'redis', REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '500ms' };
    weir = await startWeir({ config: CONFIG, env });
    caller = new Caller(weir);
  });

  afterAll(async () => {
    caller.close();
    await weir.stop();
    await redis?.stop();
  });

  it('a reservation covers several descriptors, counts as held, and settles by the actual use', async () => {
    const reserved = numbers(await caller.step('Reserve', 'one', { hits: 300, users: ['g'], team: 'g' }));
    expect(reserved).toMatchObject({ code: OK, id: 'one', granted_hits: 300, state: HELD, repeated_call: false });
    expect([await caller.left('user', 'g'), await caller.left('team', 'g')]).toEqual([700, 9_700]);
    expect(numbers(await caller.step('Commit', 'one', { hits: 120, users: ['g'], team: 'g' }))).toMatchObject({
      state: COMMITTED,
      committed_hits: 120,
      late: false,
      unknown: false,
      repeated_call: false,
    });
    expect([await caller.left('user', 'g'), await caller.left('team', 'g')]).toEqual([880, 9_880]);
  });

  it('each step has its effect once, although it is sent repeatedly', async () => {
    const user = { users: ['twice'] };
    await caller.step('Reserve', 'twice', { hits: 10, ...user });
    expect(numbers(await caller.step('Reserve', 'twice', { hits: 99, ...user }))).toMatchObject({
      code: OK,
      granted_hits: 10,
      repeated_call: true,
    });
    expect(await caller.left('user', 'twice')).toBe(990);
    await caller.step('Commit', 'twice', { hits: 30, ...user });
    expect(numbers(await caller.step('Commit', 'twice', { hits: 500, ...user }))).toMatchObject({
      state: COMMITTED,
      committed_hits: 30,
      repeated_call: true,
    });
    expect(numbers(await caller.step('Release', 'twice', user))).toMatchObject({ state: COMMITTED, repeated_call: true });
    expect(await caller.left('user', 'twice')).toBe(970);
  });

  it('max_share reduces a reservation to the share that may be held, and denies one without room', async () => {
    const user = { users: ['share'] };
    expect(numbers(await caller.step('Reserve', 'large', { hits: 800, ...user }))).toMatchObject({ code: OK, granted_hits: 500 });
    expect(numbers(await caller.step('Reserve', 'none', { hits: 1, ...user }))).toMatchObject({
      code: OVER_LIMIT,
      id: '',
      granted_hits: 0,
      share_exhausted: true,
    });
    expect(numbers(await caller.step('Release', 'large', user))).toMatchObject({ state: RELEASED });
    expect(numbers(await caller.step('Reserve', 'none', { hits: 1, ...user }))).toMatchObject({ code: OK, granted_hits: 1 });
  });

  it('a lapsed reservation is given back or charged within a second, and an extension keeps it', async () => {
    const both = { users: ['lapse'], team: 'lapse' };
    await caller.step('Reserve', 'lapses', { hits: 100, ttlMs: 300, ...both });
    await caller.step('Reserve', 'extended', { hits: 100, ttlMs: 300, ...both });
    expect(numbers(await caller.step('Extend', 'extended', { ttlMs: 60_000, ...both }))).toMatchObject({
      state: HELD,
      repeated_call: false,
    });
    await until(async () => (await caller.left('user', 'lapse')) === 900);
    expect(await caller.left('team', 'lapse')).toBe(9_800);
    // What was used is charged all the same, and what the lapse kept is the first of it.
    expect(numbers(await caller.step('Commit', 'lapses', { hits: 150, ...both }))).toMatchObject({
      state: COMMITTED,
      late: true,
      committed_hits: 150,
    });
    expect([await caller.left('user', 'lapse'), await caller.left('team', 'lapse')]).toEqual([750, 9_750]);
    expect(numbers(await caller.step('Extend', 'lapses', both))).toMatchObject({ state: COMMITTED, repeated_call: true });
  });

  it('a commit of an unknown reservation is charged in full, once', async () => {
    const user = { users: ['stray'] };
    expect(numbers(await caller.step('Commit', 'stray', { hits: 40, ...user }))).toMatchObject({ state: COMMITTED, unknown: true });
    expect(numbers(await caller.step('Commit', 'stray', { hits: 40, ...user }))).toMatchObject({ unknown: true, repeated_call: true });
    // The call to reserve comes last: it is over already.
    expect(numbers(await caller.step('Reserve', 'stray', { hits: 40, ...user }))).toMatchObject({
      code: OK,
      granted_hits: 0,
      state: COMMITTED,
    });
    expect(await caller.left('user', 'stray')).toBe(960);
    await expect(caller.step('Extend', 'nobody', user)).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('an invalid request is rejected with the name of its field', async () => {
    await expect(caller.step('Reserve', 'bad id', { hits: 1 })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'id must be printable ASCII without spaces',
    });
    await expect(caller.step('Reserve', 'x'.repeat(129), { hits: 1 })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await expect(caller.step('Reserve', 'a', { hits: 0 })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await expect(caller.step('Reserve', 'a', { hits: 1, ttlMs: 3_600_001 })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'ttl must be from 1 ms to 3600 s',
    });
    await expect(caller.step('Reserve', 'a', { hits: 1, users: [] })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await expect(caller.step('Commit', '', { hits: 1 })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'id must not be empty; send the id of the reservation',
    });
  });

  it('descriptors whose record would be too large are rejected in every step', async () => {
    const base = `http://127.0.0.1:${weir.httpPort}/v1/reservations`;
    const long = (i: number) => ({ key: 'user', value: `${i}${'v'.repeat(200)}` });
    const descriptors = Array.from({ length: 64 }, (_, i) => ({
      entries: [{ key: 'x', value: 'y'.repeat(200) }, long(i)],
      limit: { unit: 'DAY', requestsPerUnit: 10 },
    }));
    for (const path of ['', '/x:commit', '/x:release']) {
      const { status: code, body } = await httpRequest(`${base}${path}`, { body: { domain: 'llm', descriptors, hits: 1 } });
      expect({ code, body }).toEqual({ code: 400, body: expect.stringContaining('for at most 16384') as string });
    }
  });

  it('HTTP serves reservations', async () => {
    const base = `http://127.0.0.1:${weir.httpPort}/v1/reservations`;
    const of = { domain: 'llm', descriptors: [entries('user', 'http')] };
    const post = async (path: string, body: unknown) => {
      const { status: code, body: text } = await httpRequest(`${base}${path}`, { body });
      return { code, ...(JSON.parse(text) as object) };
    };
    expect(await post('', { ...of, hits: 200, ttl: '30s', id: 'over-http' })).toMatchObject({
      code: 'OK',
      id: 'over-http',
      grantedHits: '200',
      expiresIn: '30s',
      state: 'HELD',
    });
    expect(await post('/over-http:extend', { ...of, ttl: '90.5s' })).toMatchObject({ state: 'HELD', grantedHits: '200' });
    expect(await post('/over-http:commit', { ...of, hits: '250' })).toMatchObject({ code: 200, state: 'COMMITTED', committedHits: '250' });
    expect(await post('/over-http:release', of)).toMatchObject({ state: 'COMMITTED', repeatedCall: true });
    expect(await caller.left('user', 'http')).toBe(750);
    expect(await post('', { ...of, hits: 'many' })).toMatchObject({ code: 400, field: 'hits' });
    expect(await post('', '{')).toMatchObject({ code: 400 });
    expect(await post('/nobody:extend', of)).toMatchObject({ code: 404 });
    expect(await post('/over-http:burn', of)).toMatchObject({ code: 404 });
    expect((await httpRequest(base)).status).toBe(405);
    const full = await httpRequest(base, { body: { ...of, descriptors: [entries('user', 'http')], hits: 500, id: 'rest' } });
    expect([full.status, (JSON.parse(full.body) as { grantedHits: string }).grantedHits]).toEqual([200, '500']);
    const denied = await httpRequest(base, { body: { ...of, hits: 1 } });
    expect([denied.status, JSON.parse(denied.body)]).toEqual([429, expect.objectContaining({ code: 'OVER_LIMIT', shareExhausted: true })]);
  });

  it('the command line makes reservations', async () => {
    const common = ['--address', `127.0.0.1:${weir.grpcPort}`, '--domain', 'llm', '--descriptor', 'user=cli'];
    const said = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await runWeir(['reserve', ...args, ...common]);
      return { exitCode, stderr, ...(stdout === '' ? {} : (JSON.parse(stdout) as object)) };
    };
    expect(await said('--hits', '100', '--ttl', '60s', '--id', 'cli')).toMatchObject({
      exitCode: 0,
      id: 'cli',
      grantedHits: '100',
      state: 'HELD',
    });
    expect(await said('extend', '--id', 'cli', '--ttl', '2m')).toMatchObject({ exitCode: 0, state: 'HELD' });
    expect(await said('commit', '--id', 'cli', '--hits', '70')).toMatchObject({ exitCode: 0, state: 'COMMITTED', committedHits: '70' });
    expect(await said('release', '--id', 'other')).toMatchObject({ exitCode: 0, state: 'RELEASED', unknown: true });
    expect(await said('extend', '--id', 'nobody')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('no reservation has this id') as string,
    });
    expect(await said('commit', '--hits', '1')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--id is missing') as string,
    });
    expect(await caller.left('user', 'cli')).toBe(930);
  });

  it('the messages of Kuadrant’s proxy plugin work', async () => {
    const plugin = new Plugin(weir.grpcPort);
    const descriptors = [entries('user', 'plugin')];
    const of = { domain: 'llm', descriptors };
    const reserved = await plugin.call('Reserve', { ...of, amount: '300', ttl: { seconds: 30 } });
    expect(reserved).toMatchObject({ code: OK });
    const id = (reserved as { reservation_id: string }).reservation_id;
    expect(await caller.left('user', 'plugin')).toBe(700);
    expect(await plugin.call('Commit', { ...of, reservation_id: id, actual_amount: '350' })).toEqual({ reservation_released: true });
    expect(await plugin.call('Commit', { ...of, reservation_id: id, actual_amount: '350' })).toEqual({ reservation_released: false });
    expect(await caller.left('user', 'plugin')).toBe(650);
    expect(await plugin.call('CheckRateLimit', { ...of, hits_addend: 1 })).toMatchObject({ overall_code: OK });
    expect(await caller.left('user', 'plugin')).toBe(650);
    expect(await plugin.call('Report', { ...of, hits_addend: 700 })).toMatchObject({ overall_code: OK });
    expect(await plugin.call('CheckRateLimit', of)).toMatchObject({ overall_code: OVER_LIMIT });
    expect(await plugin.call('Reserve', { ...of, amount: '0' })).toEqual({ code: OVER_LIMIT, reservation_id: '' });
    // The timeout of a route may be none, or longer than the longest term.
    const lasting = { domain: 'llm', descriptors: [entries('user', 'plugin3')], amount: '1' };
    for (const seconds of [0, 7_200]) expect(await plugin.call('Reserve', { ...lasting, ttl: { seconds } })).toMatchObject({ code: OK });
    // Without an id it is a report; an amount of 0 only looks whether a hit is left.
    const other = { domain: 'llm', descriptors: [entries('user', 'plugin2')] };
    expect(await plugin.call('Commit', { ...other, actual_amount: '5' })).toEqual({ reservation_released: false });
    expect(await plugin.call('Reserve', { ...other, amount: '0' })).toMatchObject({
      code: OK,
      reservation_id: expect.any(String) as string,
    });
    expect(await caller.left('user', 'plugin2')).toBe(995);
    plugin.close();
  });

  it('a reservation without a limit passes and holds nothing', async () => {
    const step = { domain: 'llm', descriptors: [entries('free', 'x')], id: 'free', hits: '5' };
    const server = { address: `127.0.0.1:${weir.grpcPort}`, timeoutMs: hangLimitMs(5_000) };
    expect(numbers(await callReservations('Reserve', step, server))).toMatchObject({ code: OK, granted_hits: 5 });
    expect(numbers(await callReservations('Commit', step, server))).toMatchObject({ state: COMMITTED, committed_hits: 5 });
  });
});

describe('while Redis is away', () => {
  it('the failure mode decides without Redis, the instance settles locally, and Redis counts once when it is back', async () => {
    const redis = await startRedis();
    const env = {
      BACKEND_TYPE: 'redis',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '500ms',
      FAILURE_MODE: 'local',
      FAILURE_MODE_INSTANCES: '1',
    };
    const weir = await startWeir({ config: CONFIG, env });
    const caller = new Caller(weir);
    const user = { users: ['away'] };
    expect(numbers(await caller.step('Reserve', 'before', { hits: 100, ...user }))).toMatchObject({ granted_hits: 100, degraded: false });
    redis.kill('SIGKILL');
    await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body.includes('degraded: redis'));
    expect(numbers(await caller.step('Reserve', 'meanwhile', { hits: 100, ...user }))).toMatchObject({
      code: OK,
      granted_hits: 100,
      degraded: true,
    });
    expect(numbers(await caller.step('Reserve', 'meanwhile', { hits: 100, ...user }))).toMatchObject({
      granted_hits: 100,
      degraded: true,
      repeated_call: true,
    });
    expect(numbers(await caller.step('Commit', 'meanwhile', { hits: 60, ...user }))).toMatchObject({
      state: COMMITTED,
      degraded: true,
      unknown: false,
    });
    expect(numbers(await caller.step('Commit', 'meanwhile', { hits: 60, ...user }))).toMatchObject({ repeated_call: true });
    // Redis has that one, and forgets it: what was used is charged here in full.
    expect(numbers(await caller.step('Commit', 'before', { hits: 30, ...user }))).toMatchObject({
      state: COMMITTED,
      unknown: true,
      degraded: true,
    });
    await redis.restart();
    await until(async () => (await caller.left('user', 'away')) === 910);
    expect(numbers(await caller.step('Reserve', 'after', { hits: 10, ...user }))).toMatchObject({ granted_hits: 10, degraded: false });
    expect(numbers(await caller.step('Commit', 'after', { hits: 5, ...user }))).toMatchObject({ state: COMMITTED, degraded: false });
    expect(await caller.left('user', 'away')).toBe(905);
    caller.close();
    await weir.stop();
    await redis.stop();
  });

  it('another instance lapses the reservations of a killed one', async () => {
    const redis = await startRedis();
    const env = { BACKEND_TYPE: 'redis', REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '500ms' };
    const [one, other] = await Promise.all([startWeir({ config: CONFIG, env }), startWeir({ config: CONFIG, env })]);
    const [first, second] = [new Caller(one), new Caller(other)];
    await first.step('Reserve', 'orphan', { hits: 100, ttlMs: 500, users: ['orphan'] });
    one.kill('SIGKILL');
    expect(await second.left('user', 'orphan')).toBe(900);
    await until(async () => (await second.left('user', 'orphan')) === 1_000);
    expect(numbers(await second.step('Commit', 'orphan', { hits: 20, users: ['orphan'] }))).toMatchObject({
      state: COMMITTED,
      late: true,
      unknown: false,
    });
    first.close();
    second.close();
    await Promise.all([one.stop(), other.stop()]);
    await redis.stop();
  });
});

/** A client of the service that Kuadrant's proxy plugin calls. */
class Plugin {
  private readonly client: Client;

  constructor(port: number) {
    this.client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }

  call(
    name: string,
    message: {
      readonly domain: string;
      readonly descriptors: readonly { readonly entries: readonly { readonly key: string; readonly value: string }[] }[];
    } & Record<string, unknown>,
  ): Promise<unknown> {
    const { path, requestSerialize, responseDeserialize } = loadProto().kuadrant[name]!;
    const descriptors = message.descriptors.map((descriptor) => ({
      entries: descriptor.entries.map(({ key, value }) => ({ key: Buffer.from(key), value: Buffer.from(value) })),
    }));
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: unknown) => {
        if (error === null) resolve(answer);
        else reject(error);
      };
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { ...message, domain: Buffer.from(message.domain), descriptors },
        done,
      );
    });
  }

  close(): void {
    this.client.close();
  }
}
