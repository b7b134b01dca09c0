/** The load of a process is its rate over the last whole interval. */

import type { EventLoopUtilization } from 'node:perf_hooks';
import { ProcessLoad } from '../../../src/server/observability/process-load';

test('use of the event loop and decisions in a second, over the last whole interval', () => {
  let [nowMs, decisions, active, idle] = [0, 0, 0, 0];
  const utilization = (): EventLoopUtilization => ({ active, idle, utilization: active / Math.max(1, active + idle) });
  const load = new ProcessLoad({ decisions: () => decisions, nowMs: () => nowMs, utilization });
  expect(load.figures).toEqual({ eventLoopUtilization: 0, decisionsPerS: 0 });
  [nowMs, decisions, active, idle] = [1_000, 500, 250, 750];
  expect(load.figures).toEqual({ eventLoopUtilization: 0.25, decisionsPerS: 500 });
  load.turn();
  [nowMs, decisions, active, idle] = [6_000, 10_500, 4_750, 1_250];
  // Until the interval ends the figures are those of the one before.
  expect(load.figures).toEqual({ eventLoopUtilization: 0.25, decisionsPerS: 500 });
  load.turn();
  expect(load.figures).toEqual({ eventLoopUtilization: 0.9, decisionsPerS: 2_000 });
  load.stop();
});
