/** The cost of a response replaces its estimate behind a real Envoy, and a denied request gives nothing back. */
import { until } from '../../support/clock/until';
import { bearer } from '../chain/tokens';
import { expectRefilled, startUsageChain, STORES, type UsageChain } from '../chain/usage-chain';

const LIMIT = 100_000;
const ESTIMATE = 1_000;

describe.each(STORES)('estimate and cost of a response, counted in the %s store', (store) => {
  let chain: UsageChain;

  beforeAll(async () => {
    chain = await startUsageChain({ store, preset: 'estimate' });
  });

  afterAll(async () => {
    await chain.stop();
  });

  const callerOf = (user: string) => bearer({ sub: user, aud: 'llm' });

  async function spend(user: string, tokens?: number): Promise<number> {
    const { status } = await chain.send({ path: '/v1/chat', headers: callerOf(user), ...(tokens !== undefined && { tokens }) });
    await chain.settled();
    return status;
  }

  async function expectLeft(user: string, from: number): Promise<void> {
    expectRefilled(await chain.remaining('llm', { user }), { from, perHour: LIMIT / 10 });
  }

  test('a running request is charged its estimate, and at its end the cost', async () => {
    const user = 'under-way';
    const response = chain.send({ path: '/v1/chat', headers: callerOf(user), tokens: 8_000, held: true });
    await until(() => chain.backend.held() === 1);
    await expectLeft(user, LIMIT - ESTIMATE);
    chain.backend.release();
    await response;
    await chain.settled();
    await expectLeft(user, LIMIT - 8_000);
  });

  test.each([
    ['less', 0, 0],
    ['as much', ESTIMATE, ESTIMATE],
    ['more', 30_000, 30_000],
    ['an unknown amount', undefined, ESTIMATE],
  ])('a response that cost %s replaces the estimate with the cost', async (name, tokens, charged) => {
    const user = `cost-${name}`;
    await spend(user, 10_000);
    expect(await spend(user, tokens)).toBe(200);
    await expectLeft(user, LIMIT - 10_000 - charged);
  });

  test('concurrent requests pass as long as their estimates fit, and the end of a denied one gives nothing back', async () => {
    const user = 'at-once';
    await spend(user, LIMIT - 2 * ESTIMATE - 500);
    let answered = 0;
    const requests = Array.from({ length: 6 }, async () => {
      const { status } = await chain.send({ path: '/v1/chat', headers: callerOf(user), tokens: ESTIMATE, held: true });
      answered += 1;
      return status;
    });
    await until(() => chain.backend.held() + answered === requests.length);
    chain.backend.release();
    expect((await Promise.all(requests)).sort()).toEqual([200, 200, 429, 429, 429, 429]);
    await chain.settled();
    // And one more, so that hits given back by those would show.
    expect(await spend(user, 0)).toBe(429);
    expectRefilled(await chain.remaining('llm', { user }), { from: 500, perHour: ESTIMATE * 24 });
  });

  test('the cost of a response is charged below zero, and then no estimate fits', async () => {
    const user = 'debtor';
    expect(await spend(user, LIMIT + 20_000)).toBe(200);
    expect(await spend(user, 0)).toBe(429);
    expect(await chain.remaining('llm', { user })).toBe(0);
  });

  test('Weir ignores an estimate that the caller sends, so a caller gets nothing back', async () => {
    const user = 'claims';
    await spend(user, 50_000);
    await chain.send({ path: '/v1/chat', headers: { ...callerOf(user), 'x-estimated-tokens': '40000.5' }, tokens: 0 });
    await chain.settled();
    await expectLeft(user, LIMIT - 50_000);
  });
});
