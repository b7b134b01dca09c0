/** Behind a real Envoy only failed logins are counted, and concurrent attempts are bounded. */
import { until } from '../../support/clock/until';
import { startUsageChain, STORES, type UsageChain } from '../chain/usage-chain';

const FAILURES_MAX = 5;
const ATTEMPTS_AT_ONCE_MAX = 10;

describe.each(STORES)('failed logins, counted in the %s store', (store) => {
  let chain: UsageChain;

  beforeAll(async () => {
    chain = await startUsageChain({ store, preset: 'failed-logins' });
  });

  afterAll(async () => {
    await chain.stop();
  });

  async function login(from: string, status: number): Promise<number> {
    const answered = await chain.send({ path: '/login', from, status });
    await chain.settled();
    return answered.status;
  }

  test('successful logins are not counted', async () => {
    const from = '127.0.0.11';
    for (let n = 0; n < FAILURES_MAX + 2; n += 1) expect(await login(from, 200)).toBe(200);
    expect(await chain.remaining('logins', { masked_remote_address: `${from}/32` })).toBe(FAILURES_MAX);
  });

  test('after five failed logins the client is denied, with the right password too, and other clients are not', async () => {
    const from = '127.0.0.12';
    const statuses: number[] = [];
    for (const status of [401, 401, 200, 401, 401, 401, 401, 200]) statuses.push(await login(from, status));
    expect(statuses).toEqual([401, 401, 200, 401, 401, 401, 429, 429]);
    // What was denied is no failure: the wait is that for one, of 720 s.
    const denied = await chain.send({ path: '/login', from, status: 200 });
    await chain.settled();
    expect(Number(denied.headers['retry-after'])).toBeLessThanOrEqual(720);
    expect(await login('127.0.0.13', 401)).toBe(401);
  });

  test.each([
    { what: 'before the answer', from: '127.0.0.15', headers: {} },
    // Envoy itself answers this one: then its response code is 100.
    { what: 'after 100 Continue', from: '127.0.0.16', headers: { expect: '100-continue' } },
  ])('an attempt whose caller hangs up $what counts as failed', async ({ from, headers }) => {
    for (let n = 1; n <= FAILURES_MAX; n += 1) {
      const hangUp = new AbortController();
      const attempt = chain.send({ path: '/login', from, status: 401, held: true, headers, signal: hangUp.signal }).catch(() => undefined);
      await until(() => chain.backend.held() === 1);
      hangUp.abort();
      await attempt;
      await until(() => chain.backend.held() === 0);
      await chain.settled();
    }
    expect(await login(from, 200)).toBe(429);
  });

  test('ten concurrent attempts pass, and each failed one is charged, which makes the wait longer', async () => {
    const from = '127.0.0.14';
    let answered = 0;
    const attempts = Array.from({ length: ATTEMPTS_AT_ONCE_MAX + 3 }, async () => {
      const { status } = await chain.send({ path: '/login', from, status: 401, held: true });
      answered += 1;
      return status;
    });
    await until(() => chain.backend.held() + answered === attempts.length);
    chain.backend.release();
    const statuses = await Promise.all(attempts);
    await chain.settled();
    // A second brings an attempt more.
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(ATTEMPTS_AT_ONCE_MAX);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1);
    const denied = await chain.send({ path: '/login', from, status: 200 });
    await chain.settled();
    expect(denied.status).toBe(429);
    // Five below zero: the time of six failures, of which each takes 720 s. Of five alone it would be that of one.
    expect(Number(denied.headers['retry-after'])).toBeGreaterThan(5 * 720);
  });
});
