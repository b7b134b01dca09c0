/** Behind a real Envoy the token cost of a response is charged from a header, JSON or events. */
import { until } from '../../support/clock/until';
import type { CostPlace } from '../chain/backend';
import { bearer } from '../chain/tokens';
import { expectRefilled, startUsageChain, STORES, type UsageChain } from '../chain/usage-chain';

const USER_LIMIT = 100_000;
const TEAM_LIMIT = 2_000_000;
const MODEL_LIMIT = 10_000_000;

describe.each(STORES)('tokens of responses, counted in the %s store', (store) => {
  let chain: UsageChain;

  beforeAll(async () => {
    chain = await startUsageChain({ store, preset: 'llm-tokens' });
  });

  afterAll(async () => {
    await chain.stop();
  });

  const callerOf = (user: string) => ({
    headers: { ...bearer({ sub: user, team: `team-of-${user}`, aud: 'llm' }), 'content-type': 'application/json' },
    body: { model: `model-of-${user}` },
  });

  test.each<CostPlace>(['header', 'json', 'events'])(
    'the request after the one that used up the limit is denied, with the cost in %s',
    async (as) => {
      const caller = callerOf(`user-${as}`);
      const statuses: number[] = [];
      for (let n = 0; n < 4; n += 1) {
        const { status, headers: answered } = await chain.send({ path: '/v1/chat', ...caller, tokens: 45_000, as });
        statuses.push(status);
        // Nobody but Envoy reads it.
        expect(answered['x-usage-tokens']).toBeUndefined();
        await chain.settled();
      }
      // 10,000 are left for the third, which costs 45,000.
      expect(statuses).toEqual([200, 200, 200, 429]);
      expect(await chain.remaining('llm', { user: `user-${as}` })).toBe(0);
      expectRefilled(await chain.remaining('llm', { team: `team-of-user-${as}` }), { from: TEAM_LIMIT - 3 * 45_000, perHour: TEAM_LIMIT });
    },
  );

  test.each(['application/json; charset=utf-8', 'application/problem+json', 'application/vnd.llm.v1+json;v=1', 'Application/JSON'])(
    'an answer of type %s is charged, also to a caller who accepts compressed ones',
    async (type) => {
      const user = `user-of-${type}`;
      const { headers, body } = callerOf(user);
      const accepting = { ...headers, 'accept-encoding': 'gzip', 'content-type': type };
      expect((await chain.send({ path: '/v1/chat', headers: accepting, body, tokens: 50_000, as: 'json', type })).status).toBe(200);
      await chain.settled();
      expectRefilled(await chain.remaining('llm', { user }), { from: USER_LIMIT - 50_000, perHour: USER_LIMIT });
      // The model is that of the body, as a backend reads it.
      expectRefilled(await chain.remaining('llm', { model: `model-of-${user}` }), { from: MODEL_LIMIT - 50_000, perHour: MODEL_LIMIT });
    },
  );

  test('a denied request names the wait, does not reach the backend and costs nothing', async () => {
    const caller = callerOf('in-debt');
    await chain.send({ path: '/v1/chat', ...caller, tokens: USER_LIMIT + 10_000 });
    await chain.settled();
    const before = chain.backend.requests();
    const denied = await chain.send({ path: '/v1/chat', ...caller, tokens: 1_000 });
    await chain.settled();
    expect(denied.status).toBe(429);
    // 10,000 below zero, at 100,000 an hour: 360 s, and one token more.
    expect(Number(denied.headers['retry-after'])).toBeGreaterThan(300);
    expect(Number(denied.headers['retry-after'])).toBeLessThanOrEqual(361);
    expect(chain.backend.requests()).toBe(before);
    expectRefilled(await chain.remaining('llm', { team: 'team-of-in-debt' }), { from: TEAM_LIMIT - 110_000, perHour: TEAM_LIMIT });
  });

  test('the token identifies the caller, whatever headers say, and a request without a token is rejected', async () => {
    const { headers, body } = callerOf('forger');
    // More than the limit: one token comes back every 36 ms.
    await chain.send({ path: '/v1/chat', headers, body, tokens: USER_LIMIT + 10_000 });
    await chain.settled();
    const forged = { 'x-user': 'somebody', 'x-team': 'another', 'x-model': 'cheap' };
    expect((await chain.send({ path: '/v1/chat', headers: { ...headers, ...forged }, body })).status).toBe(429);
    await chain.settled();
    const before = chain.backend.requests();
    expect((await chain.refused({ path: '/v1/chat', headers: forged, body })).status).toBe(401);
    expect(chain.backend.requests()).toBe(before);
  });

  test('a response without a cost is charged nothing', async () => {
    const caller = callerOf('silent');
    expect((await chain.send({ path: '/v1/chat', ...caller })).status).toBe(200);
    await chain.settled();
    expect(await chain.remaining('llm', { user: 'silent' })).toBe(USER_LIMIT);
  });

  test('one report charges all three limits, although one of them is in debt', async () => {
    const caller = callerOf('debtor');
    const overdrawn = 'weir_overdraft_hits_total{domain="llm",key1="user"}';
    const cut = 'weir_overdraft_cut_hits_total{domain="llm",key1="user"}';
    const before = { overdrawn: await chain.metric(overdrawn), cut: await chain.metric(cut) };
    // Both are checked while all is left, and report when the first of them has used it up.
    const first = chain.send({ path: '/v1/chat', ...caller, tokens: USER_LIMIT + 50_000, held: true });
    const second = chain.send({ path: '/v1/chat', ...caller, tokens: USER_LIMIT + 50_000, held: true });
    await until(() => chain.backend.held() === 2);
    chain.backend.release();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    await chain.settled();

    const used = 2 * (USER_LIMIT + 50_000);
    expectRefilled(await chain.remaining('llm', { team: 'team-of-debtor' }), { from: TEAM_LIMIT - used, perHour: TEAM_LIMIT });
    expectRefilled(await chain.remaining('llm', { model: 'model-of-debtor' }), { from: MODEL_LIMIT - used, perHour: MODEL_LIMIT });
    // The user owes the most that is allowed, one more limit; the rest is cut off and counted.
    expectRefilled((await chain.metric(cut)) - before.cut, { from: used - 2 * USER_LIMIT - USER_LIMIT / 60, perHour: USER_LIMIT });
    expectRefilled((await chain.metric(overdrawn)) - before.overdrawn, { from: USER_LIMIT, perHour: USER_LIMIT });
    expect((await chain.send({ path: '/v1/chat', ...caller })).status).toBe(429);
    await chain.settled();
  });
});
