/** Which store the settings choose, and how Redis is reached. */

import { readSettings, type Environment } from '../../src/config/settings';
import { SettingsError } from '../../src/config/settings-error';
import { chooseStore } from '../../src/config/store-choice';

const SECRET = 'hunter2';

function connectionOf(env: Environment): unknown {
  const choice = chooseStore(readSettings(env));
  return choice.kind === 'redis' ? choice.connection : choice;
}

describe('The store is', () => {
  test('memory with a warning if nothing is set', () => {
    expect(chooseStore(readSettings({}))).toEqual({ kind: 'memory', warning: expect.stringContaining('set REDIS_URL') as string });
  });

  test('memory without a warning if asked for', () => {
    expect(chooseStore(readSettings({ BACKEND_TYPE: 'memory', RUNTIME_ROOT: '/r', REDIS_URL: 'h:1' }))).toEqual({ kind: 'memory' });
  });

  test('nothing if RUNTIME_ROOT is set alone', () => {
    expect(() => chooseStore(readSettings({ RUNTIME_ROOT: '/r' }))).toThrow(SettingsError);
  });

  const plain = { tls: false, database: 0 };
  test.each<[Environment, object]>([
    [
      { BACKEND_TYPE: 'redis' },
      { ...plain, socket: { path: '/var/run/nutcracker/ratelimit.sock' }, description: 'unix socket /var/run/nutcracker/ratelimit.sock' },
    ],
    [{ REDIS_URL: '/tmp/r.sock' }, { ...plain, socket: { path: '/tmp/r.sock' }, description: 'unix socket /tmp/r.sock' }],
    [
      { REDIS_URL: 'h:1', REDIS_SOCKET_TYPE: 'tcp', REDIS_AUTH: SECRET },
      { ...plain, socket: { host: 'h', port: 1 }, password: SECRET, description: 'redis://h:1/0' },
    ],
    [
      { REDIS_URL: '[::1]:7', REDIS_SOCKET_TYPE: 'tcp', REDIS_AUTH: 'u:p:q' },
      { ...plain, socket: { host: '::1', port: 7 }, username: 'u', password: 'p:q', description: 'redis://[::1]:7/0' },
    ],
    [{ REDIS_URL: 'redis://h' }, { ...plain, socket: { host: 'h', port: 6379 }, description: 'redis://h:6379/0' }],
    [
      { REDIS_URL: `rediss://u:${SECRET}%21@[::1]:7/3` },
      { tls: true, database: 3, socket: { host: '::1', port: 7 }, username: 'u', password: `${SECRET}!`, description: 'rediss://[::1]:7/3' },
    ],
    [
      { REDIS_URL: 'redis://u:old@h', REDIS_AUTH: SECRET },
      { ...plain, socket: { host: 'h', port: 6379 }, username: 'u', password: SECRET, description: 'redis://h:6379/0' },
    ],
  ])('Redis for %j', (env, connection) => {
    expect(connectionOf(env)).toEqual(connection);
  });

  test.each<[Environment, string]>([
    [{ REDIS_URL: 'h:1' }, 'looks like host:port, but REDIS_SOCKET_TYPE is unix; set REDIS_SOCKET_TYPE=tcp'],
    [{ REDIS_URL: SECRET, REDIS_SOCKET_TYPE: 'tcp' }, 'write it as host:6379'],
    [{ REDIS_URL: 'h:0', REDIS_SOCKET_TYPE: 'tcp' }, 'write it as host:6379'],
    [{ REDIS_URL: 'h:1,h:2', REDIS_SOCKET_TYPE: 'tcp' }, 'names several servers'],
    [{ REDIS_URL: `http://u:${SECRET}@h` }, 'is no URL of Redis'],
    [{ REDIS_URL: `redis://u:${SECRET}%zz@h` }, 'is no valid URL'],
    [{ REDIS_URL: `redis://u:${SECRET}@h/x` }, 'is no valid URL'],
    [{ REDIS_URL: 'redis://' }, 'is no valid URL'],
  ])('refused for %j, without showing a secret', (env, message) => {
    expect(() => connectionOf(env)).toThrow(SettingsError);
    expect(() => connectionOf(env)).toThrow(message);
    expect(() => connectionOf(env)).not.toThrow(SECRET);
  });
});
