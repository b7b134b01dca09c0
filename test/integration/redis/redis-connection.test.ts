/** Weir connects to Redis over verified TLS or a unix socket, with the rights of docs/redis.md and rotated passwords. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from 'node:tls';
import type { ServiceError } from '@grpc/grpc-js';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { readAclLine, rightsOfNewer } from '../../support/docs/acl-line';
import { makeCertificates, type Pair } from '../../support/servers/certificates';
import { groupOf, LIMITS, take } from '../../support/decisions/groups';
import { freePort } from '../../support/servers/ports';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions, type TestClient } from '../../support/redis/redis-store';
import { testWithTls } from '../../support/redis/engine-tests';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig, writeText } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 60_000;

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 1000 } }]\n');

type Environment = Readonly<Record<string, string>>;

interface Asked {
  readonly weir: WeirProcess;
  /** The code of one decision; rejects if there is none. */
  readonly ask: () => Promise<number>;
}

/** A Weir of its own for `during`. */
async function withWeir<T>(env: Environment, during: (asked: Asked) => Promise<T>): Promise<T> {
  const weir = await startWeir({ config: CONFIG, env: { REDIS_OP_TIMEOUT: '1s', ...env } });
  const client = new RlsClient(weir.grpcPort);
  try {
    return await during({ weir, ask: async () => (await client.ask('d', [{ entries: { k: 'v' } }])).overall_code });
  } finally {
    client.close();
    await weir.stop();
  }
}

/** The log may name the fault of a connection only after the start: waits for the line. */
async function untilTold(weir: WeirProcess, cause: string | RegExp): Promise<void> {
  await until(() => (typeof cause === 'string' ? weir.output().includes(cause) : cause.test(weir.output())));
  expect(weir.output()).toMatch(cause);
}

