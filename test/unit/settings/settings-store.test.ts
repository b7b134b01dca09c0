/** The settings choose the store and the way to Redis, or an error names what is missing. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RedisAuthFile } from '../../../src/configuration/settings/redis/redis-auth';
import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';
import { SettingsError } from '../../../src/configuration/settings/table/settings-error';
import { chooseStore } from '../../../src/configuration/settings/redis/store-choice';
import { makeCertificates } from '../../support/servers/certificates';
import { writeText } from '../../support/config/temp-config';
import type { RedisTlsMaterial } from '../../../src/configuration/settings/redis/redis-tls';

const reread = expect.any(Function) as () => RedisTlsMaterial;

const SECRET = 'hunter2';

const NO_WINDOW = { windowMs: 0, limit: 0 };

function connectionOf(env: Environment): unknown {
  const choice = chooseStore(readSettings(env));
  return choice.kind === 'redis' ? choice.connection : choice;
}

describe('The store is', () => {
  test('memory with a warning if nothing is set', () => {
    expect(chooseStore(readSettings({}))).toEqual({ kind: 'memory', warning: expect.stringContaining('set REDIS_URL') as string });
  });

  test('memory without a warning if it is configured', () => {
    expect(chooseStore(readSettings({ BACKEND_TYPE: 'memory', RUNTIME_ROOT: '/r', REDIS_URL: 'h:1' }))).toEqual({ kind: 'memory' });
  });

  test('rejected if the configuration comes from a management server and no store is configured', () => {
    const why = 'neither it nor REDIS_URL is set, but CONFIG_TYPE is GRPC_XDS_SOTW: several instances would each keep their own counts';
    expect(() => chooseStore(readSettings({ CONFIG_TYPE: 'GRPC_XDS_SOTW', RUNTIME_ROOT: '/r' }))).toThrow(why);
    expect(chooseStore(readSettings({ CONFIG_TYPE: 'GRPC_XDS_SOTW', BACKEND_TYPE: 'memory' }))).toEqual({ kind: 'memory' });
  });

  test('rejected if RUNTIME_ROOT is set alone', () => {
    expect(() => chooseStore(readSettings({ RUNTIME_ROOT: '/r' }))).toThrow(SettingsError);
  });

  const plain = { tls: false, database: 0 };
  test.each<[Environment, object]>([
    [
      { BACKEND_TYPE: 'redis' },
      { ...plain, place: { path: '/var/run/nutcracker/ratelimit.sock' }, description: 'unix socket /var/run/nutcracker/ratelimit.sock' },
    ],
    [{ REDIS_URL: 'h:1' }, { ...plain, place: { host: 'h', port: 1 }, description: 'redis://h:1/0' }],
    [{ REDIS_URL: '/tmp/r.sock' }, { ...plain, place: { path: '/tmp/r.sock' }, description: 'unix socket /tmp/r.sock' }],
    [
      { REDIS_URL: 'h:1', REDIS_SOCKET_TYPE: 'tcp', REDIS_AUTH: SECRET },
      { ...plain, place: { host: 'h', port: 1 }, password: SECRET, description: 'redis://h:1/0' },
    ],
    [
      { REDIS_URL: '[::1]:7', REDIS_SOCKET_TYPE: 'tcp', REDIS_AUTH: 'u:p:q' },
      { ...plain, place: { host: '::1', port: 7 }, username: 'u', password: 'p:q', description: 'redis://[::1]:7/0' },
    ],
    [{ REDIS_URL: 'redis://h' }, { ...plain, place: { host: 'h', port: 6379 }, description: 'redis://h:6379/0' }],
    [
      { REDIS_URL: `rediss://u:${SECRET}%21@[::1]:7/3` },
      {
        tls: { verifyHostname: true, reread },
        database: 3,
        place: { host: '::1', port: 7 },
        username: 'u',
        password: `${SECRET}!`,
        description: 'rediss://[::1]:7/3',
      },
    ],
    [
      { REDIS_URL: 'redis://u:old@h', REDIS_AUTH: SECRET },
      { ...plain, place: { host: 'h', port: 6379 }, username: 'u', password: SECRET, description: 'redis://h:6379/0' },
    ],
    [
      { REDIS_URL: 'h:1', REDIS_SOCKET_TYPE: 'tcp', REDIS_TLS: 'true', REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' },
      {
        tls: { verifyHostname: false, reread },
        database: 0,
        place: { host: 'h', port: 1 },
        description: 'rediss://h:1/0',
      },
    ],
    [
      { REDIS_TYPE: 'SENTINEL', REDIS_URL: 'my.master_1,h1:26379', REDIS_AUTH: SECRET },
      {
        ...plain,
        place: { masterName: 'my.master_1', sentinels: [{ host: 'h1', port: 26379 }], auth: {} },
        password: SECRET,
        description: 'my.master_1, asking the sentinels h1:26379',
      },
    ],
    [
      { REDIS_TYPE: 'sentinel', REDIS_URL: 'm, h:1, [::1]:2', REDIS_SENTINEL_AUTH: `u:${SECRET}`, REDIS_TLS: 'true' },
      {
        tls: { verifyHostname: true, reread },
        database: 0,
        place: {
          masterName: 'm',
          sentinels: [
            { host: 'h', port: 1 },
            { host: '::1', port: 2 },
          ],
          auth: { username: 'u', password: SECRET },
        },
        description: 'm, asking the sentinels h:1, [::1]:2',
      },
    ],
    [
      { REDIS_TYPE: 'Cluster', REDIS_URL: 'h:1, [::1]:2', REDIS_AUTH: SECRET },
      {
        ...plain,
        place: {
          seeds: [
            { host: 'h', port: 1 },
            { host: '::1', port: 2 },
          ],
        },
        password: SECRET,
        description: 'the cluster of h:1, [::1]:2',
      },
    ],
    [
      { REDIS_URL: 'redis://h', REDIS_TLS: '1' },
      {
        tls: { verifyHostname: true, reread },
        database: 0,
        place: { host: 'h', port: 6379 },
        description: 'rediss://h:6379/0',
      },
    ],
  ])('Redis for %j', (env, connection) => {
    expect(connectionOf(env)).toEqual({ ...connection, pipeline: NO_WINDOW });
  });

  test.each<[Environment, string]>([
    [{ REDIS_URL: SECRET }, 'neither host:port nor a path; add the port, as in host:6379'],
    [{ REDIS_URL: SECRET, REDIS_SOCKET_TYPE: 'tcp' }, 'write it as host:6379'],
    [{ REDIS_URL: 'h:0', REDIS_SOCKET_TYPE: 'tcp' }, 'write it as host:6379'],
    [{ REDIS_URL: 'h:1,h:2', REDIS_SOCKET_TYPE: 'tcp' }, 'names several servers, but REDIS_TYPE is single'],
    [{ REDIS_TYPE: 'cluster' }, 'REDIS_URL: REDIS_TYPE is cluster, and it is not set; write it as host1:6379,host2:6379'],
    [{ REDIS_TYPE: 'cluster', REDIS_URL: `h:1,${SECRET}` }, 'REDIS_TYPE is cluster, and it names a node (number 2) that is not host:port'],
    [{ REDIS_TYPE: 'cluster', REDIS_URL: `redis://u:${SECRET}@h:1` }, 'it names a node (number 1) that is not host:port'],
    [{ REDIS_TYPE: 'cluster', REDIS_URL: Array(101).fill('h:1').join() }, 'it names more than 100 nodes'],
    [{ REDIS_TYPE: 'cluster', REDIS_URL: 'h:1', REDIS_SENTINEL_AUTH: SECRET }, 'REDIS_SENTINEL_AUTH: it is set, but REDIS_TYPE is cluster'],
    [{ REDIS_TYPE: 'sentinel' }, 'REDIS_URL: REDIS_TYPE is sentinel, and it is not set; write it as NAME,host1:26379,host2:26379'],
    [{ REDIS_TYPE: 'sentinel', REDIS_URL: 'h:1,h:2' }, "REDIS_URL: REDIS_TYPE is sentinel, and it does not begin with the master's name"],
    [{ REDIS_TYPE: 'sentinel', REDIS_URL: `redis://u:${SECRET}@h` }, "it does not begin with the master's name"],
    [{ REDIS_TYPE: 'sentinel', REDIS_URL: 'm' }, 'and it names no sentinel'],
    [{ REDIS_TYPE: 'sentinel', REDIS_URL: 'm,h:1,' }, 'and it names a sentinel (number 2) that is not host:port'],
    [{ REDIS_TYPE: 'sentinel', REDIS_URL: `m,${SECRET}` }, 'and it names a sentinel (number 1) that is not host:port'],
    [{ REDIS_TYPE: 'sentinel', REDIS_URL: `m${',h:1'.repeat(17)}` }, 'and it names more than 16 sentinels'],
    [{ REDIS_SENTINEL_AUTH: SECRET, REDIS_URL: 'redis://h' }, 'REDIS_SENTINEL_AUTH: it is set, but REDIS_TYPE is single'],
    [{ REDIS_URL: `http://u:${SECRET}@h` }, 'is not a Redis URL'],
    [{ REDIS_URL: `redis://u:${SECRET}%zz@h` }, 'is not a valid URL'],
    [{ REDIS_URL: `redis://u:${SECRET}@h/x` }, 'is not a valid URL'],
    [{ REDIS_URL: 'redis://' }, 'is not a valid URL'],
  ])('rejected for %j, without a secret in the message', (env, message) => {
    expect(() => connectionOf(env)).toThrow(SettingsError);
    expect(() => connectionOf(env)).toThrow(message);
    expect(() => connectionOf(env)).not.toThrow(SECRET);
  });
});

describe('The Redis for limits of one second', () => {
  const { ca } = makeCertificates();
  const main: Environment = { REDIS_URL: 'redis://h' };

  function perSecondOf(env: Environment): unknown {
    const choice = chooseStore(readSettings({ ...main, ...env }));
    return choice.kind === 'redis' ? choice.perSecond : choice;
  }

  test('absent unless it is enabled, and its address alone is reported as without effect', () => {
    expect(chooseStore(readSettings(main))).not.toHaveProperty('perSecond');
    expect(chooseStore(readSettings(main))).not.toHaveProperty('warning');
    const choice = chooseStore(readSettings({ ...main, REDIS_PERSECOND_URL: 'redis://p' }));
    expect(choice).not.toHaveProperty('perSecond');
    expect(choice.warning).toMatch(/^REDIS_PERSECOND_URL has no effect because REDIS_PERSECOND is not true/);
  });

  const socket = '/var/run/nutcracker/ratelimitpersecond.sock';
  test.each<[Environment, object]>([
    [{}, { tls: false, database: 0, place: { path: socket }, description: `unix socket ${socket} (limits of one second)` }],
    [
      { REDIS_PERSECOND_URL: 'p:1', REDIS_PERSECOND_SOCKET_TYPE: 'tcp', REDIS_PERSECOND_AUTH: SECRET, REDIS_AUTH: 'other' },
      { tls: false, database: 0, place: { host: 'p', port: 1 }, password: SECRET, description: 'redis://p:1/0 (limits of one second)' },
    ],
    [
      { REDIS_PERSECOND_URL: 'p:1,q:2', REDIS_PERSECOND_TYPE: 'cluster', REDIS_PERSECOND_TLS: 'true' },
      {
        tls: { verifyHostname: true, reread },
        database: 0,
        place: {
          seeds: [
            { host: 'p', port: 1 },
            { host: 'q', port: 2 },
          ],
        },
        description: 'the cluster of p:1, q:2 (limits of one second)',
      },
    ],
  ])('connected by %j', (env, connection) => {
    expect(perSecondOf({ REDIS_PERSECOND: 'true', ...env })).toEqual({ ...connection, pipeline: NO_WINDOW });
  });

  test('given the certificates of the first; one server without TLS is valid, two are an error', () => {
    const env = { ...main, REDIS_PERSECOND: 'true', REDIS_TLS_CACERT: ca.cert };
    const tls = { ca: readFileSync(ca.cert, 'utf8'), verifyHostname: true };
    expect(chooseStore(readSettings({ ...env, REDIS_PERSECOND_URL: 'rediss://p' }))).toMatchObject({
      connection: { tls: false },
      perSecond: { tls },
    });
    expect(chooseStore(readSettings({ ...env, REDIS_URL: 'rediss://h', REDIS_PERSECOND_URL: 'redis://p' }))).toMatchObject({
      connection: { tls },
      perSecond: { tls: false },
    });
    expect(
      chooseStore(readSettings({ ...env, REDIS_TLS: 'true', REDIS_PERSECOND_TLS: 'true', REDIS_PERSECOND_URL: 'redis://p' })),
    ).toMatchObject({ connection: { tls }, perSecond: { tls } });
    expect(() => chooseStore(readSettings({ ...env, REDIS_PERSECOND_URL: 'redis://p' }))).toThrow(
      'REDIS_TLS_CACERT: it is set, but TLS is off',
    );
  });

  test.each<[Environment, string]>([
    [{ REDIS_PERSECOND_URL: 'p' }, 'REDIS_PERSECOND_URL: it is neither host:port nor a path; add the port, as in host:6379'],
    [
      { REDIS_PERSECOND_URL: 'p:1,q:1', REDIS_PERSECOND_SOCKET_TYPE: 'tcp' },
      'REDIS_PERSECOND_URL: it names several servers, but REDIS_PERSECOND_TYPE is single',
    ],
    [{ REDIS_PERSECOND_TYPE: 'sentinel' }, 'REDIS_PERSECOND_URL: REDIS_PERSECOND_TYPE is sentinel, and it is not set'],
    [{ REDIS_PERSECOND_TLS: 'true' }, 'REDIS_PERSECOND_TLS: a unix socket does not support TLS'],
    [
      { REDIS_PERSECOND_AUTH: SECRET, REDIS_PERSECOND_AUTH_FILE: writeText('x') },
      'REDIS_PERSECOND_AUTH_FILE: it is set, and REDIS_PERSECOND_AUTH too',
    ],
    [
      { REDIS_PERSECOND_SENTINEL_AUTH: SECRET, REDIS_PERSECOND_URL: 'redis://p' },
      'REDIS_PERSECOND_SENTINEL_AUTH: it is set, but REDIS_PERSECOND_TYPE is single',
    ],
  ])('rejected for %j, by its own names', (env, message) => {
    expect(() => perSecondOf({ REDIS_PERSECOND: 'true', ...env })).toThrow(SettingsError);
    expect(() => perSecondOf({ REDIS_PERSECOND: 'true', ...env })).toThrow(message);
    expect(() => perSecondOf({ REDIS_PERSECOND: 'true', ...env })).not.toThrow(SECRET);
  });
});

test.each([
  ['150us', 0],
  ['500us', 1],
  ['1ms', 1],
  ['2.4ms', 2],
])('a pipeline window of %s is %i ms, of each Redis by its own name', (written, windowMs) => {
  const own = { REDIS_PIPELINE_WINDOW: written, REDIS_PIPELINE_LIMIT: '8' };
  const choice = chooseStore(readSettings({ REDIS_URL: 'h:1', ...own, REDIS_PERSECOND: 'true', REDIS_PERSECOND_PIPELINE_WINDOW: '3ms' }));
  expect(choice).toMatchObject({
    connection: { pipeline: { windowMs, limit: 8 } },
    perSecond: { pipeline: { windowMs: 3, limit: 0 } },
  });
});

describe('TLS towards Redis', () => {
  const { ca, server, client } = makeCertificates();
  const on: Environment = { REDIS_URL: 'rediss://h' };
  const pair = { REDIS_TLS_CLIENT_CERT: client.cert, REDIS_TLS_CLIENT_KEY: client.key };

  test('it has the contents of the files', () => {
    const tls = { ca: readFileSync(ca.cert, 'utf8'), verifyHostname: true };
    const identity = { cert: readFileSync(client.cert, 'utf8'), key: readFileSync(client.key, 'utf8') };
    expect(connectionOf({ ...on, REDIS_TLS_CACERT: ca.cert, ...pair })).toMatchObject({ tls: { ...tls, identity } });
  });

  test.each<[Environment, string]>([
    [{ REDIS_URL: '/tmp/r.sock', REDIS_TLS: 'true' }, 'REDIS_TLS: a unix socket does not support TLS'],
    [{ BACKEND_TYPE: 'redis', REDIS_TLS: 'true' }, 'REDIS_TLS: a unix socket does not support TLS'],
    [{ ...on, REDIS_TLS_CACERT: '/nowhere' }, "REDIS_TLS_CACERT: /nowhere can't be read (ENOENT); name a PEM file"],
    [{ ...on, REDIS_TLS_CACERT: client.key }, 'REDIS_TLS_CACERT: ' + client.key + ' holds no certificate'],
    [{ ...on, REDIS_TLS_CLIENT_CERT: client.cert }, 'REDIS_TLS_CLIENT_KEY: it is not set, but REDIS_TLS_CLIENT_CERT is'],
    [{ ...on, REDIS_TLS_CLIENT_KEY: client.key }, 'REDIS_TLS_CLIENT_CERT: it is not set, but REDIS_TLS_CLIENT_KEY is'],
    [{ ...on, ...pair, REDIS_TLS_CLIENT_KEY: client.cert }, `REDIS_TLS_CLIENT_KEY: ${client.cert} holds no private key`],
    [{ ...on, ...pair, REDIS_TLS_CLIENT_KEY: server.key }, 'REDIS_TLS_CLIENT_KEY: it is not the key of the certificate'],
    [{ REDIS_URL: 'redis://h', REDIS_TLS_CACERT: ca.cert }, 'REDIS_TLS_CACERT: it is set, but TLS is off; set REDIS_TLS=true'],
    [
      { REDIS_URL: 'redis://h', REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' },
      'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: it is set, but TLS is off',
    ],
  ])('it is rejected for %j', (env, message) => {
    expect(() => connectionOf(env)).toThrow(SettingsError);
    expect(() => connectionOf(env)).toThrow(message);
  });

  test('it lists every invalid file at once', () => {
    const env = { ...on, REDIS_TLS_CACERT: '/no/ca', REDIS_TLS_CLIENT_CERT: '/no/cert', REDIS_TLS_CLIENT_KEY: '/no/key' };
    expect(() => connectionOf(env)).toThrow(/^REDIS_TLS_CACERT: .*\nREDIS_TLS_CLIENT_CERT: .*\nREDIS_TLS_CLIENT_KEY: /);
  });
});

describe('REDIS_AUTH_FILE', () => {
  function authFileOf(text: string): { file: string; authFile: RedisAuthFile } {
    const file = writeText(text);
    const choice = chooseStore(readSettings({ REDIS_URL: 'redis://h', REDIS_AUTH_FILE: file }));
    return { file, authFile: (choice.kind === 'redis' ? choice.connection.authFile : undefined)! };
  }

  test.each([
    ['pass word\n', { password: 'pass word' }],
    ['user:pass:word\r\n', { username: 'user', password: 'pass:word' }],
    ['password', { password: 'password' }],
  ])('the file gives %j', async (text, auth) => {
    expect(await authFileOf(text).authFile.read(fail)).toEqual(auth);
  });

  test('the file is read again, keeps its last password while empty or gone, and logs each reason once', async () => {
    const { file, authFile } = authFileOf('one');
    const told: string[] = [];
    const read = () => authFile.read((problem) => told.push(problem));
    writeFileSync(file, 'two\n');
    expect(await read()).toEqual({ password: 'two' });
    writeFileSync(file, '\n');
    expect([await read(), await read()]).toEqual([{ password: 'two' }, { password: 'two' }]);
    rmSync(file);
    expect([await read(), await read()]).toEqual([{ password: 'two' }, { password: 'two' }]);
    const end = 'Weir keeps using the last password that it read.';
    expect(told).toEqual([`REDIS_AUTH_FILE: ${file} is empty; ${end}`, `REDIS_AUTH_FILE: ${file} can't be read (ENOENT); ${end}`]);
    writeFileSync(file, 'u:three');
    expect(await read()).toEqual({ username: 'u', password: 'three' });
  });

  test.each<[Environment, string]>([
    [{ REDIS_AUTH_FILE: '/nowhere' }, "REDIS_AUTH_FILE: /nowhere can't be read (ENOENT); name a file that holds a password"],
    [{ REDIS_AUTH_FILE: writeText('\n') }, 'is empty; name a file that holds a password'],
    [{ REDIS_AUTH_FILE: writeText('x'), REDIS_AUTH: SECRET }, 'REDIS_AUTH_FILE: it is set, and REDIS_AUTH too; set one of the two'],
  ])('the file is rejected for %j', (env, message) => {
    expect(() => connectionOf({ REDIS_URL: 'redis://h', ...env })).toThrow(SettingsError);
    expect(() => connectionOf({ REDIS_URL: 'redis://h', ...env })).toThrow(message);
  });
});

/** For a problem that must not be reported. */
function fail(problem: string): void {
  throw new Error(problem);
}
