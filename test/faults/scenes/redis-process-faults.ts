/** Faults of the Redis process itself: killed, stopped, its scripts or its connections lost, busy, full. */

import { killClients, onRedis } from './single-redis';
import { repeat, sleep, type Fault } from '../run/fault';

const EVERY_MS = 50;
const KILL_EVERY_MS = 100;

/** Keeps what is written, as an operator would have it. */
const aof = (appendfsync: string): { readonly config: readonly string[] } => ({
  config: ['--appendonly', 'yes', '--appendfsync', appendfsync],
});

const killAndRestart = (options: Parameters<typeof onRedis>[1] = {}): Fault['open'] =>
  onRedis(async ({ redis, size }) => {
    redis.kill('SIGKILL');
    await sleep(size.faultMs);
    await redis.restart();
    return undefined;
  }, options);

export const REDIS_PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'nothing',
    done: 'no fault: the baseline for the other rows',
    loses: 'nothing',
    open: onRedis(async ({ size }) => {
      await sleep(size.faultMs);
      return undefined;
    }),
  },
  {
    name: 'Redis killed, empty',
    done: '`kill -9`, 5 s later a new, empty Redis on the same port',
    loses: 'everything',
    open: killAndRestart(),
  },
  {
    name: 'Redis killed, AOF always',
    done: 'the same with `appendonly yes`, `appendfsync always`',
    loses: 'nothing',
    open: killAndRestart(aof('always')),
  },
  {
    name: 'Redis killed, AOF everysec',
    done: 'the same with `appendonly yes`, `appendfsync everysec`',
    loses: 'last_seconds',
    open: killAndRestart(aof('everysec')),
  },
  {
    name: 'Redis stopped',
    done: '`SIGSTOP`, 5 s later `SIGCONT`',
    loses: 'nothing',
    open: onRedis(async ({ redis, size }) => {
      redis.kill('SIGSTOP');
      await sleep(size.faultMs);
      redis.kill('SIGCONT');
      return undefined;
    }),
  },
  {
    name: 'SCRIPT FLUSH',
    done: '`SCRIPT FLUSH` every 50 ms, for 5 s',
    loses: 'nothing',
    open: onRedis(async ({ admin, size }) => {
      await repeat(() => admin.sendCommand(['SCRIPT', 'FLUSH']), { everyMs: EVERY_MS, forMs: size.faultMs });
      return undefined;
    }),
  },
  {
    name: 'CLIENT PAUSE',
    done: '`CLIENT PAUSE 5000 ALL`',
    loses: 'nothing',
    open: onRedis(async ({ admin, size }) => {
      await admin.sendCommand(['CLIENT', 'PAUSE', String(size.faultMs), 'ALL']);
      await sleep(size.faultMs);
      return undefined;
    }),
  },
  {
    name: 'DEBUG SLEEP',
    done: '`DEBUG SLEEP 5`',
    loses: 'nothing',
    open: onRedis(
      async ({ admin, size }) => {
        await admin.sendCommand(['DEBUG', 'SLEEP', String(size.faultMs / 1000)]);
        return undefined;
      },
      { config: ['--enable-debug-command', 'yes'] },
    ),
  },
  {
    name: 'CLIENT KILL',
    done: '`CLIENT KILL` of every connection, every 100 ms, for 5 s',
    loses: 'nothing',
    open: onRedis(async ({ admin, size }) => {
      await repeat(() => killClients(admin), { everyMs: KILL_EVERY_MS, forMs: size.faultMs });
      return undefined;
    }),
  },
  {
    name: 'maxclients',
    done: '`maxclients 1` and all connections closed, so that Redis refuses new ones; undone after 5 s',
    loses: 'nothing',
    open: onRedis(async ({ admin, size }) => {
      await admin.sendCommand(['CONFIG', 'SET', 'maxclients', '1']);
      await killClients(admin);
      await sleep(size.faultMs);
      await admin.sendCommand(['CONFIG', 'SET', 'maxclients', '10000']);
      return undefined;
    }),
  },
];
