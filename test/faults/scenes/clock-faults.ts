/** Faults of clocks that step: that of Redis, and our own. */

import { makeShiftedClock, whyNoShiftedClock } from '../../support/clock/shifted-clock';
import { sleep, type Fault } from '../run/fault';
import { onRedis } from './single-redis';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

interface Step {
  readonly aheadMs: number;
  readonly name: string;
}

const STEPS: readonly Step[] = [
  { aheadMs: SECOND_MS, name: '+1 s' },
  { aheadMs: -SECOND_MS, name: '-1 s' },
  { aheadMs: HOUR_MS, name: '+1 h' },
  { aheadMs: -HOUR_MS, name: '-1 h' },
];

/** Steps the clock of Redis or of Weir's processes, and back when the fault is over. */
function stepClock({ aheadMs, of }: { readonly aheadMs: number; readonly of: 'env' | 'weirEnv' }): Fault['open'] {
  return (size) => {
    const clock = makeShiftedClock();
    return onRedis(
      async () => {
        clock.shift(aheadMs);
        await sleep(size.faultMs);
        clock.shift(0);
        return undefined;
      },
      { [of]: clock.env, onClose: clock.close },
    )(size);
  };
}

const ofRedis = ({ aheadMs, name }: Step): Fault => ({
  name: `clock of Redis ${name}`,
  done: `the clock of Redis steps by ${name}, and 5 s later back`,
  loses: 'nothing',
  // There or back, one of the two goes ahead.
  refills: 1,
  unnoticed: true,
  whyNot: whyNoShiftedClock,
  open: stepClock({ aheadMs, of: 'env' }),
});

const ofWeir = ({ aheadMs, name }: Step): Fault => ({
  name: `clock of Weir ${name}`,
  done: `the clock of Weir's processes steps by ${name}, and 5 s later back`,
  loses: 'nothing',
  unnoticed: true,
  whyNot: whyNoShiftedClock,
  open: stepClock({ aheadMs, of: 'weirEnv' }),
});

export const CLOCK_FAULTS: readonly Fault[] = [
  ...STEPS.map(ofRedis),
  ...STEPS.filter(({ aheadMs }) => Math.abs(aheadMs) === HOUR_MS).map(ofWeir),
];
