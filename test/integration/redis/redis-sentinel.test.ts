/** After the death of a Sentinel primary Weir decides on the next one without a restart, with the replicated counts. */

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { RedisSentinels } from '../../../src/state/store/redis/client/redis-sentinel';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { slowness } from '../../support/clock/slowness';
import { makeCertificates } from '../../support/servers/certificates';
import { groupOf, take } from '../../support/decisions/groups';
import { httpRequest } from '../../support/clients/http-client';
import { fencedBlocks } from '../../support/docs/markdown';
import { freePort } from '../../support/servers/ports';
import {
  MASTER_NAME,
  startSentinel,
  startSentinelGroup,
  until,
  type SentinelGroup,
  type SentinelProcess,
} from '../../support/redis/redis-sentinel';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions, type TestClient } from '../../support/redis/redis-store';
import { describeFromRedis7, testFromRedis7, testWithTls } from '../../support/redis/engine-tests';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 30_000;

/** From the moment that every sentinel names the new primary; with room for a busy machine. */
const FOLLOW_MS_MAX = 5_000;

/** For how long a sentinel that is silent may be waited for. */
const SILENT_MS_MAX = 5_000;

const LIMIT = 1_000_000;
const CONFIG = writeConfig(
  `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window } }]\n`,
);

const CONNECTED = 'connected to Redis at ';

type Environment = Readonly<Record<string, string>>;

interface Asked {
  readonly weir: WeirProcess;
  /** Charges one hit; what remains. Rejects if there is no decision. */
  readonly ask: () => Promise<number>;
}

/** A Weir of its own for `during`. */
async function withWeir<T>(env: Environment, during: (asked: Asked) => Promise<T>): Promise<T> {
  const weir = await startWeir({ config: CONFIG, env: { REDIS_TYPE: 'SENTINEL', REDIS_OP_TIMEOUT: '1s', ...env } });
  const client = new RlsClient(weir.grpcPort);
  const ask = async () => {
    const { overall_code: code, statuses } = await client.ask('d', [{ entries: { k: 'v' } }]);
    expect(code).toBe(OK);
    return statuses[0]!.limit_remaining;
  };
  try {
    const result = await during({ weir, ask });
    // Nothing that asks sentinels keeps the process.
    expect(await weir.stop()).toBe(0);
    return result;
  } finally {
    client.close();
    await weir.stop();
  }
}

/** A start waits a few seconds for Redis, and the primary of a sentinel takes more steps than that on a busy machine. */
function untilSaid(weir: WeirProcess, words: string): Promise<unknown> {
  return until(`Weir says ${words}`, CONNECT_TIMEOUT_MS, () => weir.output().includes(words) || undefined);
}

/** Resolves when Weir has said, for the `nth` time, that it is connected to this server; when. */
function untilConnected(weir: WeirProcess, { port }: { readonly port: number }, nth = 1): Promise<number> {
  return until(`Weir is connected to ${port}`, CONNECT_TIMEOUT_MS, () => (connections(weir, port) >= nth ? performance.now() : undefined));
}

/** How often it has said so. */
function connections(weir: WeirProcess, port: number): number {
  return weir.output().split(`connected to Redis at 127.0.0.1:${port}, the primary of ${MASTER_NAME}`).length - 1;
}

async function withAdmin<T>(port: number, during: (admin: TestClient) => Promise<T>): Promise<T> {
  const admin = await makeTestClient(port).connect();
  try {
    return await during(admin);
  } finally {
    admin.destroy();
  }
}

/** Resolves when both replicas have what the primary holds now. */
function untilCopied(primary: RedisServer): Promise<void> {
  return withAdmin(primary.port, async (admin) => {
    await admin.set('copied', '1');
    expect(await admin.wait(2, hangLimitMs(10_000))).toBe(2);
  });
}

function roleOf({ port }: RedisServer): Promise<unknown> {
  return withAdmin(port, async (admin) => ((await admin.sendCommand(['ROLE'])) as unknown as unknown[])[0]);
}

