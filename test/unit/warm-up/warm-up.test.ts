/** The warm-up ends by processor time and by the clock, on a busy machine too. */

import { Registry } from 'prom-client';
import { makeMetrics } from '../../../src/server/observability/metrics/metrics';
import { GrpcServer } from '../../../src/server/transport/grpc/grpc-server';
import { LeanServer } from '../../../src/server/transport/http2/lean-server';
import { warmUp } from '../../../src/server/warm-up/warm-up';
import { TRANSPORTS } from '../../support/servers/transport-harness';

const BATCH = 50;

/** By each look at a clock it has moved on. */
async function callsOf(
  transport: (typeof TRANSPORTS)[number],
  { cpuStepMs, stepMs }: { readonly cpuStepMs: number; readonly stepMs: number },
): Promise<number> {
  const clock = { cpuMs: 0, nowMs: 0 };
  const metrics = makeMetrics({ registry: new Registry(), version: 'test', store: 'memory' });
  const { calls } = await warmUp({
    makeServer: (options) => Promise.resolve(transport === 'lean' ? new LeanServer(options) : new GrpcServer(options)),
    counts: 'memory',
    metrics,
    clock: {
      cpuMs: () => (clock.cpuMs += cpuStepMs),
      nowMs: () => (clock.nowMs += stepMs),
    },
  });
  return calls;
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('the warm-up ends with its processor time', async () => {
    expect(await callsOf(transport, { cpuStepMs: 40, stepMs: 0 })).toBeLessThanOrEqual(BATCH);
  });

  test('the warm-up ends by the clock on a machine that gives it no processor', async () => {
    expect(await callsOf(transport, { cpuStepMs: 0, stepMs: 120 })).toBeLessThanOrEqual(BATCH);
  });

  test('the warm-up makes a few calls even without any time', async () => {
    expect(await callsOf(transport, { cpuStepMs: 0, stepMs: 10_000 })).toBe(10);
  });
});
