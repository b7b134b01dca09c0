/** Processes of the fault tests see the clock that a test sets, and their monotonic clock stays. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startRedis } from '../support/redis/redis-server';
import { makeTestClient } from '../support/redis/redis-store';
import { until } from '../support/clock/until';
import { makeShiftedClock, whyNoShiftedClock } from '../support/clock/shifted-clock';

const HOUR_MS = 3_600_000;
/** What two readings of one moment may lie apart, on a busy machine. */
const SLACK_MS = 10_000;

const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
const reason = whyNoShiftedClock();
const testOrSkip = reason === undefined || isCi ? test : test.skip;
const because = reason === undefined ? '' : ` (${reason})`;

/** Tells both clocks for each line that it reads. */
const PROBE = `process.stdin.on('data', () => console.log(JSON.stringify([Date.now(), performance.now()])))`;

testOrSkip(`a process of Node's: Date.now steps, performance.now does not${because}`, async () => {
  const clock = makeShiftedClock();
  const probe = spawn(process.execPath, ['-e', PROBE], { env: { ...clock.env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const ask = async (): Promise<{ readonly aheadMs: number; readonly monotonicMs: number }> => {
    probe.stdin.write('\n');
    const [line] = (await once(probe.stdout, 'data')) as [Buffer];
    const [wallMs, monotonicMs] = JSON.parse(line.toString()) as [number, number];
    return { aheadMs: wallMs - Date.now(), monotonicMs };
  };
  const before = await ask();
  expect(Math.abs(before.aheadMs)).toBeLessThan(SLACK_MS);
  for (const shiftMs of [HOUR_MS, -HOUR_MS, 0]) {
    clock.shift(shiftMs);
    const { aheadMs, monotonicMs } = await ask();
    expect(Math.abs(aheadMs - shiftMs)).toBeLessThan(SLACK_MS);
    expect(Math.abs(monotonicMs - before.monotonicMs)).toBeLessThan(SLACK_MS);
  }
  probe.kill('SIGKILL');
  clock.close();
});

testOrSkip(`Redis: TIME steps, in a script too${because}`, async () => {
  const clock = makeShiftedClock();
  const redis = await startRedis({ env: clock.env });
  const client = await makeTestClient(redis.port).connect();
  for (const shiftMs of [0, HOUR_MS, -HOUR_MS]) {
    clock.shift(shiftMs);
    for (const command of [['TIME'], ['EVAL', "return redis.call('TIME')", '0']]) {
      // Valkey 9 reads the clock once in a millisecond.
      await until(async () => {
        const [seconds] = await client.sendCommand<string[]>(command);
        return Math.abs(Number(seconds) * 1000 - Date.now() - shiftMs) < SLACK_MS;
      });
    }
  }
  client.destroy();
  await redis.stop();
  clock.close();
});