describe('a primary, two replicas, three sentinels', () => {
  let group: SentinelGroup;
  let primary: RedisServer;

  beforeEach(async () => {
    group = await startSentinelGroup();
    primary = group.servers[0]!;
  }, TIMEOUT_MS);

  afterEach(() => group.stop(), TIMEOUT_MS);

  test(
    'Weir decides on the primary, and after its death on the next one, with the replicated counts',
    async () => {
      await withWeir({ REDIS_URL: group.url }, async ({ weir, ask }) => {
        await untilConnected(weir, primary);
        expect([await ask(), await ask(), await ask()]).toEqual([LIMIT - 1, LIMIT - 2, LIMIT - 3]);
        await untilCopied(primary);
        primary.kill('SIGKILL');
        const { primary: next, atMs } = await group.untilMovedFrom(primary);
        const foundMs = await untilConnected(weir, next);
        expect(foundMs - atMs).toBeLessThan(FOLLOW_MS_MAX * slowness());
        expect(await ask()).toBe(LIMIT - 4);
        expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body).toBe('OK');
      });
    },
    TIMEOUT_MS,
  );

  test(
    'Weir leaves a stopped primary without a call, and sends it nothing when it resumes',
    async () => {
      await withWeir({ REDIS_URL: group.url }, async ({ weir, ask }) => {
        await untilConnected(weir, primary);
        expect(await ask()).toBe(LIMIT - 1);
        await untilCopied(primary);
        primary.kill('SIGSTOP');
        const { primary: next, atMs } = await group.untilMovedFrom(primary);
        expect((await untilConnected(weir, next)) - atMs).toBeLessThan(FOLLOW_MS_MAX * slowness());
        primary.kill('SIGCONT');
        expect(await roleOf(primary)).toBe('master');
        let charged = 1;
        await until('the old primary is told that it is none', CONNECT_TIMEOUT_MS, async () => {
          charged += 1;
          expect(await ask()).toBe(LIMIT - charged);
          // It ends all connections when it is told.
          const role = await roleOf(primary).catch(() => undefined);
          return role === 'slave' ? true : undefined;
        });
        expect(await ask()).toBe(LIMIT - charged - 1);
        expect([connections(weir, primary.port), connections(weir, next.port)]).toEqual([1, 1]);
      });
    },
    TIMEOUT_MS,
  );

  test(
    'under load Weir leaves a stopped primary when it goes silent, and finds the next',
    async () => {
      await withWeir({ REDIS_URL: group.url, REDIS_OP_TIMEOUT: '50ms' }, async ({ weir, ask }) => {
        await untilConnected(weir, primary);
        primary.kill('SIGSTOP');
        const moved = group.untilMovedFrom(primary);
        const end = new AbortController();
        const traffic = (async () => {
          while (!end.signal.aborted) await ask().catch(() => undefined);
        })();
        const { primary: next, atMs } = await moved;
        const foundMs = await untilConnected(weir, next);
        end.abort();
        await traffic;
        expect(foundMs - atMs).toBeLessThan(FOLLOW_MS_MAX * slowness());
        // By a machine that may be busy for longer than the 50 ms now and then.
        expect(await until('a decision', CONNECT_TIMEOUT_MS, () => ask().catch(() => undefined))).toBeLessThan(LIMIT);
      });
    },
    TIMEOUT_MS,
  );

  test(
    'Weir ignores sentinels that are down or silent',
    async () => {
      const [silent, ...others] = group.sentinels;
      silent!.kill('SIGSTOP');
      const ports = [await freePort(), silent!.port, ...others.map(({ port }) => port)];
      const url = [MASTER_NAME, ...ports.map((port) => `127.0.0.1:${port}`)].join(',');
      await withWeir({ REDIS_URL: url }, async ({ weir, ask }) => {
        await untilConnected(weir, primary);
        expect(await ask()).toBe(LIMIT - 1);
      });
    },
    TIMEOUT_MS,
  );
});

