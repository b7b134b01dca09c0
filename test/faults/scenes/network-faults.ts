/** Faults of the network between Weir and Redis: slow, lossy, dead, reset. */

import { randomFrom } from '../../support/random/random';
import { repeat, sleep, type Fault } from '../run/fault';
import { onProxy } from './single-redis';

const DELAYS_MS = [5, 15, 30];
const LOST_OF = 100;
const RESET_EVERY_MS = 100;

const slow = (delayMs: number): Fault => ({
  name: `replies ${delayMs} ms late`,
  done: `each reply of Redis comes ${delayMs} ms late, for 5 s`,
  loses: 'nothing',
  open: onProxy(async ({ proxy, size }) => {
    proxy.delayReplies(delayMs);
    await sleep(size.faultMs);
    proxy.delayReplies(0);
    return undefined;
  }),
});

export const NETWORK_FAULTS: readonly Fault[] = [
  ...DELAYS_MS.map(slow),
  {
    name: '1 % of replies lost',
    done: 'one reply in a hundred is lost after Redis has run the command, and the connection with it, for 5 s',
    loses: 'nothing',
    open: onProxy(async ({ proxy, size }) => {
      const random = randomFrom();
      proxy.loseReplies(() => random(LOST_OF) === 0);
      await sleep(size.faultMs);
      proxy.loseReplies(() => false);
      return undefined;
    }),
  },
  {
    name: 'half-open connections',
    done: 'open connections silently drop everything; new ones work',
    loses: 'nothing',
    open: onProxy(({ proxy }) => {
      proxy.silenceOpen();
      return Promise.resolve(undefined);
    }),
  },
  {
    name: 'connections reset',
    done: 'each connection is reset (RST) every 100 ms, for 5 s',
    loses: 'nothing',
    open: onProxy(async ({ proxy, size }) => {
      await repeat(
        () => {
          proxy.resetOpen();
        },
        { everyMs: RESET_EVERY_MS, forMs: size.faultMs },
      );
      return undefined;
    }),
  },
];
