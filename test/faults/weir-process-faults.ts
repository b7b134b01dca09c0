/** Faults of our own process: it is paused. */

import { sleep, type Fault } from './fault';
import { onRedis } from './single-redis';

const PAUSE_MS = 200;
const PAUSE_EVERY_MS = 500;

export const WEIR_PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'Weir paused',
    done: 'one of the two Weir processes is stopped for 200 ms, twice a second for 5 s (`SIGSTOP`, `SIGCONT`)',
    loses: 'nothing',
    unnoticed: true,
    open: onRedis(async ({ weirs, size }) => {
      for (let pause = 0; pause < size.faultMs / PAUSE_EVERY_MS; pause += 1) {
        weirs[0]!.kill('SIGSTOP');
        await sleep(PAUSE_MS);
        weirs[0]!.kill('SIGCONT');
        await sleep(PAUSE_EVERY_MS - PAUSE_MS);
      }
      return undefined;
    }),
  },
];