describe('one sentinel', () => {
  const open: { stop(): Promise<unknown> }[] = [];

  afterEach(() => Promise.all(open.splice(0).map((each) => each.stop())));

  interface Pair {
    readonly redis: RedisServer;
    readonly sentinel: SentinelProcess;
    /** As REDIS_URL takes it. */
    readonly url: string;
  }

  async function startPair({
    host = '127.0.0.1',
    config = [] as readonly string[],
    redisConfig = [] as readonly string[],
    port = 0,
  } = {}): Promise<Pair> {
    const redis = await startRedis({ config: redisConfig });
    open.push(redis);
    const sentinel = await startSentinel({ watches: { host, port: port || redis.port, quorum: 1 }, config });
    open.push(sentinel);
    return { redis, sentinel, url: `${MASTER_NAME},127.0.0.1:${sentinel.port}` };
  }

  test('a sentinel that does not know the name is logged, and Weir decides as soon as it does', async () => {
    const { redis, sentinel } = await startPair();
    await withWeir({ REDIS_URL: `other,127.0.0.1:${sentinel.port}` }, async ({ weir, ask }) => {
      await untilSaid(weir, `no sentinel names a primary: 127.0.0.1:${sentinel.port} does not know the master other`);
      await expect(ask()).rejects.toMatchObject({ details: 'Redis is not connected' });
      expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body).toBe('OK\ndegraded: redis\n');
      await sentinel.client.sendCommand(['SENTINEL', 'MONITOR', 'other', '127.0.0.1', String(redis.port), '1']);
      await until('a decision', CONNECT_TIMEOUT_MS, () => ask().catch(() => undefined));
    });
  });

  test('an absent sentinel is logged, and Weir uses it once it is there', async () => {
    const port = await freePort();
    await withWeir({ REDIS_URL: `${MASTER_NAME},127.0.0.1:${port}` }, async ({ weir }) => {
      await untilSaid(weir, `no sentinel names a primary: 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`);
    });
  });

  // Redis 6.0 knows no host names there, nor users.
  testFromRedis7('Weir resolves a host name that a sentinel returns', async () => {
    const config = ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'];
    const { redis, url } = await startPair({ host: 'localhost', config });
    await withWeir({ REDIS_URL: url }, async ({ weir, ask }) => {
      await untilSaid(weir, `connected to Redis at localhost:${redis.port}, the primary of ${MASTER_NAME}`);
      expect(await ask()).toBe(LIMIT - 1);
    });
  });

  const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'));
  (hasIpv6 ? test : test.skip)('has an IPv6 address, and names one', async () => {
    const { redis, sentinel } = await startPair({
      host: '::1',
      config: ['bind 127.0.0.1 ::1'],
      redisConfig: ['--bind', '127.0.0.1', '::1'],
    });
    await withWeir({ REDIS_URL: `${MASTER_NAME},[::1]:${sentinel.port}` }, async ({ weir, ask }) => {
      await untilSaid(weir, CONNECTED);
      expect(weir.output()).toContain(
        `connected to Redis at [::1]:${redis.port}, the primary of ${MASTER_NAME}, asking the sentinels [::1]:`,
      );
      expect(await ask()).toBe(LIMIT - 1);
    });
  });

  testWithTls('a sentinel speaks TLS, as the primary does', async () => {
    const { ca, server } = makeCertificates();
    const [redisTls, sentinelTls] = [await freePort(), await freePort()];
    const files = [`tls-cert-file ${server.cert}`, `tls-key-file ${server.key}`, `tls-ca-cert-file ${ca.cert}`, 'tls-auth-clients no'];
    await startPair({
      port: redisTls,
      config: [`tls-port ${sentinelTls}`, 'tls-replication yes', ...files],
      redisConfig: ['--tls-port', String(redisTls), ...files.flatMap((line) => `--${line}`.split(' '))],
    });
    const env = { REDIS_URL: `${MASTER_NAME},127.0.0.1:${sentinelTls}`, REDIS_TLS: 'true', REDIS_TLS_CACERT: ca.cert };
    await withWeir(env, async ({ weir, ask }) => {
      await untilSaid(weir, CONNECTED);
      expect(await ask()).toBe(LIMIT - 1);
    });
  });

  // Redis 6 does not check it for writes of scripts.
  testFromRedis7('Weir decides with a primary without replicas, which rejects writes under min-replicas-to-write', async () => {
    const { url } = await startPair({ redisConfig: ['--min-replicas-to-write', '1'] });
    await withWeir({ REDIS_URL: url }, async ({ weir, ask }) => {
      await untilSaid(weir, CONNECTED);
      await expect(ask()).rejects.toMatchObject({ details: 'Redis answered the error NOREPLICAS' });
    });
  });

  describeFromRedis7('with the rights of docs/redis.md', () => {
    const lines = fencedBlocks('docs/redis.md', 'text')
      .filter((block) => block.startsWith('user weir '))
      .map((block) => block.trim().split(' ').slice(2));
    const onServer = lines[0]!.map((rule) => (rule.startsWith('~') ? '~*' : rule));
    const onSentinel = lines[1]!;

    /** What the log of Weir says, once it `says` so much, and what the ACL logs hold, if these are the rights of the user weir. */
    async function use({ server = [...onServer, '+role'], sentinel = onSentinel, auth = 'weir:PASSWORD', says = CONNECTED }) {
      const pair = await startPair();
      const { client } = pair.sentinel;
      return withAdmin(pair.redis.port, async (admin) => {
        await admin.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...server]);
        await client.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...sentinel]);
        await client.sendCommand(['ACL', 'SETUSER', 'default', 'resetpass', '>another']);
        const env = { REDIS_URL: pair.url, REDIS_AUTH: 'weir:PASSWORD', ...(auth !== '' && { REDIS_SENTINEL_AUTH: auth }) };
        return withWeir(env, async ({ weir, ask }) => {
          await untilSaid(weir, says);
          const isDecided = await ask().then(
            () => true,
            () => false,
          );
          return { isDecided, log: weir.output(), refused: [...(await refusals(admin)), ...(await refusals(client))] };
        });
      });
    }

    async function refusals(client: TestClient): Promise<string[]> {
      const entries = (await client.aclLog()) as unknown as readonly { readonly object: string }[];
      return entries.map(({ object }) => object);
    }

    test('Weir decides', async () => {
      expect(readFileSync('docs/redis.md', 'utf8')).toContain('`+role`');
      expect(await use({})).toMatchObject({ isDecided: true, refused: [] });
    });

    test('Weir decides without +role, and the ACL log of Redis shows the denied command', async () => {
      expect(await use({ server: onServer })).toMatchObject({ isDecided: true, refused: ['role'] });
    });

    test('Weir decides without +ping on the sentinel, and its ACL log shows the denied command', async () => {
      expect(await use({ sentinel: onSentinel.filter((rule) => rule !== '+ping') })).toMatchObject({ isDecided: true, refused: ['ping'] });
    });

    test('Weir cannot decide without the query for the primary, and the log names it', async () => {
      const { isDecided, log } = await use({
        sentinel: onSentinel.filter((rule) => !rule.startsWith('+sentinel')),
        says: 'no Redis at ',
      });
      expect([isDecided, log]).toEqual([false, expect.stringMatching(/127\.0\.0\.1:\d+: Redis answered the error NOPERM/)]);
    });

    test.each([
      ['', 'NOAUTH Authentication required'],
      ['weir:wrong', 'WRONGPASS'],
    ])('the log reports a missing or wrong password (%j)', async (auth, reason) => {
      const { isDecided, log } = await use({ auth, says: reason });
      expect([isDecided, log.split(reason).length - 1]).toEqual([false, 1]);
      expect(log).not.toContain('wrong ');
    });
  });
});

