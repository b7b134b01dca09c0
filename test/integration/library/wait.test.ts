/** A wait ends when the bucket refills, in the process and over gRPC. */

import { createClient } from '../../../src/program/library/client/create-client';
import { createLimiter, WaitQueueFullError } from '../../../src/program/library/in-process/create-limiter';
import { EngineLimiter } from '../../../src/program/library/in-process/engine-limiter';
import { readOptions } from '../../../src/program/library/in-process/limiter-settings';
import { openEngine } from '../../../src/program/library/in-process/open-engine';
import type { LimitResult } from '../../../src/program/library/limiter/limiter';
import { ManualClock } from '../../support/clock/manual-clock';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';

const CONFIG = `domain: shop
descriptors:
  - key: tenth
    rate_limit: { unit: second, requests_per_unit: 10, burst: 1, algorithm: token_bucket }
  - key: window
    rate_limit: { unit: minute, requests_per_unit: 2, algorithm: sliding_window_log }
  - key: closed
    rate_limit: { unit: hour, requests_per_unit: 0 }
`;

/** Waits in the order in which they end, and when. */
class Waits {
  readonly ended: { readonly name: string; readonly allowed: boolean; readonly atMs: number }[] = [];

  constructor(private readonly clock: ManualClock) {}

  add(name: string, waiting: Promise<LimitResult>): void {
    const startMs = this.clock.nowMs();
    void waiting.then(({ allowed }) => {
      this.ended.push({ name, allowed, atMs: this.clock.nowMs() - startMs });
    });
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms, { settled: () => this.ended });
  }
}

async function limiterOn(clock: ManualClock): Promise<EngineLimiter> {
  const choices = readOptions({ rules: { text: CONFIG } });
  return new EngineLimiter(await openEngine(choices, clock.nowUs), choices, clock);
}

const request = (key: string) => ({ domain: 'shop', descriptors: [{ [key]: 'zoe' }] });

test('a limiter in the process serves waits exactly when the bucket refills, which answers only say in whole seconds', async () => {
  const clock = new ManualClock();
  const limiter = await limiterOn(clock);
  const waits = new Waits(clock);
  for (const name of ['a', 'b', 'c', 'd']) waits.add(name, limiter.wait(request('tenth'), { maxMs: 250 }));
  await waits.advance(1_000);
  expect(waits.ended).toEqual([
    { name: 'a', allowed: true, atMs: 0 },
    { name: 'b', allowed: true, atMs: 100 },
    { name: 'c', allowed: true, atMs: 200 },
    { name: 'd', allowed: false, atMs: 200 },
  ]);
  expect(clock).toMatchObject({ timersMax: 1, timerCount: 0 });
  await limiter.close();
});

test('a wait of a sliding window is served when its oldest hits leave, and one that never fits is denied at once', async () => {
  const clock = new ManualClock();
  const limiter = await limiterOn(clock);
  const waits = new Waits(clock);
  waits.add('a', limiter.wait(request('window'), { maxMs: 0 }));
  await waits.advance(20_000);
  waits.add('b', limiter.wait(request('window'), { maxMs: 0 }));
  waits.add('c', limiter.wait(request('window'), { maxMs: 120_000 }));
  waits.add('d', limiter.wait(request('window'), { maxMs: 120_000 }));
  waits.add('never', limiter.wait(request('closed'), { maxMs: 120_000 }));
  await waits.advance(120_000);
  expect(waits.ended.map(({ name, allowed, atMs }) => [name, allowed, atMs])).toEqual([
    ['a', true, 0],
    ['b', true, 0],
    ['never', false, 0],
    ['c', true, 40_000],
    ['d', true, 60_000],
  ]);
  await limiter.close();
});

test('a check does not stand in line, a signal ends a wait, and close ends waits by the failure mode', async () => {
  const clock = new ManualClock();
  const limiter = await limiterOn(clock);
  await limiter.check(request('tenth'));
  const waiting = limiter.wait(request('tenth'), { maxMs: 5_000 });
  const abort = new AbortController();
  const aborted = limiter.wait(request('tenth'), { maxMs: 5_000, signal: abort.signal });
  await clock.rest(() => limiter.waiting);
  expect((await limiter.check(request('tenth'))).allowed).toBe(false);
  expect(limiter.waiting).toBe(2);
  const reason = new Error('the user left');
  abort.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  await limiter.close();
  expect(await waiting).toMatchObject({ allowed: true, decidedBy: 'failure-mode', error: { message: 'the limiter is closed' } });
  expect(limiter).toMatchObject({ waiting: 0, failures: 1 });
});

test('waitersMax bounds the waits of a limiter', async () => {
  const limiter = await createLimiter({ rules: { text: CONFIG }, waitersMax: 1, onFailure: () => undefined });
  await limiter.check(request('window'));
  await limiter.check(request('window'));
  const waiting = limiter.wait(request('window'), { maxMs: 600_000 });
  await expect(limiter.wait(request('window'), { maxMs: 600_000 })).rejects.toThrow(WaitQueueFullError);
  await expect(limiter.wait(request('window'), { maxMs: 600_000 })).rejects.toThrow('1 requests wait already; raise waitersMax');
  await limiter.close();
  expect((await waiting).decidedBy).toBe('failure-mode');
});

test('a client of Weir waits in line until the limit of the service lets it through, and is denied if its time is too short', async () => {
  const weir = await startWeir({ config: writeConfig(CONFIG), env: { BACKEND_TYPE: 'memory' } });
  const client = createClient({ address: `127.0.0.1:${weir.grpcPort}`, connections: 1, timeoutMs: 20_000 });
  expect(await client.ready({ timeoutMs: 20_000 })).toBe(true);
  const ended: string[] = [];
  const wait = async (name: string): Promise<LimitResult> => {
    const result = await client.wait(request('tenth'), { maxMs: 60_000 });
    ended.push(name);
    return result;
  };
  const results = await Promise.all(['a', 'b', 'c'].map(wait));
  expect(results.every(({ allowed, decidedBy }) => allowed && decidedBy === 'weir')).toBe(true);
  expect(ended).toEqual(['a', 'b', 'c']);
  for (let n = 0; n < 2; n += 1) expect((await client.wait(request('window'), { maxMs: 0 })).allowed).toBe(true);
  expect(await client.wait(request('window'), { maxMs: 1_000 })).toMatchObject({ allowed: false, decidedBy: 'weir' });
  expect(await client.wait(request('closed'), { maxMs: 20_000 })).toMatchObject({ allowed: false, decidedBy: 'weir' });
  await client.close();
  await weir.stop();
});