/** Tries until a call is answered; resolves to its code. */
async function untilAnswered(ask: () => Promise<number>): Promise<number | undefined> {
  let code: number | undefined;
  await until(async () => {
    code = await ask().catch(() => undefined);
    return code !== undefined;
  });
  return code;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe('TLS', () => {
  const { ca, otherCa, server, elsewhere, client } = makeCertificates();
  const identity = { REDIS_TLS_CLIENT_CERT: client.cert, REDIS_TLS_CLIENT_KEY: client.key };
  const open: RedisServer[] = [];

  afterEach(() => Promise.all(open.splice(0).map((redis) => redis.stop())));

  /** The port on which a new Redis speaks TLS. */
  async function startTlsRedis({ pair, clients = 'no' }: { pair: Pair; clients?: 'yes' | 'no' }): Promise<number> {
    const port = await freePort();
    const files = ['--tls-cert-file', pair.cert, '--tls-key-file', pair.key, '--tls-ca-cert-file', ca.cert];
    open.push(await startRedis({ config: ['--tls-port', String(port), ...files, '--tls-auth-clients', clients] }));
    return port;
  }

  async function decides(env: Environment): Promise<void> {
    await withWeir(env, async ({ weir, ask }) => {
      expect(await untilAnswered(ask)).toBe(OK);
      expect(weir.output()).toContain('connected to Redis at rediss://');
    });
  }

  async function isRefused(env: Environment, cause: string | RegExp): Promise<void> {
    await withWeir(env, async ({ weir, ask }) => {
      await expect(ask()).rejects.toMatchObject({ details: 'Redis is not connected' });
      await untilTold(weir, cause);
      expect(weir.output()).not.toContain('connected to Redis at');
    });
  }

  testWithTls(
    'Weir decides over TLS, enabled by REDIS_TLS or by the URL',
    async () => {
      const port = await startTlsRedis({ pair: server });
      await decides({ REDIS_URL: `127.0.0.1:${port}`, REDIS_SOCKET_TYPE: 'tcp', REDIS_TLS: 'true', REDIS_TLS_CACERT: ca.cert });
      await decides({ REDIS_URL: `rediss://localhost:${port}`, REDIS_TLS_CACERT: ca.cert });
    },
    TIMEOUT_MS,
  );

  testWithTls(
    'a port that speaks TLS and a client that does not, or the other way round: the log says what to set',
    async () => {
      const port = await startTlsRedis({ pair: server });
      await isRefused({ REDIS_URL: `127.0.0.1:${port}` }, '; if this port speaks TLS, set REDIS_TLS=true');
      const plain = await startRedis();
      open.push(plain);
      await isRefused({ REDIS_URL: `rediss://127.0.0.1:${plain.port}` }, '; if this port speaks no TLS, use redis:// without REDIS_TLS');
    },
    TIMEOUT_MS,
  );

  testWithTls(
    'a certificate of another authority is rejected, even with an unverified host, and the log says why',
    async () => {
      const url = { REDIS_URL: `rediss://127.0.0.1:${await startTlsRedis({ pair: server })}` };
      await isRefused({ ...url, REDIS_TLS_CACERT: otherCa.cert }, 'self-signed certificate in certificate chain');
      const skip = { REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' };
      await isRefused({ ...url, REDIS_TLS_CACERT: otherCa.cert, ...skip }, 'self-signed certificate in certificate chain');
      await isRefused(url, 'self-signed certificate in certificate chain');
    },
    TIMEOUT_MS,
  );

  testWithTls(
    'an authority of the system is trusted, and the log names an untrusted one',
    async () => {
      const url = { REDIS_URL: `rediss://127.0.0.1:${await startTlsRedis({ pair: server })}` };
      await decides({ ...url, SSL_CERT_FILE: ca.cert });
      await isRefused({ ...url, SSL_CERT_FILE: otherCa.cert, SSL_CERT_DIR: '/nowhere' }, `that Node brings, 1 more in ${otherCa.cert}`);
      await isRefused(
        { ...url, SSL_CERT_FILE: ca.cert, REDIS_TLS_CACERT: otherCa.cert },
        'trusted authorities: only those of REDIS_TLS_CACERT',
      );
    },
    TIMEOUT_MS,
  );

  testWithTls(
    'a certificate of another host is rejected, and accepted with REDIS_TLS_SKIP_HOSTNAME_VERIFICATION',
    async () => {
      const env = { REDIS_URL: `rediss://127.0.0.1:${await startTlsRedis({ pair: elsewhere })}`, REDIS_TLS_CACERT: ca.cert };
      await isRefused(env, "does not match certificate's altnames");
      await decides({ ...env, REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' });
    },
    TIMEOUT_MS,
  );

  testWithTls(
    'a Redis that requires a client certificate gets it, or rejects the connection',
    async () => {
      const port = await startTlsRedis({ pair: server, clients: 'yes' });
      const env = { REDIS_URL: `rediss://127.0.0.1:${port}`, REDIS_TLS_CACERT: ca.cert };
      await decides({ ...env, ...identity });
      // Redis says why and hangs up at once: what is noticed first is a matter of luck.
      await isRefused(env, /alert certificate required|ECONNRESET|EPIPE|Socket closed/);
    },
    TIMEOUT_MS,
  );

  testWithTls(
    'files that change are read again for the next connection, and unusable ones leave those before in use',
    async () => {
      const port = await startTlsRedis({ pair: server, clients: 'yes' });
      const trusted = path.join(mkdtempSync(path.join(tmpdir(), 'weir-ca-')), 'ca.pem');
      const replace = (text: string | Buffer) => {
        writeFileSync(trusted, text);
      };
      replace(readFileSync(otherCa.cert));
      const env = { REDIS_URL: `rediss://127.0.0.1:${port}`, REDIS_TLS_CACERT: trusted, ...identity };
      await withWeir(env, async ({ weir, ask }) => {
        await expect(ask()).rejects.toMatchObject({ details: 'Redis is not connected' });
        await untilTold(weir, 'self-signed certificate in certificate chain');
        replace('half of a file');
        await untilTold(weir, 'cannot be used, so those before stay in use: REDIS_TLS_CACERT');
        replace(readFileSync(ca.cert));
        expect(await untilAnswered(ask)).toBe(OK);
        expect(weir.output()).toContain('were read again');
      });
    },
    TIMEOUT_MS,
  );

  test(
    'the log reports a port without TLS',
    async () => {
      const redis = await startRedis();
      open.push(redis);
      await isRefused({ REDIS_URL: `rediss://127.0.0.1:${redis.port}` }, /Connection timeout|no answer within/);
    },
    TIMEOUT_MS,
  );

  test(
    'Weir sends the host name as SNI, so that one address can serve several',
    async () => {
      const names: unknown[] = [];
      const listener = createServer({ cert: readFileSync(server.cert), key: readFileSync(server.key) });
      listener.on('secureConnection', (socket) => {
        names.push((socket as { servername?: unknown }).servername);
        socket.destroy();
      });
      await new Promise<void>((resolve) => listener.listen(0, 'localhost', resolve));
      const { port } = listener.address() as AddressInfo;
      await withWeir({ REDIS_URL: `rediss://localhost:${port}`, REDIS_TLS_CACERT: ca.cert }, () => Promise.resolve());
      expect(names[0]).toBe('localhost');
      listener.close();
    },
    TIMEOUT_MS,
  );
});

test(
  'Weir decides over a unix socket',
  async () => {
    const socket = path.join(mkdtempSync(path.join(tmpdir(), 'weir-socket-')), 'redis.sock');
    const redis = await startRedis({ config: ['--unixsocket', socket] });
    await withWeir({ REDIS_URL: socket }, async ({ weir, ask }) => {
      expect(await ask()).toBe(OK);
      expect(weir.output()).toContain(`connected to Redis at unix socket ${socket}`);
    });
    await redis.stop();
  },
  TIMEOUT_MS,
);

test('a command sets no timer of the client library, since each would be kept for seconds', async () => {
  const redis = await startRedis();
  const store = new RedisStore(storeOptions(redis.port));
  const timeouts = jest.spyOn(AbortSignal, 'timeout');
  try {
    await store.connect({ waitMs: hangLimitMs(5_000) });
    for (let call = 0; call < 3; call += 1) await store.take([groupOf([take('bucket')])]);
    expect(timeouts).not.toHaveBeenCalled();
  } finally {
    timeouts.mockRestore();
    await store.close();
    await redis.stop();
  }
});

describe('the ACL line of docs/redis.md', () => {
  const { rules, prefix } = readAclLine();
  /** Weir decides without these; the ACL log of Redis has an entry for every connection, or for every run that asks for several buckets or charges a fixed window again. */
  const dispensable = ['+ping', '+script|load', '+mget', '+exists', '+incrby'];
  /** The watch for evictions asks on its own time, so the ACL log may not show it yet (eviction.test.ts). */
  const rights = rules.filter((rule) => (rule.startsWith('+') && rule !== '+info') || rule.startsWith('~'));
  let redis: RedisServer;
  let admin: TestClient;

  beforeAll(async () => {
    redis = await startRedis();
    admin = makeTestClient(redis.port);
    await admin.connect();
  });

  afterAll(async () => {
    admin.destroy();
    await redis.stop();
  });

  interface Outcome {
    /** Why there was no decision. */
    readonly failure?: string;
    /** What Redis's ACL log holds of it. */
    readonly refused: readonly string[];
  }

  /** All that Weir ever does to Redis, as a user with these rules: a charge, a refund that makes the key go, lost scripts. */
  async function use(rulesOfAll: readonly string[], database = 0): Promise<Outcome> {
    const ruleSet = [...rulesOfAll, ...(await rightsOfNewer(admin))];
    await admin.flushAll();
    await admin.scriptFlush();
    await admin.sendCommand(['ACL', 'LOG', 'RESET']);
    await admin.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...ruleSet]);
    const options = storeOptions(redis.port);
    const server = { ...options.server, username: 'weir', password: 'PASSWORD', database };
    let told = (): void => undefined;
    const isTold = new Promise<void>((resolve) => (told = resolve));
    const store = new RedisStore({ ...options, server, onConnection: told });
    const charge = async (hits: number) => {
      const [outcome] = await store.take([groupOf([take(`${prefix}bucket`, { hits })])]);
      if (outcome instanceof Error) throw outcome;
    };
    let failure: string | undefined;
    try {
      // Whether it is connected, or why not.
      await Promise.all([store.connect({ waitMs: 0 }), isTold]);
      for (const hits of [1, -1, 1]) await charge(hits);
      const outcomes = [...(await store.take([groupOf([take(`${prefix}bucket`), take(`${prefix}other`)])]))];
      for (let hit = 0; hit < 2; hit += 1)
        outcomes.push(...(await store.take([groupOf([take(`${prefix}window`, { limit: LIMITS.fixed_window })])])));
      for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
      await admin.scriptFlush();
      await charge(1);
    } catch (error) {
      failure = (error as Error).message;
    }
    await store.close();
    const entries = (await admin.aclLog()) as unknown as readonly { readonly object: string }[];
    return { ...(failure !== undefined && { failure }), refused: entries.map(({ object }) => object) };
  }

  test('the ACL line is enough', async () => {
    expect(rights.length).toBeGreaterThan(5);
    expect(await use(rules)).toEqual({ refused: [] });
  });

  test.each(rights.filter((right) => !dispensable.includes(right)))('Weir cannot decide without %s', async (right) => {
    const { failure, refused } = await use(rules.filter((rule) => rule !== right));
    expect(failure).toMatch(/^Redis answered the error (NOPERM.*|ERR)$|^the key of a bucket holds a value that Weir did not write$/);
    expect(refused).toEqual([right.startsWith('~') ? `${prefix}bucket` : right.slice(1)]);
  });

  test.each(dispensable)('Weir decides without %s, and the ACL log of Redis shows the denied command', async (right) => {
    const [name = ''] = right.slice(1).split('|');
    // Redis 6 names the command without its subcommand.
    const logged = [{ refused: [right.slice(1)] }, { refused: [name] }];
    expect(logged).toContainEqual(await use(rules.filter((rule) => rule !== right)));
  });

  test('another database needs +select', async () => {
    expect((await use(rules, 1)).failure).toBe('Redis is not connected');
    expect(await use([...rules, '+select'], 1)).toEqual({ refused: [] });
  });
});

test(
  'a Redis that becomes unavailable for a second reason is logged again, once',
  async () => {
    const redis = await startRedis();
    try {
      await withWeir({ REDIS_URL: `redis://127.0.0.1:${redis.port}` }, async ({ weir, ask }) => {
        expect(await ask()).toBe(OK);
        const admin = makeTestClient(redis.port);
        await admin.connect();
        await admin.sendCommand(['CONFIG', 'SET', 'requirepass', 'new']);
        await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
        admin.destroy();
        await untilTold(weir, 'NOAUTH');
        // Long enough for a few more attempts.
        await pause(500);
        expect(weir.output().match(/no Redis at/g)).toHaveLength(2);
        expect(weir.output()).toMatch(
          /ERROR: no Redis at .*: failure modes decide until it is back[^]*ERROR: still no Redis at redis:.*\(NOAUTH /,
        );
      });
    } finally {
      await redis.stop();
    }
  },
  TIMEOUT_MS,
);

describe('REDIS_AUTH_FILE', () => {
  let redis: RedisServer;
  let admin: TestClient;

  beforeEach(async () => {
    redis = await startRedis();
    admin = makeTestClient(redis.port);
    await admin.connect();
    await setPassword('one');
  });

  afterEach(async () => {
    admin.destroy();
    await redis.stop();
  });

  async function setPassword(password: string): Promise<void> {
    await admin.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', 'on', `>${password}`, '~*', '+@all']);
  }

  async function cutConnections(): Promise<void> {
    await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal']);
  }

  test(
    'the next connection uses a password that changes in Redis and in the file',
    async () => {
      const file = writeText('weir:one\n');
      await withWeir({ REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_AUTH_FILE: file }, async ({ weir, ask }) => {
        expect(await ask()).toBe(OK);
        await setPassword('two');
        await cutConnections();
        // Weir may learn of it later than we do.
        await until(() =>
          ask().then(
            () => false,
            (error: unknown) => (error as ServiceError).details === 'Redis is not connected',
          ),
        );
        writeFileSync(file, 'weir:two\n');
        expect(await untilAnswered(ask)).toBe(OK);

        // Lost later, it is told, and what it held serves on.
        rmSync(file);
        await cutConnections();
        expect(await untilAnswered(ask)).toBe(OK);
        expect(weir.output()).toContain(
          `REDIS_AUTH_FILE: ${file} can't be read (ENOENT); Weir keeps using the last password that it read.`,
        );
        expect(weir.output()).not.toMatch(/weir:|\bone\b|\btwo\b/);
      });
    },
    TIMEOUT_MS,
  );

  test(
    'the order in docs/redis.md fails no call',
    async () => {
      const file = writeText('weir:one');
      await withWeir({ REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_AUTH_FILE: file }, async ({ ask }) => {
        await admin.sendCommand(['ACL', 'SETUSER', 'weir', '>two']);
        expect(await ask()).toBe(OK);
        writeFileSync(file, 'weir:two');
        expect(await ask()).toBe(OK);
        await admin.sendCommand(['ACL', 'SETUSER', 'weir', '<one']);
        expect(await ask()).toBe(OK);
        await cutConnections();
        expect(await untilAnswered(ask)).toBe(OK);
      });
    },
    TIMEOUT_MS,
  );

  test(
    'the log reports a wrong password',
    async () => {
      const env = { REDIS_URL: `redis://weir@127.0.0.1:${redis.port}`, REDIS_AUTH: 'three' };
      await withWeir(env, async ({ weir, ask }) => {
        await expect(ask()).rejects.toMatchObject({ details: 'Redis is not connected' });
        await untilTold(weir, 'WRONGPASS');
      });
    },
    TIMEOUT_MS,
  );
});