describe('sentinels that disagree', () => {
  const sentinels: SentinelProcess[] = [];
  let asked: RedisSentinels;

  beforeEach(async () => {
    sentinels.push(...(await Promise.all([1, 2, 3, 4].map(() => startSentinel()))));
    asked = new RedisSentinels({
      masterName: MASTER_NAME,
      sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      auth: {},
      toSocket: (address) => address,
      connectTimeoutMs: SILENT_MS_MAX,
    });
  });

  afterEach(async () => {
    asked.close();
    await Promise.all(sentinels.splice(0).map((each) => each.stop()));
  });

  async function name(sentinel: SentinelProcess | undefined, port: number): Promise<void> {
    await sentinel!.client.sendCommand(['SENTINEL', 'MONITOR', MASTER_NAME, '127.0.0.1', String(port), '2']);
  }

  test('a minority of sentinels is outvoted, one that knows is enough, and none that knows is an error', async () => {
    const [first, second, third, fourth] = sentinels;
    await expect(asked.locate()).rejects.toThrow(
      /^no sentinel names a primary: (127\.0\.0\.1:\d+ does not know the master mymaster(; |$)){4}/,
    );
    await name(first, 1_111);
    expect(await asked.locate()).toEqual({ address: '127.0.0.1:1111', socket: { host: '127.0.0.1', port: 1_111 }, isAgreed: false });
    await name(second, 2_222);
    await name(third, 2_222);
    expect(await asked.locate()).toMatchObject({ address: '127.0.0.1:2222' });
    await name(fourth, 2_222);
    // The one that is outvoted answers first.
    for (const slow of [second, third, fourth]) slow!.kill('SIGSTOP');
    const located = asked.locate();
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const slow of [second, third, fourth]) slow!.kill('SIGCONT');
    expect(await located).toMatchObject({ address: '127.0.0.1:2222', isAgreed: true });
    first!.kill('SIGSTOP');
    const startedMs = performance.now();
    expect(await asked.locate()).toMatchObject({ address: '127.0.0.1:2222' });
    // It does not wait for the silent one.
    expect(performance.now() - startedMs).toBeLessThan(SILENT_MS_MAX * slowness());
    for (const silent of [third, fourth]) silent!.kill('SIGSTOP');
    expect(await asked.locate()).toMatchObject({ address: '127.0.0.1:2222' });
  });
});

