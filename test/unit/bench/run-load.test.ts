/** The load generator counts every answer as what it is, and latency from the due time of a call. */

import { runLoad, type LoadJob } from '../../../bench/load/run-load';
import type { Decision } from '../../../src/domain/decide/decision';
import { BadRequestError } from '../../../src/lib/errors';
import { Health } from '../../../src/server/observability/health';
import { makeAnswerCalls } from '../../../src/server/transport/answer';
import { GrpcServer } from '../../../src/server/transport/grpc/grpc-server';
import { LeanServer } from '../../../src/server/transport/http2/lean-server';
import { each, type DecideOne } from '../../support/decisions/decide-one';
import { deferred } from '../../support/servers/transport-harness';

const [OK, OVER_LIMIT]: Decision[] = [
  { overallCode: 'OK', statuses: [{ code: 'OK', limitRemaining: 1, fits: true, denies: false }] },
  { overallCode: 'OVER_LIMIT', statuses: [{ code: 'OVER_LIMIT', limitRemaining: 0, fits: false, denies: true }] },
];

const TRANSPORTS = ['lean', 'grpc-js'] as const;

let stop: (() => Promise<void>) | undefined;

afterEach(async () => {
  await stop?.();
  stop = undefined;
});

async function serve(transport: (typeof TRANSPORTS)[number], decide: DecideOne): Promise<number> {
  const health = new Health();
  const log = { error: () => undefined };
  const options = {
    answerCalls: makeAnswerCalls({ decide: each(decide), log, onFailure: () => undefined }),
    health,
    onCall: () => undefined,
  };
  const server = transport === 'lean' ? new LeanServer({ ...options, log }) : new GrpcServer(options);
  const { port } = await server.start({ host: '127.0.0.1', port: 0 });
  stop = () => server.drain({ timeoutMs: 1_000 });
  return port;
}

function job(port: number, parts: Partial<LoadJob>): LoadJob {
  return {
    host: '127.0.0.1',
    port,
    connections: 2,
    load: { kind: 'closed', streams: 4 },
    durationMs: 10_000,
    callsMax: 900,
    asked: { domain: 'bench', entryKeys: ['user'] },
    keys: { count: 3, order: 'in_turn' },
    watchedBelow: 2,
    ...parts,
  };
}

/** By the key's number: 0 is let pass, 1 is denied, 2 is an error. */
const byKey: DecideOne = ({ descriptors }) => {
  const value = descriptors[0]!.entries[0]!.value;
  if (value.endsWith('2')) return Promise.reject(new BadRequestError('no'));
  return Promise.resolve((value.endsWith('1') ? OVER_LIMIT : OK)!);
};

describe.each(TRANSPORTS)('on %s', (transport) => {
  test('a closed loop makes the given number of calls, and counts admitted, denied and failed', async () => {
    const result = await runLoad(job(await serve(transport, byKey), {}));
    expect(result).toMatchObject({ admitted: 300, denied: 300, failed: 300, admittedOfWatched: [300, 0] });
    expect(result.broken).toBeUndefined();
    expect(result.latencyMs!.p99).toBeGreaterThanOrEqual(result.latencyMs!.p50);
    expect(result.lateMs).toBeUndefined();
  });

  test('many connections with one call each are all used, and the time of a named process is measured', async () => {
    const many = { connections: 120, load: { kind: 'closed', streams: 1 }, callsMax: 1_200, meteredPids: [process.pid] } as const;
    const { processorUs, waitedUs, ...counts } = await runLoad(job(await serve(transport, byKey), many));
    expect(counts).toMatchObject({ admitted: 400, denied: 400, failed: 400 });
    expect(processorUs[0]).toBeGreaterThan(0);
    expect(waitedUs[0]).toBeGreaterThanOrEqual(0);
  });

  test('the generator keeps the given number of streams open, and never more', async () => {
    let [underWay, most] = [0, 0];
    const full = deferred();
    const slow: DecideOne = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      // However slowly the streams come, none is answered before all are under way.
      if (underWay === 8) full.resolve();
      await full.promise;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      underWay -= 1;
      return OK!;
    };
    await runLoad(job(await serve(transport, slow), { callsMax: 200 }));
    expect(most).toBe(8);
  });

  test('an open loop makes every call of its schedule, and measures the time of each', async () => {
    const port = await serve(transport, byKey);
    const { latencyMs, lateMs, answerMs, ...counts } = await runLoad(
      job(port, { load: { kind: 'open', perSecond: 1_500 }, durationMs: 200 }),
    );
    expect(counts).toMatchObject({ admitted: 100, denied: 100, failed: 100 });
    expect(latencyMs!.p50).toBeGreaterThan(lateMs!.p50);
    expect(latencyMs!.p999).toBeGreaterThanOrEqual(latencyMs!.p99);
    // Each call is sent when it is due or later.
    expect(answerMs!.p50).toBeLessThanOrEqual(latencyMs!.p50);
    expect(answerMs!.p99).toBeLessThanOrEqual(latencyMs!.p99);
  });
});

test('latency counts from the due time of a call, so a stalled server cannot delay the question', async () => {
  const STALL_MS = 300;
  const startMs = performance.now();
  let isFirst = true;
  const stalling: DecideOne = () => {
    if (isFirst) {
      isFirst = false;
      const untilMs = performance.now() + STALL_MS;
      while (performance.now() < untilMs);
    }
    return Promise.resolve(OK!);
  };
  const { admitted, latencyMs } = await runLoad(
    job(await serve('lean', stalling), { load: { kind: 'open', perSecond: 1_000 }, durationMs: 400 }),
  );
  expect(admitted).toBe(400);
  expect(performance.now() - startMs).toBeGreaterThan(STALL_MS);
  // Of 400 calls 300 were due while it stood still: half of all waited for 100 ms or more.
  expect(latencyMs!.p50).toBeGreaterThan(50);
});

test('a call without an answer counts as failed', async () => {
  let asked = 0;
  const silent: DecideOne = () => {
    asked += 1;
    return asked === 5 ? new Promise(() => undefined) : Promise.resolve(OK!);
  };
  const { admitted, denied, failed } = await runLoad(job(await serve('lean', silent), { callsMax: 20 }));
  // Those that came in the same read wait with it.
  expect(failed).toBeGreaterThan(0);
  expect([admitted + failed, denied]).toEqual([20, 0]);
});

test('an absent server is reported', async () => {
  const port = await serve('lean', byKey);
  await stop!();
  stop = undefined;
  const { broken, admitted } = await runLoad(job(port, {}));
  expect(broken).toContain('ECONNREFUSED');
  expect(admitted).toBe(0);
});
