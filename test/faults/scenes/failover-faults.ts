/** Faults of a primary that Sentinel watches: killed, and stopped so that it comes back as if nothing had been. */

import { startSentinelGroup, type SentinelGroup } from '../../support/redis/redis-sentinel';
import type { RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';
import { sleep, type During, type Fault, type Seen } from '../run/fault';
import { killClients } from './single-redis';

interface OnSentinels extends During {
  readonly group: SentinelGroup;
  readonly primary: RedisServer;
}

const onSentinels =
  (strike: (input: OnSentinels) => Promise<Seen>): Fault['open'] =>
  async () => {
    const group = await startSentinelGroup();
    const primary = group.servers[0]!;
    return {
      env: { REDIS_TYPE: 'sentinel', REDIS_URL: group.url },
      reconnect: async () => {
        const admin = await makeTestClient(primary.port).connect();
        await killClients(admin);
        admin.destroy();
      },
      strike: (during) => strike({ ...during, group, primary }),
      close: () => group.stop(),
    };
  };

export const FAILOVER_FAULTS: readonly Fault[] = [
  {
    name: 'Sentinel: primary killed',
    done: '`kill -9` of the primary of two replicas, watched by three sentinels (`down-after-milliseconds 500`); over when all sentinels name the new one',
    loses: 'last_seconds',
    open: onSentinels(async ({ group, primary }) => {
      const strikeMs = performance.now();
      primary.kill('SIGKILL');
      const { atMs } = await group.untilMovedFrom(primary);
      return failedOver(atMs - strikeMs);
    }),
  },
  {
    name: 'Sentinel: primary stopped',
    done: '`SIGSTOP` of the primary; 5 s after the failover `SIGCONT`, so that for a moment there are two',
    loses: 'last_seconds',
    open: onSentinels(async ({ group, primary, size }) => {
      const strikeMs = performance.now();
      primary.kill('SIGSTOP');
      const { atMs } = await group.untilMovedFrom(primary);
      await sleep(size.faultMs);
      primary.kill('SIGCONT');
      return failedOver(atMs - strikeMs);
    }),
  },
];

function failedOver(afterMs: number): Seen {
  return { noted: `failover after ${Math.round(afterMs)} ms` };
}
