/** Faults of our own process: it is paused, and finds answers that have long been there and deadlines that have passed. */

import { isLong } from '../../support/random/form';
import { RlsClient } from '../../support/clients/rls-client';
import { sleep, type Fault } from '../run/fault';
import { DOMAIN } from '../run/load';
import { onRedis } from './single-redis';

const PAUSE_MS = 200;
const PAUSE_EVERY_MS = 500;

/** Calls that are in flight when the pause begins, and how long they are given to get there. */
const IN_FLIGHT = 20;
const UNDER_WAY_MS = 20;

export const WEIR_PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'Weir paused',
    done: 'one of the two Weir processes is stopped for 200 ms, twice a second for 5 s (`SIGSTOP`, `SIGCONT`)',
    loses: 'nothing',
    unnoticed: true,
    open: onRedis(
      async ({ weirs, size }) => {
        for (let pause = 0; pause < size.faultMs / PAUSE_EVERY_MS; pause += 1) {
          weirs[0]!.kill('SIGSTOP');
          await sleep(PAUSE_MS);
          weirs[0]!.kill('SIGCONT');
          await sleep(PAUSE_EVERY_MS - PAUSE_MS);
        }
        return undefined;
      },
      // Shorter than a pause: Weir does not take its own pause for a slow Redis. The long form runs with the defaults.
      { weirEnv: isLong ? {} : { REDIS_OP_TIMEOUT: '150ms' } },
    ),
  },
  {
    name: 'Weir paused, calls in flight',
    done: 'the same with `REDIS_OP_TIMEOUT=100ms`; each time Redis delays 20 more replies until the pause has begun',
    loses: 'nothing',
    unnoticed: true,
    open: onRedis(
      async ({ redis, weirs, size }) => {
        const weir = weirs[0]!;
        const client = new RlsClient(weir.grpcPort);
        for (let pause = 0; pause < size.faultMs / PAUSE_EVERY_MS; pause += 1) {
          redis.kill('SIGSTOP');
          const calls = Array.from({ length: IN_FLIGHT }, () => client.ask(DOMAIN, [{ entries: { cold: 'in flight' } }]));
          await sleep(UNDER_WAY_MS);
          weir.kill('SIGSTOP');
          redis.kill('SIGCONT');
          await sleep(PAUSE_MS);
          weir.kill('SIGCONT');
          await Promise.all(calls);
          await sleep(PAUSE_EVERY_MS - PAUSE_MS);
        }
        client.close();
        return undefined;
      },
      { weirEnv: { REDIS_OP_TIMEOUT: '100ms' } },
    ),
  },
];
