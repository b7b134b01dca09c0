/** Two writers of control data never lose each other's change, in Redis, in a file and in memory. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openControlFile } from '../../src/state/control/file/control-file';
import { LocalControlStore } from '../../src/state/control/local-control-store';
import { RedisControlStore } from '../../src/state/control/redis/redis-control-store';
import { describeControlStore, SMALL_BOUNDS } from './control-store-contract';
import { describeTenantTree } from './tenant-tree-contract';
import { setClock, loadClockedScript } from '../support/redis/clocked-script';
import { redisOfFile } from '../support/redis/redis-of-file';

const redis = redisOfFile();
const folder = mkdtempSync(path.join(tmpdir(), 'weir-control-'));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

const scripts = { write: loadClockedScript('control-write'), read: loadClockedScript('control-read') };

const openOnRedis = async (nowUs: number) => {
  await redis.client.flushAll();
  await setClock(redis.client, nowUs);
  const store = new RedisControlStore({
    run: (call, options) => redis.store.run(call, options),
    keyPrefix: 'p:',
    onUnreadable: ({ problem }) => {
      throw new Error(problem);
    },
    scripts,
    bounds: SMALL_BOUNDS,
  });
  return { store, setNow: (us: number) => setClock(redis.client, us) };
};

function local(open: (nowUs: () => number) => LocalControlStore | Promise<LocalControlStore>) {
  return async (startUs: number) => {
    let nowUs = startUs;
    const store = await open(() => nowUs);
    return {
      store,
      setNow: (us: number) => {
        nowUs = us;
        return Promise.resolve();
      },
    };
  };
}

let files = 0;

const STORES = [
  ['RedisControlStore', openOnRedis],
  ['LocalControlStore in memory', local((nowUs) => new LocalControlStore({ nowUs, bounds: SMALL_BOUNDS }))],
  [
    'LocalControlStore in a file',
    local((nowUs) => {
      files += 1;
      return openControlFile({
        path: path.join(folder, `control-${files}`),
        nowUs,
        bounds: SMALL_BOUNDS,
        onTorn: () => {
          throw new Error('a torn line');
        },
      });
    }),
  ],
] as const;

for (const [name, open] of STORES) {
  describeControlStore(name, open);
  describeTenantTree(name, open);
}
