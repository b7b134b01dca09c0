/** A short run of the fuzzer; `npm run fuzz` makes the long ones. */

import { fuzzInProcess } from '../../../fuzz/in-process';
import { fuzzOverSockets } from '../../../fuzz/over-sockets';
import { seeded } from '../../../support/random';

/** A busy machine takes some times as long as a quiet one. */
const TIMEOUT_MS = 120_000;

test('frames of polite, odd and hostile clients: no rule is broken, and polite calls are all answered', async () => {
  const { numRuns: frames, seed } = seeded(60_000);
  expect((await fuzzInProcess({ seed, frames })).frames).toBeGreaterThanOrEqual(frames);
}, TIMEOUT_MS);

test('over sockets: whoever hangs up or does not read is let go, and everybody else is answered', async () => {
  const { numRuns: frames, seed } = seeded(2000);
  expect((await fuzzOverSockets({ seed, frames })).asked).toBeGreaterThan(0);
}, TIMEOUT_MS);
