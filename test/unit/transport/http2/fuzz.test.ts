/**
 * Frames from a grammar break no rule and leak nothing, and polite calls are answered.
 *
 * `npm run fuzz` makes longer runs.
 */

import { fuzzInProcess } from '../../../fuzz/in-process';
import { fuzzOverSockets } from '../../../fuzz/over-sockets';
import { seeded } from '../../../support/random/random';

/** Against a run that never ends, and nothing else: where many others want the processor it takes forty times as long as on a quiet machine. */
const TIMEOUT_MS = 600_000;

test(
  'frames of polite, odd and hostile clients break no rule, and polite calls are all answered',
  async () => {
    const { numRuns: frames, seed } = seeded(60_000);
    expect((await fuzzInProcess({ seed, frames })).frames).toBeGreaterThanOrEqual(frames);
  },
  TIMEOUT_MS,
);

test(
  'over sockets a client that hangs up or does not read is disconnected, and all others are answered',
  async () => {
    const { numRuns: frames, seed } = seeded(2000);
    expect((await fuzzOverSockets({ seed, frames })).asked).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
