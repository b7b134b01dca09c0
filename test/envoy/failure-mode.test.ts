/** Envoy's `failure_mode_deny` decides when Weir answers UNAVAILABLE or not at all. */
import { join } from 'node:path';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { until } from '../support/clock/until';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway } from './chain/gateway';

const LIMITS = join(__dirname, 'chain', 'limits.yaml');
const CALLER = { merchant: 'm-failure', client: 'c-failure' };

/** Most requests here are not decided, and those that are to be are asked for until they are. */
const NOT_FOR_LONG = { 'timeout: 0.02s': 'timeout: 0.5s' };

describe('an Envoy with failure_mode_deny false, and one with true', () => {
  let redis: RedisServer;
  let weir: WeirProcess;
  let allowing: Gateway;
  let denying: Gateway;

  beforeEach(async () => {
    redis = await startRedis();
    weir = await startWeir({
      config: LIMITS,
      env: { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' },
    });
    allowing = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: NOT_FOR_LONG });
    denying = await startGateway({ weirGrpcPort: weir.grpcPort, failureModeDeny: true, replacements: NOT_FOR_LONG });
    await warmUp(allowing);
    await warmUp(denying);
  });

  afterEach(async () => {
    await Promise.all([allowing.stop(), denying.stop()]);
    await weir.stop();
    await redis.stop();
  });

  test('after a kill of Redis Weir answers UNAVAILABLE: one Envoy passes the request, the other denies it', async () => {
    redis.kill('SIGKILL');
    await expectUndecided();
    // Weir itself lives on, and decides again as soon as its store does.
    await redis.restart();
    await waitForDecision(denying);
  });

  test('without Weir one Envoy passes the request, the other denies it', async () => {
    expect(await weir.stop()).toBe(0);
    await expectUndecided();
  });

  async function expectUndecided(): Promise<void> {
    for (let n = 0; n < 5; n++) {
      const passed = await allowing.get('/login', CALLER);
      expect({ status: passed.status, body: passed.body }).toEqual({ status: 200, body: 'from the backend' });
      expect(passed.headers['x-ratelimit-limit']).toBeUndefined();
      const refused = await denying.get('/login', CALLER);
      expect({ status: refused.status, body: refused.body }).toEqual({ status: 500, body: '' });
      expect(refused.headers['x-envoy-ratelimited']).toBeUndefined();
    }
  }
});

async function waitForDecision(gateway: Gateway): Promise<void> {
  await until(async () => {
    const { status, headers } = await gateway.get('/login', CALLER);
    return status === 200 && headers['x-ratelimit-limit'] !== undefined;
  });
}