describe('a locator', () => {
  const servers: RedisServer[] = [];
  const stores: RedisStore[] = [];

  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  interface LocatorOptions {
    /** The second answer waits for it. */
    readonly second?: Promise<void>;
    readonly isAgreed?: boolean;
    /** For one that does not come to be connected. */
    readonly waitMs?: number;
  }

  /** A store whose locator names these servers one after the other, and then the last one again and again. */
  async function openStore(
    named: readonly RedisServer[],
    { second = Promise.resolve(), isAgreed = true, waitMs = CONNECT_TIMEOUT_MS }: LocatorOptions = {},
  ) {
    const told: string[] = [];
    let asked = 0;
    const store = new RedisStore({
      ...storeOptions(0),
      locator: {
        locate: async () => {
          const { port } = named[Math.min(asked, named.length - 1)]!;
          asked += 1;
          if (asked === 2) await second;
          return { address: `127.0.0.1:${port}`, socket: { host: '127.0.0.1', port }, isAgreed };
        },
        close: () => undefined,
      },
      onConnection: ({ connected, address, cause }) => told.push(connected ? `connected to ${String(address)}` : String(cause)),
    });
    stores.push(store);
    await store.connect({ waitMs });
    return { store, told, questions: () => asked };
  }

  async function startTwo(): Promise<readonly [RedisServer, RedisServer]> {
    const [one, other] = [await startRedis(), await startRedis()];
    servers.push(one, other);
    return [one, other];
  }

  test('Weir counts nothing on the first server if the locator then names another one', async () => {
    const [one, other] = await startTwo();
    const { told } = await openStore([one, other]);
    expect(told).toEqual([`the primary moved to 127.0.0.1:${other.port}`, `connected to 127.0.0.1:${other.port}`]);
  });

  test('Weir counts nothing on a server while the locator is still asked whether it is the primary', async () => {
    const [one] = await startTwo();
    let answer!: () => void;
    const second = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { store, told } = await openStore([one], { second, waitMs: 1_000 });
    await expect(store.take([groupOf([take('k')])])).rejects.toThrow('Redis is not connected');
    expect(told).toEqual([]);
    answer();
    await until('connected', 10_000, () => told.length === 1 || undefined);
    await store.take([groupOf([take('k')])]);
  });

  test('Weir moves its connection without a call when the locator names another server', async () => {
    const [one, other] = await startTwo();
    const { store, told } = await openStore([one, one, other]);
    await until('the connection has moved', 10_000, () => told.at(-1) === `connected to 127.0.0.1:${other.port}` || undefined);
    expect(told).toHaveLength(3);
    await store.take([groupOf([take('k')])]);
    await withAdmin(other.port, async (admin) => {
      expect(await admin.keys('*')).toEqual(['k']);
    });
  });

  test('Weir keeps a working connection when only a minority names another server', async () => {
    const [one, other] = await startTwo();
    const { store, told, questions } = await openStore([one, one, other], { isAgreed: false });
    await until('it was asked several times', 10_000, () => questions() >= 5 || undefined);
    expect(told).toEqual([`connected to 127.0.0.1:${one.port}`]);
    // Once lost, there is no better word.
    one.kill('SIGKILL');
    await until('the connection has moved', 10_000, () => told.at(-1) === `connected to 127.0.0.1:${other.port}` || undefined);
    await store.take([groupOf([take('k')])]);
  });

  test('Weir counts nothing on a replica', async () => {
    const [one, other] = await startTwo();
    await withAdmin(other.port, (admin) => admin.sendCommand(['REPLICAOF', '127.0.0.1', String(one.port)]));
    const { store, told } = await openStore([other], { waitMs: 1_000 });
    expect(new Set(told)).toEqual(new Set([`127.0.0.1:${other.port} is a slave, not a primary`]));
    expect(told.length).toBeLessThan(20);
    await expect(store.take([groupOf([take('k')])])).rejects.toThrow('Redis is not connected');
  });
});
