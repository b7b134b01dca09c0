/** Weir runs on Redis from 6.0 on and on Valkey, and rejects older versions. */

import { describeStore, type StoreUnderTest } from '../../contract/store-contract';
import { readAclLine } from '../../support/docs/acl-line';
import { groupOf, take, TEN_PER_SECOND } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import type { RedisServer } from '../../support/redis/redis-server';
import { openClockedRedis, type ClockedRedis } from '../../support/redis/redis-store';
import { until } from '../../support/clock/until';
import { describeVersion, listVersions } from '../../support/versions/redis-versions';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { storedTokenBucket } from '../../support/redis/stored-token-bucket';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';

/** Run to show that the oldest supported version is the oldest. */
const TOO_OLD = 'redis-5.0.6';

const START_US = 1_800_000_000_000_000;

const NEVER_REFILLS = { ...TEN_PER_SECOND, requestsPerUnit: 0, capacity: 0 };

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 2 } }]\n');

const versions = listVersions();
const supported = versions.filter(({ name }) => name !== TOO_OLD);

describe.each(supported)('a supported version of Redis', (version) => {
  describeVersion(version, (start) => {
    let redis: RedisServer;
    let opened: ClockedRedis;

    beforeAll(async () => {
      redis = await start();
      opened = await openClockedRedis(redis);
    });

    afterAll(async () => {
      await opened.close();
      await redis.stop();
    });

    /** One connection serves all tests: making one takes longer than a test does. */
    async function openEmpty(): Promise<StoreUnderTest> {
      await opened.client.flushAll();
      return { ...opened, close: () => Promise.resolve() };
    }

    describeStore('RedisStore', openEmpty);

    describe('beside the contract', () => {
      beforeEach(async () => {
        await openEmpty();
        await opened.setNow(START_US);
      });

      test('the server has that version', async () => {
        expect(await versionOf(opened)).toBe(version.name);
      });

      test('a write under a limit that never refills keeps the TTL', async () => {
        await opened.store.take([groupOf([take('a', { hits: 9 })])]);
        await opened.store.take([groupOf([take('a', { hits: -1, limit: NEVER_REFILLS })])]);
        expect(await storedTokenBucket(opened.client, 'a')).toBe(`8 0 ${START_US}`);
        expect(await opened.client.pTTL('a')).toBeGreaterThan(0);
      });

      test('a call that misses the script loads it', async () => {
        for (const remaining of [9, 8]) {
          await opened.client.scriptFlush();
          const [outcome] = await opened.store.take([groupOf([take('a')])]);
          expect(decided(outcome).verdicts[0]!.remaining).toBe(remaining);
        }
      });

      test('a charge that a replica or a full server refuses is named by the code of the refusal, also behind that of the script', async () => {
        const refuse = (command: string, ...values: readonly string[]) => opened.client.sendCommand([command, ...values]);
        const charge = () => opened.store.take([groupOf([take('a')])]);
        await refuse('CONFIG', 'SET', 'maxmemory', '1');
        await expect(charge()).rejects.toThrow('Redis answered the error OOM');
        await refuse('CONFIG', 'SET', 'maxmemory', '0');
        await refuse('REPLICAOF', '127.0.0.1', '1');
        await expect(charge()).rejects.toThrow('Redis answered the error READONLY');
        await refuse('REPLICAOF', 'NO', 'ONE');
        // Weir has left the replica.
        await until(() =>
          charge().then(
            () => true,
            () => false,
          ),
        );
      });

      test('Weir decides with the least rights, on the clock of that Redis', async () => {
        const { rules, prefix } = readAclLine();
        await opened.client.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...rules]);
        await opened.client.sendCommand(['ACL', 'LOG', 'RESET']);
        const rights = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_AUTH: 'weir:PASSWORD', CACHE_KEY_PREFIX: prefix };
        const weir = await startWeir({ config: CONFIG, env: { REDIS_OP_TIMEOUT: '1s', ...rights } });
        const client = new RlsClient(weir.grpcPort);
        try {
          for (const code of [OK, OK, OVER_LIMIT]) expect((await client.ask('d', [{ entries: { k: 'v' } }])).overall_code).toBe(code);
        } finally {
          client.close();
          await weir.stop();
        }
        expect(await opened.client.sendCommand(['ACL', 'LOG'])).toEqual([]);
      });
    });
  });
});

describe.each(versions.filter(({ name }) => name === TOO_OLD))('a version of Redis that is too old', (version) => {
  describeVersion(version, (start) => {
    let redis: RedisServer;
    let opened: ClockedRedis;

    beforeAll(async () => {
      redis = await start();
      opened = await openClockedRedis(redis);
    });

    afterAll(async () => {
      await opened.close();
      await redis.stop();
    });

    test('the server knows neither KEEPTTL nor users', async () => {
      await opened.setNow(START_US);
      expect(await versionOf(opened)).toBe(version.name);
      await opened.store.take([groupOf([take('a', { hits: 9 })])]);
      const write = opened.store.take([groupOf([take('a', { hits: -1, limit: NEVER_REFILLS })])]);
      await expect(write).rejects.toThrow('Redis answered the error ERR');
      await expect(opened.client.sendCommand(['ACL', 'WHOAMI'])).rejects.toThrow('unknown command');
    });
  });
});

/** Valkey tells the version of Redis that it claims to be, beside its own. */
async function versionOf({ client }: ClockedRedis): Promise<string> {
  const info = await client.info('server');
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
  const valkey = field('valkey_version');
  return valkey === undefined ? `redis-${field('redis_version')!}` : `valkey-${valkey}`;
}
