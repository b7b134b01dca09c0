/** A Valkey without its Lua module is not used, the reason names it, and Weir decides there once the module is back. */

import type { ConnectionState } from '../../../src/state/store/redis/client/redis-connection';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { until } from '../../support/clock/until';
import { groupOf, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { startRedis } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions } from '../../support/redis/redis-store';
import { describePinned } from '../../support/versions/pinned-versions';
import { listVersions } from '../../support/versions/redis-versions';

describe.each(listVersions().filter(({ name }) => name.startsWith('valkey-9')))('a Valkey without Lua', (version) => {
  describePinned(version, () => {
    test('the cause is that it finds no engine for scripts', async () => {
      const server = await startRedis({ binary: version.binary, config: ['--enable-module-command', 'yes'] });
      const admin = await makeTestClient(server.port).connect();
      await admin.sendCommand(['MODULE', 'UNLOAD', 'lua']);
      const causes: (string | undefined)[] = [];
      const onConnection = ({ connected, cause }: ConnectionState) => causes.push(connected ? 'connected' : cause);
      const store = new RedisStore({ ...storeOptions(server.port), probe: { keyPrefix: '' }, onConnection });
      void store.connect({ waitMs: 0 });
      await until(() => causes.length > 1);
      expect(new Set(causes)).toEqual(new Set(["ERR Could not find scripting engine 'lua'"]));
      await expect(store.take([groupOf([take('a')])])).rejects.toThrow('Redis is not connected');
      await server.restart();
      await until(() => causes.includes('connected'));
      const [outcome] = await store.take([groupOf([take('a')])]);
      expect(decided(outcome).overLimit).toBe(false);
      await store.close();
      admin.destroy();
      await server.stop();
    });
  });
});
