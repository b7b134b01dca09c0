/** Behind a real Envoy a user has at most twenty requests in flight, and a caller that hangs up frees its slot. */
import { setMaxListeners } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../support/clock/until';
import { bearer } from '../chain/tokens';
import { limitsOf, startUsageChain, STORES, type UsageChain } from '../chain/usage-chain';

const MAX = 20;

describe.each(STORES)('requests in flight, on the %s store', (store) => {
  let chain: UsageChain;

  beforeAll(async () => {
    chain = await startUsageChain({ store, preset: 'in-flight' });
  });

  afterAll(async () => {
    await chain.stop();
  });

  const callerOf = (user: string) => bearer({ sub: user, aud: 'api' });

  /** Sends a number of requests that wait at the backend; resolves when all are there. */
  async function hold(user: string, count: number, signal?: AbortSignal): Promise<Promise<number>[]> {
    const already = chain.backend.held();
    const requests = Array.from(
      { length: count },
      async () => (await chain.send({ path: '/', headers: callerOf(user), held: true, ...(signal && { signal }) })).status,
    );
    await until(() => chain.backend.held() === already + count);
    return requests;
  }

  async function ask(user: string): Promise<number> {
    return (await chain.send({ path: '/', headers: callerOf(user) })).status;
  }

  test('twenty requests run, the next one is denied, and the end of one makes room for one', async () => {
    const held = await hold('busy', MAX);
    for (let n = 0; n < 3; n += 1) expect(await ask('busy')).toBe(429);
    // The ends of the denied ones give nothing back.
    await chain.settled();
    expect(await ask('another')).toBe(200);
    expect(await ask('busy')).toBe(429);
    chain.backend.release();
    expect(await Promise.all(held)).toEqual(Array.from({ length: MAX }, () => 200));
    await chain.settled();
    // All are back: as many again.
    const again = await hold('busy', MAX);
    expect(await ask('busy')).toBe(429);
    chain.backend.release();
    await Promise.all(again);
    await chain.settled();
  });

  test('a caller that hangs up frees its slot', async () => {
    const leaving = new AbortController();
    setMaxListeners(MAX, leaving.signal);
    const gone = (await hold('leaving', MAX, leaving.signal)).map((each) => each.catch(() => 'gone'));
    expect(await ask('leaving')).toBe(429);
    leaving.abort();
    expect(new Set(await Promise.all(gone))).toEqual(new Set(['gone']));
    await chain.settled();
    expect(await ask('leaving')).toBe(200);
    await chain.settled();
  });

  test('Envoy ignores an id that the caller sends, and makes its own', async () => {
    const headers = { ...callerOf('same-id'), 'x-request-id': 'mine' };
    const held = Array.from({ length: MAX }, () => chain.send({ path: '/', headers, held: true }));
    await until(() => chain.backend.held() === MAX);
    expect((await chain.send({ path: '/', headers })).status).toBe(429);
    chain.backend.release();
    await Promise.all(held);
    await chain.settled();
  });
});

test.each(STORES)('an Envoy that is killed frees no slot: its slots are free again after `hold`, on the %s store', async (store) => {
  const HOLD_S = 3;
  const folder = mkdtempSync(join(tmpdir(), 'weir-in-flight-'));
  const limits = join(folder, 'limits.yaml');
  const published = readFileSync(limitsOf('in-flight'), 'utf8');
  expect(published.split('hold: 60s')).toHaveLength(2);
  writeFileSync(limits, published.replace('hold: 60s', `hold: ${HOLD_S}s`));
  const chain = await startUsageChain({ store, preset: 'in-flight', limits });
  try {
    const held = Array.from({ length: MAX }, () =>
      chain.send({ path: '/', headers: bearer({ sub: 'orphan', aud: 'api' }), held: true }).catch(() => undefined),
    );
    await until(() => chain.backend.held() === MAX);
    process.kill(chain.envoyPid, 'SIGKILL');
    await Promise.all(held);
    const descriptor = { user: 'orphan', request_id: 'another' };
    expect(await chain.remaining('in-flight', descriptor)).toBe(0);
    await pause(HOLD_S * 1000);
    expect(await chain.remaining('in-flight', descriptor)).toBe(MAX);
  } finally {
    await chain.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
